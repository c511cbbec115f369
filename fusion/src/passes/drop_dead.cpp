#include "passes/drop_dead.hpp"

#include "passes/placement.hpp"
#include "passes/rebuild.hpp"

namespace gf::plan {

Graph drop_dead(const Graph& graph, const FuseOptions&) {
    Rebuild rebuild(graph);
    const std::vector<bool> live = live_nodes(graph);
    for (int n = 0; n < graph.node_count(); ++n) {
        const NodeKind kind = graph.node(n).kind;
        if (live[static_cast<std::size_t>(n)] || kind == NodeKind::input || kind == NodeKind::scalar) rebuild.keep(n);
    }
    return std::move(rebuild).finish();
}

} // namespace gf::plan
