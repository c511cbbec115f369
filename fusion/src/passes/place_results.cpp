#include "passes/place_results.hpp"

#include <algorithm>

#include "passes/place_sweeps.hpp"

namespace gf::plan {

namespace {

/// The sweep that all results have been made in that a map follows from, if it is one. `home`: the same of its
/// operands, or the sweep that makes them.
SweepId home_of(const Graph& graph, NodeId map, const Table<NodeId, SweepId>& home) {
    SweepId all;
    for (const NodeId operand : graph.operands(map)) {
        if (graph.node(operand).dims.empty()) continue;
        if (!home[operand].valid() || (all.valid() && home[operand] != all)) return {}; // defect: results of one sweep
        all = home[operand];
    }
    return all;
}

/// The parameters of the graph's run-time scalars and extents: at least as many as those of a map.
int scalar_parameters(const Graph& graph) {
    int words = 0;
    for (const NodeId n : graph.nodes())
        if (graph.node(n).kind == NodeKind::scalar || graph.node(n).kind == NodeKind::extent)
            words += parameter_words(graph.node(n));
    return words;
}

} // namespace

bool SweepRoom::fits() const { return arrays <= max_sweep_arrays && parameters <= max_sweep_parameters; }

Table<NodeId, bool> maps_of_results(const Graph& graph, const Table<NodeId, int>& stages) {
    Table<NodeId, bool> found(stages.size());
    for (const NodeId n : graph.nodes()) {
        const Node& node = graph.node(n);
        if (node.dims.empty() || (node.kind != NodeKind::map && node.kind != NodeKind::cast)) continue;
        found[n] = std::ranges::all_of(graph.operands(n), [&](NodeId operand) {
            const Node& from = graph.node(operand);
            return from.dims.empty() ? stages[operand] == 0 : from.kind == NodeKind::reduce || found[operand];
        });
    }
    return found;
}

std::vector<PlacedStore> stores_of_outputs(const Placement& placement, NodeId node) {
    std::vector<PlacedStore> stores;
    for (const std::size_t output : placement.outputs_of[node]) {
        stores.push_back({node, placement.output_array[output]});
        if (const ArrayId validity = placement.output_validity[output]; validity.valid())
            stores.push_back({node, validity, true}); // defect: validity of maps
    }
    return stores;
}

bool has_outputs_in_order(const Placement& placement, NodeId node) {
    return std::ranges::all_of(placement.outputs_of[node], [&](std::size_t output) {
        return stride_words(placement.arrays[placement.output_array[output]]) == 0; // defect: outputs in order
    });
}

namespace {

/// Adds the stores of a node's outputs to a sweep, unless it has no room for them and `parameters` more.
bool add_stores(Placement& placement, NodeId node, SweepId sweep, SweepRoom& room, int parameters) {
    const std::vector<PlacedStore> added = stores_of_outputs(placement, node);
    const int arrays = room.arrays + static_cast<int>(added.size());
    if (!SweepRoom{arrays, room.parameters + parameters}.fits()) return false; // defect: room of maps
    room.arrays = arrays;
    std::vector<PlacedStore>& stores = placement.sweeps[sweep].stores;
    stores.insert(stores.end(), added.begin(), added.end());
    return true;
}

} // namespace

std::vector<NodeId> place_outputs_of_results(const Graph& graph, Placement& placement, Table<SweepId, SweepRoom>& rooms,
                                             const Table<NodeId, bool>& of_results, const Table<NodeId, bool>& wanted) {
    std::vector<NodeId> failed;
    Table<NodeId, SweepId> home = placement.made_in;
    const int parameters = scalar_parameters(graph);
    for (const NodeId n : graph.nodes()) {
        if (of_results[n]) home[n] = home_of(graph, n, home);
        if (wanted[n] && !(home[n].valid() && add_stores(placement, n, home[n], rooms[home[n]], parameters)))
            failed.push_back(n);
    }
    return failed;
}

} // namespace gf::plan
