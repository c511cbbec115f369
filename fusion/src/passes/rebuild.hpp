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
        : from_(from), made_(from.like()), stand_in_(static_cast<std::size_t>(from.node_count()), -1) {}

    const Graph& made() const { return made_; }

    /// The operands of an old node, as nodes of the new graph.
    std::vector<int> operands(int node) const {
        std::vector<int> operands = from_.operands(node);
        for (int& operand : operands) operand = stand_in_[static_cast<std::size_t>(operand)];
        return operands;
    }

    /// Appends a node to the new graph, replacing an old one.
    void put(int node, const Node& made, const std::vector<int>& operands) {
        stand_in(node, made_.append(made, operands));
    }
    void keep(int node) { put(node, from_.node(node), operands(node)); }
    /// Replaces an old node by an existing node of the new graph.
    void stand_in(int node, int made) { stand_in_[static_cast<std::size_t>(node)] = made; }

    Graph finish() && {
        for (const Graph::Output& output : from_.outputs())
            made_.append_output(output.name, stand_in_[static_cast<std::size_t>(output.node)]);
        return std::move(made_);
    }

private:
    const Graph& from_;
    Graph made_;
    std::vector<int> stand_in_; ///< by old node: its node in the new graph
};

} // namespace gf::plan
