#include "passes/place_nodes.hpp"

#include <utility>

namespace gf::plan {

Placement place_nodes(const Graph& graph) {
    Placement placement = placement_of(graph);
    const Table<NodeId, bool> live = live_nodes(graph);
    const Table<NodeId, int> stages = stages_of(graph);
    for (const NodeId n : graph.nodes()) {
        if (!live[n]) continue;
        const Node& node = graph.node(n);
        const bool is_result = !placement.outputs_of[n].empty();
        const bool is_leaf = node.kind == NodeKind::input || node.kind == NodeKind::scalar ||
                             node.kind == NodeKind::constant || node.kind == NodeKind::extent;
        if (is_leaf && !is_result) continue;

        const SweepId made = placement.sweeps.next();
        PlacedSweep sweep;
        if (made.number() > 0) sweep.reason = "unfused";
        sweep.stage = stages[n];
        sweep.dims = domain_of(node);
        if (!is_leaf) placement.made_in[n] = made;
        if (node.kind == NodeKind::reduce) {
            sweep.stage = stages[n] - 1;
            sweep.dims = domain_of(graph.node(graph.operands(n)[0]));
            sweep.reduces.push_back(n);
        }
        if (node.dims.empty())
            sweep.yields.push_back(n);
        else if (!is_leaf)
            store_value(graph, placement, n, sweep);
        else
            for (const std::size_t output : placement.outputs_of[n])
                sweep.stores.push_back({n, placement.output_array[output]});
        placement.sweeps.push_back(std::move(sweep));
    }
    complete(graph, placement);
    return placement;
}

} // namespace gf::plan
