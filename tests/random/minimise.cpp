// The minimiser: proposes smaller cases, one change each, and takes the first that still fails, until none does.
#include "minimise.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

namespace gf::oracle {

namespace {

/// One change to a graph.
struct Change {
    int drop_output = -1;
    int node = -1;            ///< and what becomes of it:
    int becomes_operand = -1; ///< its operand in that slot
    bool becomes_input = false;
    bool loses_mask = false;
};

/// The graph with a change made, without what no output needs then. Dims that no input has any more are fixed.
Case changed(const Case& test, const Change& change) {
    const Graph& old = test.graph;
    std::vector<int> stands_for(static_cast<std::size_t>(old.node_count())); // a node, or the operand it becomes
    std::vector<bool> live(stands_for.size(), false);
    const auto at = [](auto& by_node, int n) -> decltype(auto) { return by_node[static_cast<std::size_t>(n)]; };
    for (int n = 0; n < old.node_count(); ++n)
        at(stands_for, n) = n == change.node && change.becomes_operand >= 0
                                ? at(stands_for, old.operands(n)[static_cast<std::size_t>(change.becomes_operand)])
                                : n;
    const auto operands = [&](int n) {
        std::vector<int> list = old.operands(n);
        if (n == change.node && change.becomes_input) list.clear();
        if (n == change.node && change.loses_mask) list.resize(1);
        for (int& operand : list) operand = at(stands_for, operand);
        return list;
    };
    std::vector<int> outputs;
    for (std::size_t i = 0; i < old.outputs().size(); ++i)
        if (static_cast<int>(i) != change.drop_output) outputs.push_back(at(stands_for, old.outputs()[i].node));
    for (int output : outputs) at(live, output) = true;
    for (int n = old.node_count() - 1; n >= 0; --n)
        if (at(live, n))
            for (int operand : operands(n)) at(live, operand) = true;

    Case result{test.seed, Graph(old.name()), test.extents};
    std::vector<bool> bound(test.extents.size(), false);
    for (int n = 0; n < old.node_count(); ++n)
        if (at(live, n) && (old.node(n).kind == NodeKind::input || (n == change.node && change.becomes_input)))
            for (int dim : old.node(n).dims) at(bound, dim) = true;
    for (std::size_t d = 0; d < bound.size(); ++d)
        result.graph.dim(old.dims()[d].name, bound[d] ? old.dims()[d].extent : std::optional(test.extents[d]));

    std::vector<int> number(stands_for.size(), -1);
    for (int n = 0; n < old.node_count(); ++n) {
        if (!at(live, n)) continue;
        Node node = old.node(n);
        std::vector<int> list = operands(n);
        if (n == change.node && change.becomes_input)
            node = Node{.kind = node.dims.empty() ? NodeKind::scalar : NodeKind::input,
                        .type = node.type,
                        .dims = node.dims,
                        .name = fmt::format("m{}", n)};
        if (n == change.node && change.loses_mask) node.masked = false;
        for (int& operand : list) operand = at(number, operand);
        if (node.kind == NodeKind::map || node.kind == NodeKind::cast) { // operands may have lost dims
            node.dims.clear();
            for (int operand : list)
                node.dims.insert(node.dims.end(), result.graph.node(operand).dims.begin(),
                                 result.graph.node(operand).dims.end());
            std::ranges::sort(node.dims);
            node.dims.erase(std::unique(node.dims.begin(), node.dims.end()), node.dims.end());
        }
        at(number, n) = result.graph.append(std::move(node), list);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i)
        result.graph.append_output(fmt::format("o{}", i), at(number, outputs[i]));
    return result;
}

std::vector<Change> changes(const Graph& graph) {
    std::vector<Change> list;
    if (graph.outputs().size() > 1)
        for (int i = 0; i < static_cast<int>(graph.outputs().size()); ++i) list.push_back({.drop_output = i});
    for (int n = graph.node_count() - 1; n >= 0; --n) {
        const Node& node = graph.node(n);
        const std::vector<int> operands = graph.operands(n);
        if (operands.empty()) continue;
        for (std::size_t slot = 0; slot < operands.size(); ++slot)
            if (graph.node(operands[slot]).type == node.type && (node.kind != NodeKind::reduce || slot == 0))
                list.push_back({.node = n, .becomes_operand = static_cast<int>(slot)});
        list.push_back({.node = n, .becomes_input = true});
        if (node.kind == NodeKind::reduce && node.masked) list.push_back({.node = n, .loses_mask = true});
    }
    return list;
}

/// A mask's dims must stay among its operand's.
bool is_legal(const Graph& graph) {
    for (int n = 0; n < graph.node_count(); ++n) {
        if (!graph.node(n).masked) continue;
        std::vector<int> dims = graph.node(graph.operands(n)[0]).dims, mask = graph.node(graph.operands(n)[1]).dims;
        std::ranges::sort(dims);
        std::ranges::sort(mask);
        if (!std::ranges::includes(dims, mask)) return false;
    }
    return true;
}

std::optional<Case> smaller_graph(const Case& test, const std::function<bool(const Case&)>& fails) {
    for (const Change& change : changes(test.graph)) {
        Case candidate = changed(test, change);
        if (is_legal(candidate.graph) && fails(candidate)) return candidate;
    }
    return {};
}

std::optional<Case> smaller_extents(const Case& test, const std::function<bool(const Case&)>& fails) {
    for (std::size_t d = 0; d < test.extents.size(); ++d) {
        const std::int64_t extent = test.extents[d];
        if (test.graph.dims()[d].extent) continue;
        for (std::int64_t less :
             std::array<std::int64_t, 6>{1, 2, extent / 4, extent / 2, extent * 7 / 8, extent - 1}) {
            if (less < 1 || less >= extent) continue;
            Case candidate = test;
            candidate.extents[d] = less;
            if (fails(candidate)) return candidate;
        }
    }
    return {};
}

} // namespace

Case minimise(Case test, const std::function<bool(const Case&)>& fails) {
    constexpr int most_steps = 200;
    for (int step = 0; step < most_steps; ++step) {
        auto smaller = smaller_graph(test, fails);
        if (!smaller) smaller = smaller_extents(test, fails);
        if (!smaller) break;
        test = std::move(*smaller);
    }
    return test;
}

} // namespace gf::oracle
