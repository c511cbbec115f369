// A picture of a graph.
#pragma once

#include <iosfwd>

#include <gridfold/ops/graph.hpp>

namespace gf {

/// Writes the graph as Graphviz: a box a node with its name or operation, type and dims; outputs are drawn doubly.
void write_dot(std::ostream& out, const Graph& graph);

} // namespace gf
