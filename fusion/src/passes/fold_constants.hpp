// fold_constants: replaces maps and casts of constants by constants, computed by the CPU backend's kernels. Inexact
// rows stay: their last bits depend on the device that runs the plan.
//
// It runs first, because simplify looks for constants.
#pragma once

#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::plan {

Graph fold_constants(const Graph& graph, const FuseOptions& options);

} // namespace gf::plan
