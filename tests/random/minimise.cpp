// The minimiser: proposes smaller cases with one change each, and accepts those that still fail, until none does.
#include "minimise.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <gridfold/ops/type_rule.hpp>

namespace gf::oracle {

namespace {

/// One change to a graph.
struct Change {
    int drop_output = -1; ///< the output to remove, or with `becomes` to replace by that node
    bool splits = false;  ///< replaces the output by all operands of its node
    NodeId node = {};     ///< the node to replace by:
    NodeId becomes = {};  ///< an earlier node
    bool becomes_input = false;
    bool loses_mask = false;
    bool folds_all = false;
    NodeId reads = {}; ///< itself with another first operand
};

/// An unused name for an input.
std::string new_name(const Graph& graph) {
    std::set<std::string> taken;
    for (const NodeId n : graph.nodes()) taken.insert(graph.node(n).name);
    int number = 0;
    while (taken.contains(fmt::format("m{}", number))) ++number;
    return fmt::format("m{}", number);
}

/// The case with a change, without nodes that no output needs. Dims that no input has any more are fixed.
Case changed(const Case& test, const Change& change) {
    const Graph& old = test.graph;
    Table<NodeId, NodeId> stands_for(static_cast<std::size_t>(old.node_count())); // by node: itself or its replacement
    Table<NodeId, bool> live(stands_for.size(), false);
    for (const NodeId n : old.nodes()) stands_for[n] = n == change.node && change.becomes.valid() ? change.becomes : n;
    const auto operands = [&](NodeId n) {
        std::vector<NodeId> list = old.operands(n);
        if (n == change.node && change.becomes_input) list.clear();
        if (n == change.node && change.loses_mask) list.pop_back();
        if (n == change.node && change.reads.valid()) list[0] = change.reads;
        for (NodeId& operand : list) operand = stands_for[operand];
        return list;
    };
    std::vector<NodeId> outputs;
    std::vector<std::vector<DimId>> orders; // of the first outputs
    for (std::size_t i = 0; i < old.outputs().size(); ++i)
        if (static_cast<int>(i) != change.drop_output) {
            outputs.push_back(stands_for[old.outputs()[i].node]);
            orders.resize(outputs.size());
            orders.back() = old.outputs()[i].order;
        } else if (change.becomes.valid())
            outputs.push_back(change.becomes);
        else if (change.splits)
            std::ranges::copy(old.operands(old.outputs()[i].node), std::back_inserter(outputs));
    for (const NodeId output : outputs) live[output] = true;
    for (NodeId n(old.node_count() - 1); n.valid(); n = NodeId(n.number() - 1))
        if (live[n])
            for (const NodeId operand : operands(n)) live[operand] = true;

    Case result{test.seed, Graph(old.name()), test.extents};
    Table<DimId, bool> bound(test.extents.size(), false);
    for (const NodeId n : old.nodes())
        if (live[n] && (old.node(n).kind == NodeKind::input || (n == change.node && change.becomes_input)))
            for (const DimId dim : old.node(n).dims) bound[dim] = true;
    for (std::size_t d = 0; d < bound.size(); ++d)
        result.graph.dim(old.dims()[d].name, bound[d] ? old.dims()[d].extent : std::optional(test.extents[d]));

    Table<NodeId, NodeId> number(stands_for.size());
    for (const NodeId n : old.nodes()) {
        if (!live[n]) continue;
        Node node = old.node(n);
        std::vector<NodeId> list = operands(n);
        if (n == change.node && change.becomes_input)
            node = Node{.kind = node.dims.empty() ? NodeKind::scalar : NodeKind::input,
                        .type = node.type,
                        .dims = node.dims,
                        .name = new_name(old)};
        if (n == change.node && change.loses_mask) node.masked = false, node.otherwise.reset();
        if (n == change.node && change.folds_all) node.dims.clear();
        for (NodeId& operand : list) operand = number[operand];
        const bool has_operands_dims =
            node.kind == NodeKind::map || node.kind == NodeKind::cast || node.kind == NodeKind::shift;
        if (has_operands_dims) { // operands may have lost dims
            node.dims.clear();
            for (const NodeId operand : list)
                node.dims.insert(node.dims.end(), result.graph.node(operand).dims.begin(),
                                 result.graph.node(operand).dims.end());
            std::ranges::sort(node.dims);
            node.dims.erase(std::unique(node.dims.begin(), node.dims.end()), node.dims.end());
        }
        if (node.kind == NodeKind::reduce) { // it keeps some of its operand's dims, or none
            const std::vector<DimId> dims = domain_of(result.graph.node(list[0]));
            std::erase_if(node.dims, [&](DimId dim) { return !std::ranges::binary_search(dims, dim); });
            if (node.dims == dims) node.dims.clear();
        }
        number[n] = result.graph.append(std::move(node), list);
    }
    orders.resize(outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const std::vector<DimId> domain = domain_of(result.graph.node(number[outputs[i]]));
        std::vector<DimId>& order = orders[i];
        std::erase_if(order, [&](DimId dim) { return !std::ranges::binary_search(domain, dim); });
        if (order.size() != domain.size() || order == domain) order.clear();
        result.graph.append_output(fmt::format("o{}", i), number[outputs[i]], order);
    }
    return result;
}

/// The nodes that a node depends on, from far to near.
std::vector<NodeId> behind(const Graph& graph, NodeId node) {
    std::set<NodeId> open{node};
    std::vector<NodeId> found;
    while (!open.empty()) {
        const NodeId next = *open.rbegin();
        open.erase(next);
        if (next != node) found.push_back(next);
        for (const NodeId operand : graph.operands(next)) open.insert(operand);
    }
    std::ranges::reverse(found);
    return found;
}

/// True if this cast or fold could take an operand of another type without any other change.
bool reads_as_well(const Node& node, DType type) {
    if (node.kind == NodeKind::cast) return type != node.type;
    if (node.kind != NodeKind::reduce || node.reduce->monoid->operands > 1) return false;
    const ReduceTyping typing = reduce_typing(*node.reduce, {&type, 1}, {});
    return typing.accumulator == node.accumulator && typing.result == node.type;
}

/// Adds the dependencies of a node that may replace it: at most `most` of each kind, those that remove most nodes
/// first.
void add_shortcuts(const Graph& graph, NodeId n, int most, std::vector<Change>& list) {
    const Node& node = graph.node(n);
    const std::vector<NodeId> operands = graph.operands(n);
    int same = 0, others = 0;
    for (const NodeId earlier : behind(graph, n)) {
        const DType type = graph.node(earlier).type;
        if (type == node.type && same++ < most) list.push_back({.node = n, .becomes = earlier});
        if (reads_as_well(node, type) && earlier < operands[0] && others++ < most)
            list.push_back({.node = n, .reads = earlier});
    }
}

std::vector<Change> changes(const Graph& graph, int shortcuts) {
    std::vector<Change> list;
    if (graph.outputs().size() > 1)
        for (int i = 0; i < static_cast<int>(graph.outputs().size()); ++i) list.push_back({.drop_output = i});
    for (int i = 0; i < static_cast<int>(graph.outputs().size()); ++i)
        for (const NodeId operand : graph.operands(graph.outputs()[static_cast<std::size_t>(i)].node))
            list.push_back({.drop_output = i, .becomes = operand});
    for (int i = 0; i < static_cast<int>(graph.outputs().size()); ++i)
        if (graph.operands(graph.outputs()[static_cast<std::size_t>(i)].node).size() > 1)
            list.push_back({.drop_output = i, .splits = true});
    for (NodeId n(graph.node_count() - 1); n.valid(); n = NodeId(n.number() - 1)) {
        const Node& node = graph.node(n);
        const std::vector<NodeId> operands = graph.operands(n);
        add_shortcuts(graph, n, shortcuts, list);
        for (NodeId other(0); other < n; other = other.next()) // replaces an input by the first equal one
            if (const Node& earlier = graph.node(other);
                graph.operands(other).empty() && earlier.type == node.type && earlier.dims == node.dims) {
                list.push_back({.node = n, .becomes = other});
                break;
            }
        if (operands.empty()) continue;
        list.push_back({.node = n, .becomes_input = true});
        if (node.kind == NodeKind::reduce && node.masked) list.push_back({.node = n, .loses_mask = true});
        if (node.kind == NodeKind::reduce && !node.dims.empty()) list.push_back({.node = n, .folds_all = true});
    }
    return list;
}

/// The dims of a mask and of other operands must stay among those of the first operand, and a shift's among its
/// value's, whose type it has.
bool is_legal(const Graph& graph) {
    for (const NodeId n : graph.nodes()) {
        const Node& shift = graph.node(n);
        if (shift.kind == NodeKind::shift && (std::ranges::find(shift.dims, shift.dim) == shift.dims.end() ||
                                              graph.node(graph.operands(n)[0]).type != shift.type))
            return false;
        if (graph.node(n).kind != NodeKind::reduce) continue;
        const std::vector<NodeId> operands = graph.operands(n);
        const std::vector<DimId> dims = domain_of(graph.node(operands[0]));
        for (const NodeId operand : operands)
            if (!std::ranges::includes(dims, domain_of(graph.node(operand)))) return false;
    }
    return true;
}

} // namespace

Case minimise(Case test, const std::function<bool(const Case&)>& fails, int most_calls) {
    bool smaller = true;
    const auto take = [&](Case candidate) {
        if (!is_legal(candidate.graph) || most_calls-- <= 0 || !fails(candidate)) return false;
        test = std::move(candidate);
        return smaller = true;
    };
    const auto until_none_is_left = [&](int shortcuts) {
        while (std::exchange(smaller, false)) {
            std::vector<Change> list = changes(test.graph, shortcuts);
            for (std::size_t i = 0; i < list.size();)
                if (take(changed(test, list[i])))
                    list = changes(test.graph, shortcuts); // the next round tries changes before i again
                else
                    ++i;
            for (std::size_t d = 0; d < test.extents.size(); ++d) {
                std::int64_t too_few = 0; // an extent at which the case passes
                while (!test.graph.dims()[d].extent && test.extents[d] - too_few > 1) {
                    Case candidate = test;
                    candidate.extents[d] = too_few == 0 ? 1 : (too_few + test.extents[d]) / 2;
                    if (!take(candidate)) too_few = candidate.extents[d];
                }
            }
        }
    };
    for (const int shortcuts : {1, 3, 100}) { // few proposals while the graph is large, all when it is small
        smaller = true;
        until_none_is_left(shortcuts);
    }
    return test;
}

} // namespace gf::oracle
