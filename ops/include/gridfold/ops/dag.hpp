// The DAG behind a Graph, as a Boost graph: for code that walks it with Boost's algorithms. The one header of gridfold
// that needs Boost; nothing else includes it but the .cpp files that walk.
//
// Vertices are nodes, numbered in a topological order; an edge leads from an operand to its reader. `vecS` edges,
// because x * x needs two parallel ones; each carries the operand slot that it fills. Vertices are never removed.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include <boost/graph/adjacency_list.hpp>

#include <gridfold/ops/graph.hpp>

namespace gf {

/// Which operand of its target an edge is.
struct OperandSlot {
    int slot = 0;
};

struct Dag : boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Node, OperandSlot> {
    std::string name;
    std::vector<Graph::DimInfo> dims;
    std::vector<Graph::Output> outputs;
    // What is taken, so that a name is checked in constant time.
    std::unordered_set<std::string> dim_names, value_names, input_names, output_names;

    Value value(int node) { return {this, node}; }
    Dim dim(int position) const { return {this, position}; }
};

} // namespace gf
