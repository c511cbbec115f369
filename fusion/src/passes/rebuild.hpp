// Rebuilding a graph node by node, as every graph pass does: nodes of the old graph, in order, each kept or stood in
// for by a node that is there already.
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

    /// Appends a node of the new graph in the place of an old one.
    void put(int node, const Node& made, const std::vector<int>& operands) {
        stand_in(node, made_.append(made, operands));
    }
    void keep(int node) { put(node, from_.node(node), operands(node)); }
    /// Uses a node of the new graph in the place of an old one.
    void stand_in(int node, int made) { stand_in_[static_cast<std::size_t>(node)] = made; }

    Graph finish() && {
        for (const Graph::Output& output : from_.outputs())
            made_.append_output(output.name, stand_in_[static_cast<std::size_t>(output.node)]);
        return std::move(made_);
    }

private:
    const Graph& from_;
    Graph made_;
    std::vector<int> stand_in_; ///< by old node
};

} // namespace gf::plan
