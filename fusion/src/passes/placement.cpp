#include "passes/placement.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>

namespace gf::plan {

namespace {

std::size_t at(int number) { return static_cast<std::size_t>(number); }

/// The roots of a sweep's backward slice: its folds, its stores, and the scalar results that it yields.
std::vector<int> roots_of(const Graph& graph, const PlacedSweep& sweep) {
    std::vector<int> roots = sweep.yields;
    for (const PlacedStore& store : sweep.stores) roots.push_back(store.node);
    for (const int reduce : sweep.reduces) {
        roots.push_back(reduce);
        for (const int operand : graph.operands(reduce)) roots.push_back(operand);
    }
    return roots;
}

/// Checks the number of the kernel's parameters: pointers, run-time scalars, extents and strides.
void check_parameters(const Graph& graph, const PlacedSweep& sweep) {
    constexpr int own = 4; // elements, scalars, workspace, host
    int words = own + static_cast<int>(sweep.dims.size()) + static_cast<int>(sweep.stores.size());
    for (const int node : sweep.nodes) words += parameter_words(graph.node(node));
    if (words > max_kernel_words)
        throw InvalidGraph(fmt::format("graph {}", graph.name()),
                           fmt::format("one of its kernels would take {} parameters, but CUDA passes at most {}", words,
                                       max_kernel_words),
                           "bring run-time scalars together in one array with one more dim");
}

void sort_unique(std::vector<int>& numbers) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

} // namespace

bool needs_acceptance(const Node& reduce) { return reduce.masked && reduce.reduce->on_empty == OnEmpty::undefined; }

std::string operation_of(const Node& node) {
    switch (node.kind) {
    case NodeKind::input:
    case NodeKind::scalar: return node.name;
    case NodeKind::constant: return "constant";
    case NodeKind::index: return "index";
    case NodeKind::extent: return "extent";
    case NodeKind::map: return std::string(node.map->name);
    case NodeKind::cast: return std::string(to_text(node.type));
    case NodeKind::reduce: return std::string(node.reduce->name);
    }
    return {};
}

int parameter_words(const Node& node) {
    switch (node.kind) {
    case NodeKind::scalar:
    case NodeKind::extent: return 1;
    case NodeKind::input: return 1 + static_cast<int>(node.dims.size());
    default: return 0;
    }
}

void check_placed_nodes(const Graph& graph, std::size_t nodes) {
    if (nodes > max_placed_nodes)
        throw InvalidGraph(
            fmt::format("graph {}", graph.name()),
            fmt::format("its sweeps recompute more than {} values together", max_placed_nodes),
            "make an elementwise value of a middle stage a result, and go on from it in a graph of its own");
}

std::vector<bool> live_nodes(const Graph& graph) {
    std::vector<bool> live(at(graph.node_count()));
    for (const Graph::Output& output : graph.outputs()) live[at(output.node)] = true;
    for (int node = graph.node_count() - 1; node >= 0; --node) {
        if (!live[at(node)]) continue;
        for (const int operand : graph.operands(node)) live[at(operand)] = true;
    }
    return live;
}

std::vector<int> stages_of(const Graph& graph) {
    std::vector<int> stages(at(graph.node_count()));
    for (int n = 0; n < graph.node_count(); ++n) {
        for (const int operand : graph.operands(n)) stages[at(n)] = std::max(stages[at(n)], stages[at(operand)]);
        if (graph.node(n).kind == NodeKind::reduce) ++stages[at(n)];
    }
    return stages;
}

Placement placement_of(const Graph& graph) {
    Placement placement;
    placement.array_of.assign(at(graph.node_count()), -1);
    placement.made_in.assign(at(graph.node_count()), -1);
    placement.outputs_of.resize(at(graph.node_count()));
    for (int n = 0; n < graph.node_count(); ++n) {
        const Node& node = graph.node(n);
        if (node.kind != NodeKind::input) continue;
        placement.array_of[at(n)] = static_cast<int>(placement.arrays.size());
        placement.arrays.push_back({node.name, node.type, node.dims, ArrayRole::input});
    }
    for (const Graph::Output& output : graph.outputs()) {
        const Node& node = graph.node(output.node);
        placement.outputs_of[at(output.node)].push_back(static_cast<int>(placement.output_array.size()));
        placement.output_array.push_back(node.dims.empty() ? -1 : static_cast<int>(placement.arrays.size()));
        if (!node.dims.empty())
            placement.arrays.push_back({output.name, node.type, domain_of(node), ArrayRole::output});
    }
    return placement;
}

void complete(const Graph& graph, Placement& placement) {
    std::vector<int> seen_by(at(graph.node_count()), -1);
    std::size_t placed_nodes = 0;
    for (int s = 0; s < static_cast<int>(placement.sweeps.size()); ++s) {
        PlacedSweep& sweep = placement.sweeps[at(s)];
        std::vector<int> open = roots_of(graph, sweep);
        while (!open.empty()) {
            const int node = open.back();
            open.pop_back();
            if (std::exchange(seen_by[at(node)], s) == s) continue;
            sweep.nodes.push_back(node);
            if (is_fetched(graph, placement, s, node) || graph.node(node).kind == NodeKind::reduce) continue;
            for (const int operand : graph.operands(node)) open.push_back(operand);
        }
        placed_nodes += sweep.nodes.size();
        check_placed_nodes(graph, placed_nodes);
        check_parameters(graph, sweep);
        std::sort(sweep.nodes.begin(), sweep.nodes.end());
        for (const int node : sweep.nodes) {
            const int maker = placement.made_in[at(node)];
            if (maker < 0 || maker == s) continue;
            sweep.after.push_back(maker);
            if (graph.node(node).dims.empty()) placement.sweeps[at(maker)].yields.push_back(node);
        }
        sort_unique(sweep.after);
    }
    for (PlacedSweep& sweep : placement.sweeps) sort_unique(sweep.yields);
}

std::string to_text(const Graph& graph, const Placement& placement) {
    std::string text;
    auto out = std::back_inserter(text);
    for (std::size_t s = 0; s < placement.sweeps.size(); ++s) {
        const PlacedSweep& sweep = placement.sweeps[s];
        fmt::format_to(out, "sweep {} over [", s);
        for (std::size_t d = 0; d < sweep.dims.size(); ++d)
            fmt::format_to(out, "{}{}", d ? ", " : "", graph.dims()[at(sweep.dims[d])].name);
        fmt::format_to(out, "], stage {}: {} nodes", sweep.stage, sweep.nodes.size());
        for (const int reduce : sweep.reduces)
            fmt::format_to(out, "; folds {} {}", operation_of(graph.node(reduce)), reduce);
        for (const PlacedStore& store : sweep.stores)
            fmt::format_to(out, "; stores {}", placement.arrays[at(store.array)].name);
        for (const int node : sweep.yields) fmt::format_to(out, "; yields {}", node);
        fmt::format_to(out, "\n");
    }
    return text;
}

} // namespace gf::plan
