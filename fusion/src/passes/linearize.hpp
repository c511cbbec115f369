// linearize: from placed sweeps to the flat SSA code of a Plan.
//
// Contract: each node of a sweep's slice becomes at most a few instructions in the prologue, body or epilogue; f16 and
// bf16 arithmetic becomes f32 arithmetic and `round`; reductions of one value by one monoid share one fold; a reduction
// that is undefined over nothing gets an Any fold over its mask and finalises by it.
//
// It stands last: only the Plan knows nothing of the graph.
#pragma once

#include "passes/placement.hpp"

namespace gf::plan {

Plan linearize(const Graph& graph, const Placement& placement);

} // namespace gf::plan
