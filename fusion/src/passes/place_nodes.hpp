// place_nodes: the unfused placement. Every map, cast, index and reduction is a sweep of its own, with temporaries
// between them; maps on scalars are sweeps over the empty domain. The contender of place_sweeps, with the same bits.
#pragma once

#include "passes/placement.hpp"

namespace gf::plan {

Placement place_nodes(const Graph& graph);

} // namespace gf::plan
