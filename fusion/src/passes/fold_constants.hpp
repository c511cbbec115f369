// fold_constants: maps and casts of constants alone become constants, by the kernels that the CPU backend would run.
// Rows that are inexact stay: the device that the plan runs on has its own last bits of them.
//
// It stands first, because simplify looks for constants.
#pragma once

#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::plan {

Graph fold_constants(const Graph& graph, const FuseOptions& options);

} // namespace gf::plan
