// Reading arrays whose dims are not the domain's: broadcast, permuted, or both; and the index along a dim.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <gridfold/core/view.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::cpu {

/// The strides with which the elements of a domain, in row-major order, read an array.
struct Strides {
    int rank = 0;
    std::array<std::int64_t, max_rank> extent{}; ///< outermost first
    std::array<std::int64_t, max_rank> stride{}; ///< elements of the array between neighbours; 0 = broadcast
};

/// The strides of an array of dims `array_dims` (memory order) over a domain of dims `domain_dims`, with extents by dim
/// number. Dims that one stride covers are merged, so that inner runs are as long as possible.
Strides strides(std::span<const DimId> domain_dims, std::span<const DimId> array_dims,
                std::span<const std::int64_t> extents);

/// out[i] = the element of `array` for element first + i of the domain, i < n; elements have 1, 2, 4 or 8 bytes.
void gather(void* out, const void* array, std::size_t element_bytes, const Strides& strides, std::int64_t first,
            std::size_t n);

/// out[i] = the coordinate of element first + i along a dim of the given extent, with `inner` elements between
/// neighbours along it.
void coordinates(std::int64_t* out, std::int64_t extent, std::int64_t inner, std::int64_t first, std::size_t n);

} // namespace gf::cpu
