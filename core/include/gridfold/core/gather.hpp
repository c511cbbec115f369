// Reading and writing the elements of an array in another order than that of its memory: strided, broadcast, permuted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <gridfold/core/view.hpp>

namespace gf {

/// Visits the elements of an array in the row-major order of a domain: the domain's extents, outermost first, and the
/// elements of memory between neighbours along each. Dims that one stride covers are merged, so that inner runs are as
/// long as possible. Strides are those of existing memory (byte_range()).
struct Walk {
    int rank = 1;
    std::array<std::int64_t, max_rank> extent{1};
    std::array<std::int64_t, max_rank> stride{}; ///< 0: the same element along the dim

    /// Adds a dim inside the others.
    void append(std::int64_t inner_extent, std::int64_t inner_stride);
};

/// Visits the elements of a view in order.
Walk walk(const View& view);

/// out[i] = the element of `array` for element first + i of the domain, i < n; elements have 1, 2, 4 or 8 bytes.
/// `array`: the element whose coordinates are all 0.
void gather(void* out, const void* array, std::size_t element_bytes, const Walk& walk, std::int64_t first,
            std::size_t n);
/// The reverse: the element of `array` for element first + i of the domain = in[i].
void scatter(void* array, const void* in, std::size_t element_bytes, const Walk& walk, std::int64_t first,
             std::size_t n);

} // namespace gf
