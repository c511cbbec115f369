// place_nodes: the unfused placement, for comparison with place_sweeps: same bits. Every map, cast, index and reduction
// is a separate sweep, with temporaries between them; maps on scalars are sweeps over the empty domain.
#pragma once

#include "passes/placement.hpp"

namespace gf::plan {

Placement place_nodes(const Graph& graph);

} // namespace gf::plan
