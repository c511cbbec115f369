// drop_dead: removes the nodes that no output needs. Inputs and run-time scalars stay, because callers bind them.
//
// It runs after the other graph passes, which leave replaced nodes behind.
#pragma once

#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::plan {

Graph drop_dead(const Graph& graph, const FuseOptions& options);

} // namespace gf::plan
