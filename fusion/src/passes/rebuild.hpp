// Rebuilds a graph node by node, for graph passes: visits the old nodes in order; each is kept, changed, or replaced by
// an existing node of the new graph.
#pragma once

#include <utility>
#include <vector>

#include <gridfold/ops/graph.hpp>

namespace gf::plan {

class Rebuild {
public:
    explicit Rebuild(const Graph& from)
        : from_(from), made_(from.like()), stand_in_(static_cast<std::size_t>(from.node_count())) {}

    const Graph& made() const { return made_; }

    /// The operands of an old node, as nodes of the new graph.
    std::vector<NodeId> operands(NodeId node) const {
        std::vector<NodeId> operands = from_.operands(node);
        for (NodeId& operand : operands) operand = stand_in_[operand];
        return operands;
    }

    /// Appends a node to the new graph, replacing an old one.
    void put(NodeId node, const Node& made, const std::vector<NodeId>& operands) {
        stand_in(node, made_.append(made, operands));
    }
    void keep(NodeId node) { put(node, from_.node(node), operands(node)); }
    /// Replaces an old node by an existing node of the new graph.
    void stand_in(NodeId node, NodeId made) { stand_in_[node] = made; }

    Graph finish() && {
        for (const Graph::Output& output : from_.outputs())
            made_.append_output(output.name, stand_in_[output.node], output.order);
        return std::move(made_);
    }

private:
    const Graph& from_;
    Graph made_;
    Table<NodeId, NodeId> stand_in_; ///< by old node: its node in the new graph
};

} // namespace gf::plan
