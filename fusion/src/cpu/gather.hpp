// How sweeps read and write arrays whose elements are not those of the domain in order: broadcast, permuted, strided;
// and the index along a dim.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gridfold/core/gather.hpp>
#include <gridfold/fusion/plan.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::cpu {

/// By position in `domain_dims`: the elements of memory between neighbours along that dim of an array of dims
/// `array_dims` (memory order), with extents by dim number; 0 along a dim that it lacks. `bound`: the array's strides;
/// none: contiguous, row-major.
using DimStrides = std::array<std::int64_t, max_rank>;
DimStrides strides_along(std::span<const DimId> domain_dims, std::span<const DimId> array_dims,
                         std::span<const std::int64_t> extents, const Strides& bound = {});

/// Visits such an array over the domain.
Walk walk(std::span<const DimId> domain_dims, std::span<const DimId> array_dims, std::span<const std::int64_t> extents,
          const Strides& bound = {});

/// Visits an array whose coordinates are changed by the steps of a load.
struct ShiftedWalk {
    int rank = 0;
    std::array<std::int64_t, max_rank> extent{}; ///< of the domain, outermost first
    DimStrides stride{};
    std::array<std::vector<plan::Step>, max_rank> steps; ///< by position in the domain
};

/// out[i] = the element of `array` that element first + i of the domain loads, i < n; elements of 1, 2, 4 or 8 bytes.
void gather(void* out, const void* array, std::size_t element_bytes, const ShiftedWalk& walk, std::int64_t first,
            std::size_t n);

/// out[i] = the coordinate of element first + i along a dim of the given extent, with `inner` elements between
/// neighbours along it.
void coordinates(std::int64_t* out, std::int64_t extent, std::int64_t inner, std::int64_t first, std::size_t n);

} // namespace gf::cpu
