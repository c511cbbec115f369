// drop_dead: leaves out the nodes that no output needs. Inputs and run-time scalars stay: they are what callers bind.
//
// It stands after the other graph passes, which leave behind what they replaced.
#pragma once

#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::plan {

Graph drop_dead(const Graph& graph, const FuseOptions& options);

} // namespace gf::plan
