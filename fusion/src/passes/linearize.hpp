// linearize: from placed sweeps to the flat SSA code of a Plan.
//
// Contract: each node of a sweep's slice becomes a few instructions, each with its domain and phase; f16 and bf16
// arithmetic becomes f32 arithmetic and `round`; reductions of one value by one monoid share one fold; a masked
// reduction that is undefined over nothing also gets an Any fold over its mask.
//
// It runs last: the other passes need the graph, to which a Plan has no reference.
#pragma once

#include "passes/placement.hpp"

namespace gf::plan {

Plan linearize(const Graph& graph, const Placement& placement);

} // namespace gf::plan
