#include "passes/lower_shifts.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>
#include <gridfold/ops/expr.hpp>

#include "passes/placement.hpp"

namespace gf::plan {

namespace {

/// The steps from an element's coordinates to those of what it reads, in this order; sorted by dim, since steps along
/// different dims do not depend on each other.
using Chain = std::vector<Step>;

/// The chain with one more step, joined to the last along its dim where one step does both.
Chain with_step(Chain chain, Step step) {
    const auto end = std::ranges::upper_bound(chain, step.dim, {}, &Step::dim);
    const bool has_last =
        end != chain.begin() && std::prev(end)->dim == step.dim && std::prev(end)->wraps == step.wraps;
    if (!has_last) {
        chain.insert(end, step);
        return chain;
    }
    Step& last = *std::prev(end);
    const std::int64_t sum = last.offset + step.offset;
    if (step.wraps && std::abs(sum) <= max_shift) {
        last.offset = sum;
        if (sum == 0) chain.erase(std::prev(end));
    } else if (!step.wraps && (last.offset < 0) == (step.offset < 0)) {
        last.offset = std::clamp(sum, -max_shift, max_shift); // beyond the extent of every dim
    } else {
        chain.insert(end, step);
    }
    return chain;
}

class Lowering {
public:
    explicit Lowering(const Graph& graph) : graph_(graph), made_(graph.like()) {}

    Graph run() && {
        for (const NodeId n : graph_.nodes()) unshifted_.push_back(made(n));
        for (const Graph::Output& output : graph_.outputs())
            made_.append_output(output.name, unshifted_[output.node], output.order);
        return std::move(made_);
    }

private:
    /// A node of the old graph, read through a chain of shifts.
    using Shifted = std::pair<NodeId, Chain>;

    NodeId made(NodeId n) {
        const Node& node = graph_.node(n);
        if (node.kind == NodeKind::shift) return shifted({n, {}});
        std::vector<NodeId> operands = graph_.operands(n);
        for (NodeId& operand : operands) operand = unshifted_[operand];
        return made_.append(node, operands);
    }

    /// The node of the new graph for a shifted value. Operands first, on a stack of its own: graphs may be deep.
    NodeId shifted(const Shifted& wanted) {
        std::vector<Shifted> open{wanted};
        while (!open.empty()) {
            const Shifted next = open.back();
            const std::vector<Shifted> operands = operands_of(next);
            const std::size_t before = open.size();
            for (const Shifted& operand : operands)
                if (!find(operand).valid()) open.push_back(operand);
            if (open.size() != before) continue;
            open.pop_back();
            if (find(next).valid()) continue;
            const NodeId appended = append(next, operands);
            known_[next] = appended;
            work_ += 1 + next.second.size(); // of memory and of time
            check_placed_nodes(graph_, work_);
        }
        return find(wanted);
    }

    /// The node of a shifted value if it exists.
    NodeId find(const Shifted& value) const {
        if (value.second.empty() && graph_.node(value.first).kind != NodeKind::shift) return unshifted_[value.first];
        const auto known = known_.find(value);
        return known == known_.end() ? NodeId() : known->second;
    }

    /// The value without the steps along dims that it lacks.
    Shifted within(NodeId n, Chain chain) const {
        const std::vector<DimId>& dims = graph_.node(n).dims;
        std::erase_if(chain, [&](const Step& step) { return std::ranges::find(dims, step.dim) == dims.end(); });
        return {n, std::move(chain)};
    }

    /// What a shifted value is made from.
    std::vector<Shifted> operands_of(const Shifted& value) const {
        const auto& [n, chain] = value;
        const Node& node = graph_.node(n);
        std::vector<Shifted> operands;
        if (node.kind == NodeKind::shift) {
            const Step step{node.dim, node.offset, node.edge == EdgeKind::wrap};
            operands.push_back(within(graph_.operands(n)[0], with_step(chain, step)));
        } else if (node.kind == NodeKind::map || node.kind == NodeKind::cast) {
            for (const NodeId operand : graph_.operands(n)) operands.push_back(within(operand, chain));
        }
        return operands;
    }

    NodeId append(const Shifted& value, const std::vector<Shifted>& operands) {
        const auto& [n, chain] = value;
        const Node& node = graph_.node(n);
        switch (node.kind) {
        case NodeKind::scalar:
        case NodeKind::constant:
        case NodeKind::extent: break; // they have no dims
        case NodeKind::input:
        case NodeKind::reduce: return load(n, chain);
        case NodeKind::index: return coordinate(node.dim, chain).node();
        case NodeKind::map:
        case NodeKind::cast: {
            Node copy = node;
            copy.name.clear();
            std::vector<NodeId> nodes;
            nodes.reserve(operands.size());
            for (const Shifted& operand : operands) nodes.push_back(find(operand));
            return made_.append(copy, nodes);
        }
        case NodeKind::shift: {
            const NodeId moved = find(operands[0]);
            return node.edge == EdgeKind::value ? or_number(node, chain, moved) : moved;
        }
        }
        throw InternalError(fmt::format("lower_shifts: node {} has no dims to shift along", n.number()));
    }

    /// An input or the result of a reduction at the end of the chain: a shift for each step, the last step's first.
    /// Each is made once, so that no sweep loads an array twice in the same way.
    NodeId load(NodeId n, const Chain& chain) {
        NodeId value = unshifted_[n];
        for (std::size_t count = 1; count <= chain.size(); ++count) {
            NodeId& known = known_[{n, Chain(chain.end() - std::ptrdiff_t(count), chain.end())}];
            if (!known.valid()) {
                const Step& step = chain[chain.size() - count];
                const Node& moved = made_.node(value);
                Node shift{.kind = NodeKind::shift, .type = moved.type, .dims = domain_of(moved), .name = {}};
                shift.dim = step.dim;
                shift.offset = step.offset;
                shift.edge = step.wraps ? EdgeKind::wrap : EdgeKind::clamp;
                known = made_.append(shift, std::vector{value});
            }
            value = known;
        }
        return value;
    }

    /// The coordinate along a dim after the chain's steps.
    Value coordinate(DimId dim, const Chain& chain) {
        const Value extent = made_.extent(made_.dim_at(dim));
        Value at = made_.index(made_.dim_at(dim));
        for (const Step& step : chain) {
            if (step.dim != dim) continue;
            at = at + step.offset;
            at = step.wraps ? at % extent : min(max(at, 0), extent - 1);
        }
        return at;
    }

    /// The moved value, or the shift's number where its place is outside of the dim.
    NodeId or_number(const Node& shift, const Chain& chain, NodeId moved) {
        const Value at = coordinate(shift.dim, chain);
        const Value inside =
            shift.offset < 0 ? at >= -shift.offset : at < made_.extent(made_.dim_at(shift.dim)) - shift.offset;
        Node constant{.kind = NodeKind::constant, .type = shift.type, .dims = {}, .name = {}};
        constant.bits = shift.bits;
        const Value number = made_.value(made_.append(constant, {}));
        return select(inside, made_.value(moved), number).node();
    }

    const Graph& graph_;
    Graph made_;
    Table<NodeId, NodeId> unshifted_; ///< by old node so far
    std::map<Shifted, NodeId> known_;
    std::size_t work_ = 0; ///< values of known_, and their steps
};

} // namespace

Graph lower_shifts(const Graph& graph, const FuseOptions&) {
    const auto is_shift = [&](NodeId n) { return graph.node(n).kind == NodeKind::shift; };
    return std::ranges::any_of(graph.nodes(), is_shift) ? Lowering(graph).run() : graph;
}

} // namespace gf::plan
