// Compares two graphs, ignoring the order of nodes and the names of values that are not parameters.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <gridfold/ops/graph.hpp>

namespace gf::test {

/// A graph's meaning as lines: its name, dims, nodes by structure (hashed, sorted) and outputs.
inline std::vector<std::string> meaning(const Graph& graph) {
    Table<NodeId, std::size_t> hashes; // by node: of the node and all its dependencies
    for (const NodeId n : graph.nodes()) {
        const Node& node = graph.node(n);
        const bool parameter = node.kind == NodeKind::input || node.kind == NodeKind::scalar;
        std::vector<std::size_t> operands;
        std::vector<int> dims;
        for (const DimId dim : node.dims) dims.push_back(dim.number());
        for (const NodeId operand : graph.operands(n)) operands.push_back(hashes[operand]);
        hashes.push_back(std::hash<std::string>()(fmt::format(
            "{} {} {} {} {:x} {} {} {} {} {} {} {} {} {} {} {} {}", static_cast<int>(node.kind), to_text(node.type),
            dims, parameter ? node.name : "", node.bits, node.dim.number(), node.offset, static_cast<int>(node.edge),
            node.map ? node.map->name : "", node.map ? to_text(node.compute) : "", node.reduce ? node.reduce->name : "",
            node.reduce ? to_text(node.accumulator) : "", node.masked, node.argument, node.otherwise.has_value(),
            node.otherwise.value_or(0), operands)));
    }
    std::vector<std::string> lines;
    for (const std::size_t hash : hashes) lines.push_back(fmt::format("node {:x}", hash));
    std::sort(lines.begin(), lines.end());
    for (const Graph::Output& output : graph.outputs()) {
        std::vector<int> dims;
        for (const DimId dim : output.order) dims.push_back(dim.number());
        lines.push_back(fmt::format("{}{} = {:x}", output.name, dims, hashes[output.node]));
    }
    for (const Graph::DimInfo& dim : graph.dims())
        lines.push_back(fmt::format("{} {}", dim.name, dim.extent.value_or(-1)));
    lines.push_back(graph.name());
    return lines;
}

} // namespace gf::test
