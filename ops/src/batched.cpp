// See batched.hpp. Emptiness (emptiness.hpp) decides what else must vary: an operand passes it on only to a map with
// the same dims, or to a `choose`, so an operand that may be empty gets the dim where its map does.
#include <gridfold/ops/batched.hpp>

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/ranges.h>

#include <gridfold/core/view.hpp>
#include <gridfold/ops/emptiness.hpp>
#include <gridfold/ops/expr.hpp>
#include <gridfold/ops/nearest.hpp>

#include "refusal.hpp"

namespace gf {

namespace {

using detail::in_quotes;
using detail::refusal;

bool is_input(const Node& node) { return node.kind == NodeKind::input || node.kind == NodeKind::scalar; }

class Batcher {
public:
    Batcher(const Graph& graph, std::string_view dim, const std::vector<std::string>& names)
        : graph_(graph), varies_(static_cast<std::size_t>(graph.node_count())), made_(graph.name()) {
        for (const Graph::DimInfo& other : graph.dims())
            if (other.name == dim)
                throw refusal(fmt::format("batched over {}", in_quotes(dim)),
                              fmt::format("graph {} has a dim of that name", graph.name()), "choose another name");
        batch_ = made_.dim(dim);
        for (const Graph::DimInfo& other : graph.dims()) made_.dim(other.name, other.extent);
        find_varying(names);
    }

    Graph run() && {
        for (const NodeId n : graph_.nodes()) number_.push_back(made(n));
        for (const Graph::Output& output : graph_.outputs())
            made_.append_output(output.name, with_batch(output.node), with_batch(output.order));
        return std::move(made_);
    }

private:
    // What varies -------------------------------------------------------------------------------------------------

    void find_varying(const std::vector<std::string>& names) {
        const Table<NodeId, bool> may = may_be_empty(graph_);
        for (const std::string& name : names) vary(input_called(name));
        for (const Graph::Output& output : graph_.outputs())
            if (may[output.node]) vary(output.node);
        while (!open_.empty()) {
            const NodeId n = open_.back();
            open_.pop_back();
            for (const NodeId user : graph_.users(n)) vary(user);
            if (graph_.node(n).kind == NodeKind::reduce) continue;
            for (const NodeId operand : graph_.operands(n))
                if (passes_emptiness(graph_, may, n, operand)) vary(operand); // defect: emptiness of a batch
        }
    }

    void vary(NodeId n) {
        if (varies_[n]) return;
        varies_[n] = true;
        open_.push_back(n);
    }

    NodeId input_called(std::string_view name) const {
        std::vector<std::string_view> inputs;
        for (const NodeId n : graph_.nodes()) {
            const Node& node = graph_.node(n);
            if (!is_input(node)) continue;
            if (node.name == name) return n;
            inputs.push_back(node.name);
        }
        const std::string near = detail::suggestion(name, inputs);
        throw refusal(fmt::format("batched over {} with {} varying", in_quotes(batch_.name()), in_quotes(name)),
                      fmt::format("graph {} has no input of that name, but {}", graph_.name(),
                                  inputs.empty() ? "none" : fmt::format("{}", fmt::join(inputs, ", "))),
                      near.empty() ? "name one of its inputs" : near);
    }

    // The new graph -----------------------------------------------------------------------------------------------

    /// Adds a node of the old graph to the new one; its operands are there.
    NodeId made(NodeId n) {
        Node node = graph_.node(n);
        for (DimId& dim : node.dims) dim = DimId(dim.number() + 1);
        if (node.dim.valid()) node.dim = DimId(node.dim.number() + 1); // defect: dim of a batch
        std::vector<NodeId> operands = graph_.operands(n);
        for (NodeId& operand : operands) operand = number_[operand];
        if (varies_[n]) {
            check_rank(n);
            node.dims.insert(node.dims.begin(), batch_.id());
            if (node.kind == NodeKind::scalar) node.kind = NodeKind::input;
            if (node.kind == NodeKind::reduce) operands[0] = folded(graph_.operands(n)[0]); // defect: folded of a batch
        }
        return made_.append(node, operands);
    }

    /// The operand of a reduction that keeps the new dim.
    NodeId folded(NodeId operand) {
        const NodeId varying = with_batch(operand);
        if (!graph_.node(operand).dims.empty()) return varying;
        // A value without dims is one element to fold, so it gets a dim of one element.
        if (!one_.valid()) {
            std::string name = std::string(batch_.name()) + "_one";
            const auto is_taken = [&](const Graph::DimInfo& dim) { return dim.name == name; };
            while (std::ranges::any_of(made_.dims(), is_taken)) name += '_';
            one_ = made_.dim(name, 1);
        }
        return along(one_, varying);
    }

    /// The node of the new graph for a value, which varies along the new dim.
    NodeId with_batch(NodeId n) {
        if (varies_[n]) return number_[n];
        const auto [known, is_new] = broadcast_.try_emplace(n);
        if (is_new) {
            check_rank(n);
            known->second = along(batch_, number_[n]);
        }
        return known->second;
    }

    /// An output's order with the new dim in front; none if it has none.
    std::vector<DimId> with_batch(std::vector<DimId> order) const {
        for (DimId& dim : order) dim = DimId(dim.number() + 1);
        if (!order.empty()) order.insert(order.begin(), batch_.id());
        return order;
    }

    /// A value of the new graph, the same at each index of the dim.
    NodeId along(Dim dim, NodeId value) {
        const Value same = made_.value(value);
        return select(made_.index(dim) >= 0, same, same).node();
    }

    void check_rank(NodeId n) const {
        if (graph_.node(n).dims.size() < static_cast<std::size_t>(max_rank)) return;
        throw refusal(fmt::format("batched over {}: {}", in_quotes(batch_.name()), detail::describe(graph_.dag(), n)),
                      fmt::format("a value has at most {} dims, and this would have {}", max_rank, max_rank + 1),
                      "merge dims that are adjacent in memory, or run the problems with run_many");
    }

    const Graph& graph_;
    Table<NodeId, bool> varies_; ///< by old node
    std::vector<NodeId> open_;   ///< varying nodes whose users and operands are still to be visited
    Graph made_;
    Dim batch_, one_;
    Table<NodeId, NodeId> number_;       ///< by old node: its node in the new graph
    std::map<NodeId, NodeId> broadcast_; ///< by old node that does not vary: with_batch()
};

} // namespace

Graph batched(const Graph& graph, std::string_view dim, const std::vector<std::string>& names) {
    return Batcher(graph, dim, names).run();
}

} // namespace gf
