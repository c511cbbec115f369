#include <gridfold/ops/emptiness.hpp>

#include <algorithm>

namespace gf {

int rank_of(const Node& reduce) { return reduce.reduce->argument == ReduceArgument::rank ? reduce.argument : 0; }

bool is_undefined_over_nothing(const Node& reduce) {
    const bool may_lack_elements = reduce.masked || rank_of(reduce) > 0 || reduce.otherwise;
    return may_lack_elements && reduce.reduce->on_empty == OnEmpty::undefined; // defect: acceptance
}

const ReduceOp& acceptance_of(const Node& reduce) {
    return reduce.reduce->argument == ReduceArgument::rank ? reduce_op::count : reduce_op::any;
}

bool result_may_be_empty(const Node& reduce) {
    return is_undefined_over_nothing(reduce) && !reduce.otherwise && !is_floating(reduce.type);
}

bool passes_emptiness(const Graph& graph, const Table<NodeId, bool>& may, NodeId node, NodeId operand) {
    if (graph.node(node).map == &map_op::choose) return may[operand];
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
