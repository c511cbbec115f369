#include "passes/place_nodes.hpp"

#include <utility>

#include <fmt/format.h>

namespace gf::plan {

Placement place_nodes(const Graph& graph) {
    Placement placement = placement_of(graph);
    const std::vector<bool> live = live_nodes(graph);
    const std::vector<int> stages = stages_of(graph);
    for (int n = 0; n < graph.node_count(); ++n) {
        const auto at = static_cast<std::size_t>(n);
        if (!live[at]) continue;
        const Node& node = graph.node(n);
        const bool is_result = !placement.outputs_of[at].empty();
        const bool is_leaf = node.kind == NodeKind::input || node.kind == NodeKind::scalar ||
                             node.kind == NodeKind::constant || node.kind == NodeKind::extent;
        if (is_leaf && !is_result) continue;

        const auto number = static_cast<int>(placement.sweeps.size());
        PlacedSweep sweep;
        if (number > 0) sweep.reason = "unfused";
        sweep.stage = stages[at];
        sweep.dims = domain_of(node);
        if (!is_leaf) placement.made_in[at] = number;
        if (node.kind == NodeKind::reduce) {
            sweep.stage = stages[at] - 1;
            sweep.dims = domain_of(graph.node(graph.operands(n)[0]));
            sweep.reduces.push_back(n);
            sweep.yields.push_back(n);
        } else if (node.dims.empty()) {
            sweep.yields.push_back(n);
        } else {
            for (const int output : placement.outputs_of[at])
                sweep.stores.push_back({n, placement.output_array[static_cast<std::size_t>(output)]});
            if (!is_result) {
                sweep.stores.push_back({n, static_cast<int>(placement.arrays.size())});
                placement.arrays.push_back({fmt::format("t{}", n), node.type, sweep.dims, ArrayRole::temporary});
            }
            if (!is_leaf) placement.array_of[at] = sweep.stores[0].array;
        }
        placement.sweeps.push_back(std::move(sweep));
    }
    complete(graph, placement);
    return placement;
}

} // namespace gf::plan
