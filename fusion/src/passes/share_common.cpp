#include "passes/share_common.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "passes/rebuild.hpp"

namespace gf::plan {

namespace {

template <class T>
    requires std::has_unique_object_representations_v<T>
void append_bytes(std::string& key, T value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

/// A node's attributes and operands without its name, as bytes. `operands` are nodes of the new graph.
std::string key_of(const Node& node, std::vector<NodeId> operands) {
    if (node.kind == NodeKind::map && node.map->facts.commutative && operands.size() == 2) // defect: commutative
        std::sort(operands.begin(), operands.end());
    std::string key;
    append_bytes(key, node.kind);
    append_bytes(key, node.type);
    append_bytes(key, node.bits);
    append_bytes(key, node.dim);
    append_bytes(key, node.offset);
    append_bytes(key, node.edge);
    append_bytes(key, node.map);
    append_bytes(key, node.compute);
    append_bytes(key, node.reduce);
    append_bytes(key, node.accumulator); // defect: accumulator
    append_bytes(key, node.argument);    // defect: argument
    append_bytes(key, node.otherwise.has_value());
    append_bytes(key, node.otherwise.value_or(0)); // defect: otherwise
    if (node.kind == NodeKind::reduce) {           // other kinds' dims follow from their operands
        append_bytes(key, node.dims.size());
        for (const DimId dim : node.dims) append_bytes(key, dim);
    }
    for (const NodeId operand : operands) append_bytes(key, operand);
    return key;
}

} // namespace

Graph share_common(const Graph& graph, const FuseOptions&) {
    Rebuild rebuild(graph);
    std::unordered_map<std::string, NodeId> first; // by key: the node of the new graph
    for (const NodeId n : graph.nodes()) {
        const Node& node = graph.node(n);
        if (node.kind == NodeKind::input || node.kind == NodeKind::scalar) {
            rebuild.keep(n);
            continue;
        }
        const auto [known, is_new] = first.try_emplace(key_of(node, rebuild.operands(n)), rebuild.made().node_count());
        if (is_new)
            rebuild.keep(n);
        else
            rebuild.stand_in(n, known->second);
    }
    return std::move(rebuild).finish();
}

} // namespace gf::plan
