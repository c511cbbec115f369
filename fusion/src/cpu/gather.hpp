// How sweeps read arrays whose elements are not those of the domain in order: broadcast, permuted, strided; and the
// index along a dim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <gridfold/core/gather.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::cpu {

/// Visits an array of dims `array_dims` (memory order) over a domain of dims `domain_dims`, with extents by dim number.
/// `bound`: the array's strides; none: contiguous, row-major.
Walk walk(std::span<const DimId> domain_dims, std::span<const DimId> array_dims, std::span<const std::int64_t> extents,
          const Strides& bound = {});

/// out[i] = the coordinate of element first + i along a dim of the given extent, with `inner` elements between
/// neighbours along it.
void coordinates(std::int64_t* out, std::int64_t extent, std::int64_t inner, std::int64_t first, std::size_t n);

} // namespace gf::cpu
