#include "passes/drop_dead.hpp"

#include "passes/placement.hpp"
#include "passes/rebuild.hpp"

namespace gf::plan {

Graph drop_dead(const Graph& graph, const FuseOptions&) {
    Rebuild rebuild(graph);
    const Table<NodeId, bool> live = live_nodes(graph);
    for (const NodeId n : graph.nodes()) {
        const NodeKind kind = graph.node(n).kind;
        if (live[n] || kind == NodeKind::input || kind == NodeKind::scalar) rebuild.keep(n); // defect: inputs
    }
    return std::move(rebuild).finish();
}

} // namespace gf::plan
