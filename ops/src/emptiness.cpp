#include <gridfold/ops/emptiness.hpp>

#include <algorithm>

namespace gf {

bool is_undefined_over_nothing(const Node& reduce) {
    return reduce.masked && reduce.reduce->on_empty == OnEmpty::undefined; // defect: acceptance
}

bool result_may_be_empty(const Node& reduce) {
    return is_undefined_over_nothing(reduce) && !reduce.otherwise && !is_floating(reduce.type);
}

bool passes_emptiness(const Graph& graph, const Table<NodeId, bool>& may, NodeId node, NodeId operand) {
    return may[operand] && domain_of(graph.node(operand)) == graph.node(node).dims; // defect: same dims
}

Table<NodeId, bool> may_be_empty(const Graph& graph) {
    Table<NodeId, bool> may(static_cast<std::size_t>(graph.node_count()));
    for (const NodeId n : graph.nodes()) {
        const Node& node = graph.node(n);
        if (node.kind == NodeKind::reduce)
            may[n] = result_may_be_empty(node);
        else
            may[n] = std::ranges::any_of(graph.operands(n),
                                         [&](NodeId operand) { return passes_emptiness(graph, may, n, operand); });
    }
    return may;
}

} // namespace gf
