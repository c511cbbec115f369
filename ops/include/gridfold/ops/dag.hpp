// The DAG of a Graph as a Boost graph, for Boost's algorithms. The only header of gridfold that needs Boost: only .cpp
// files that traverse the DAG include it.
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

/// The number of the operand, in its target, that an edge leads to.
struct OperandSlot {
    int slot = 0;
};

struct Dag : boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Node, OperandSlot> {
    std::string name;
    Table<DimId, Graph::DimInfo> dims;
    std::vector<Graph::Output> outputs;
    // The names in use, so that a name is checked in constant time.
    std::unordered_set<std::string> dim_names, value_names, input_names, output_names;

    Value value(NodeId node) { return {this, node}; }
    Dim dim(DimId id) const { return {this, id}; }
};

} // namespace gf
