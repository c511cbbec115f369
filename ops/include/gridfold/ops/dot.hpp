// Graphs as Graphviz.
#pragma once

#include <iosfwd>

#include <gridfold/ops/graph.hpp>

namespace gf {

/// Writes a box for each node, with its name or operation, type and dims; outputs have a double border.
void write_dot(std::ostream& out, const Graph& graph);

} // namespace gf
