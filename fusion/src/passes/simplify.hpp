// simplify: replaces a node by one of its operands, shortens chains of casts, and drops masks that are always true, if
// declared algebra implies that no bit of a result changes (except NaN payloads, and −0 under fast_math).
//
// It runs after fold_constants and share_common, because its rules look for constants and equal nodes. One pass is
// enough, because operands are simplified before their users. It never changes a value's type or dims.
#pragma once

#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::plan {

Graph simplify(const Graph& graph, const FuseOptions& options);

} // namespace gf::plan
