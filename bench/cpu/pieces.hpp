// The OpenMP contenders divide a column into pieces that fit the first-level cache. Threads share the pieces; one SIMD
// loop folds each. Sums within a piece may be narrow, which vectorises best; sums of pieces are f64 or 64 bits wide.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace bench::cpu {

inline constexpr std::size_t piece_elements = 4096;

/// The least elements for which waking threads pays off.
inline constexpr std::size_t worth_threads = std::size_t{1} << 16;

inline std::size_t piece_count(std::size_t n) { return (n + piece_elements - 1) / piece_elements; }
inline std::size_t piece_size(std::size_t piece, std::size_t n) {
    return std::min(piece_elements, n - piece * piece_elements);
}

/// The type that holds the sum of a piece of T: int for bytes, 64 bits for other integers.
template <class T>
using PieceSum =
    std::conditional_t<!std::is_integral_v<T>, T, std::conditional_t<sizeof(T) == 1, std::int32_t, std::int64_t>>;

} // namespace bench::cpu
