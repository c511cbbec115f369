// simplify: replaces a node by one of its operands, or a cast or mask by a shorter one, where declared algebra says
// that no bit of a result changes (NaNs aside, whose payload is not promised; and −0 aside under fast_math).
//
// It stands after constants are folded and equal nodes shared: its rules look for both. One walk is enough, because
// operands are simplified before their users. It never changes a value's type or dims.
#pragma once

#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::plan {

Graph simplify(const Graph& graph, const FuseOptions& options);

} // namespace gf::plan
