// lower_shifts: moves shifts from values to what sweeps load.
//
// Contract: afterwards the operand of a shift is an input, the result of a reduction, or another shift, and its edge is
// clamp or wrap; so linearize can make one load of a chain of shifts. A shift of a map is the map of shifted operands,
// a shift of an index is computed from the index, and what lacks the dim stays. Where an edge is a number, a select
// chooses it. Values that are shifted in several ways are computed once for each.
//
// It runs before the other graph passes, which then share and simplify what it makes. It can't be skipped: sweeps shift
// only what they load.
#pragma once

#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::plan {

Graph lower_shifts(const Graph& graph, const FuseOptions&);

} // namespace gf::plan
