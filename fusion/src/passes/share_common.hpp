// share_common: nodes that are the same operation on the same operands become the first of them. Operands of a row that
// declares itself commutative count in either order.
//
// It stands before simplify, whose rules ask whether two operands are one node, and after it, because simplified values
// may have become the same.
#pragma once

#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::plan {

Graph share_common(const Graph& graph, const FuseOptions& options);

} // namespace gf::plan
