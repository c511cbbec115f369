// share_common: replaces nodes with the same operation on the same operands by the first of them. Operands of a
// commutative row are equal in either order.
//
// It runs before simplify, whose rules compare operands by their node numbers, and again after it, because simplified
// nodes may have become the same.
#pragma once

#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::plan {

Graph share_common(const Graph& graph, const FuseOptions& options);

} // namespace gf::plan
