// How the OpenMP contenders cut a column: into pieces that fit the first-level cache, spread over the threads, and each
// folded by one SIMD loop. Within a piece sums may be narrow, which vectorises best; what adds up the pieces is f64 or
// 64 bits wide.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace bench::cpu {

inline constexpr std::size_t piece_elements = 4096;

/// Fewer elements are not worth waking threads for.
inline constexpr std::size_t worth_threads = std::size_t{1} << 16;

inline std::size_t piece_count(std::size_t n) { return (n + piece_elements - 1) / piece_elements; }
inline std::size_t piece_size(std::size_t piece, std::size_t n) {
    return std::min(piece_elements, n - piece * piece_elements);
}

/// What holds the sum of a piece of T: of bytes, an int; of other integers, only 64 bits are wide enough.
template <class T>
using PieceSum =
    std::conditional_t<!std::is_integral_v<T>, T, std::conditional_t<sizeof(T) == 1, std::int32_t, std::int64_t>>;

} // namespace bench::cpu
