#include "passes/placement.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>

#include "plan/format_id.hpp"

namespace gf::plan {

namespace {

/// The roots of a sweep's backward slice: its folds, its stores, and the scalar results that it yields.
std::vector<NodeId> roots_of(const Graph& graph, const PlacedSweep& sweep) {
    std::vector<NodeId> roots = sweep.yields;
    for (const PlacedStore& store : sweep.stores) roots.push_back(store.node);
    for (const NodeId reduce : sweep.reduces) {
        roots.push_back(reduce);
        for (const NodeId operand : graph.operands(reduce)) roots.push_back(operand);
    }
    return roots;
}

/// Checks the number of the kernel's parameters: pointers, run-time scalars, extents and strides.
void check_parameters(const Graph& graph, const Placement& placement, const PlacedSweep& sweep) {
    constexpr int own = 4; // elements, scalars, workspace, host
    int words = own + static_cast<int>(sweep.dims.size()) + static_cast<int>(sweep.stores.size());
    for (const PlacedStore& store : sweep.stores) words += stride_words(placement.arrays[store.array]);
    for (const NodeId node : sweep.nodes) words += parameter_words(graph.node(node));
    if (words > max_kernel_words)
        throw InvalidGraph(fmt::format("graph {}", graph.name()),
                           fmt::format("one of its kernels would take {} parameters, but CUDA passes at most {}", words,
                                       max_kernel_words),
                           "bring run-time scalars together in one array with one more dim");
}

template <class I> void sort_unique(std::vector<I>& numbers) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

} // namespace

std::string operation_of(const Node& node) {
    switch (node.kind) {
    case NodeKind::input:
    case NodeKind::scalar: return node.name;
    case NodeKind::constant: return "constant";
    case NodeKind::index: return "index";
    case NodeKind::extent: return "extent";
    case NodeKind::map: return std::string(node.map->name);
    case NodeKind::cast: return std::string(to_text(node.type));
    case NodeKind::shift: return "shift";
    case NodeKind::reduce: return std::string(node.reduce->name);
    }
    return {};
}

int arrays_of_results(const Node& reduce) {
    if (reduce.dims.empty()) return 0;
    return result_may_be_empty(reduce) ? 2 : 1;
}

int parameter_words(const Node& node) {
    switch (node.kind) {
    case NodeKind::scalar:
    case NodeKind::extent: return 1;
    case NodeKind::input: return 1 + static_cast<int>(node.dims.size());
    case NodeKind::reduce: return arrays_of_results(node) * (1 + static_cast<int>(node.dims.size()));
    default: return 0;
    }
}

int stride_words(const Array& stored) {
    return std::is_sorted(stored.dims.begin(), stored.dims.end()) ? 0 : 2 * static_cast<int>(stored.dims.size());
}

void check_placed_nodes(const Graph& graph, std::size_t nodes) {
    if (nodes > max_placed_nodes)
        throw InvalidGraph(
            fmt::format("graph {}", graph.name()),
            fmt::format("its sweeps recompute more than {} values together", max_placed_nodes),
            "make an elementwise value of a middle stage a result, and go on from it in a graph of its own");
}

void store_value(const Graph& graph, Placement& placement, NodeId node, PlacedSweep& sweep) {
    const std::vector<std::size_t>& outputs = placement.outputs_of[node];
    // Stores in the arrays that the outputs have, or in a temporary; returns the first.
    const auto store = [&](const std::vector<ArrayId>& output_arrays, bool of_validity, DType type) {
        const std::size_t first = sweep.stores.size();
        for (const std::size_t output : outputs)
            if (output_arrays[output].valid()) sweep.stores.push_back({node, output_arrays[output], of_validity});
        if (sweep.stores.size() == first) {
            const ArrayId temporary = placement.arrays.add({fmt::format("t{}{}", node, of_validity ? ".valid" : ""),
                                                            type, domain_of(graph.node(node)), ArrayRole::temporary});
            sweep.stores.push_back({node, temporary, of_validity});
        }
        return sweep.stores[first].array;
    };
    placement.array_of[node] = store(placement.output_array, false, graph.node(node).type);
    if (placement.may_be_empty[node])
        placement.validity_of[node] = store(placement.output_validity, true, DType::boolean);
}

Table<NodeId, bool> live_nodes(const Graph& graph) {
    Table<NodeId, bool> live(static_cast<std::size_t>(graph.node_count()));
    for (const Graph::Output& output : graph.outputs()) live[output.node] = true;
    for (int number = graph.node_count() - 1; number >= 0; --number) {
        const NodeId node(number);
        if (!live[node]) continue;
        for (const NodeId operand : graph.operands(node)) live[operand] = true;
    }
    return live;
}

Table<NodeId, int> stages_of(const Graph& graph) {
    Table<NodeId, int> stages(static_cast<std::size_t>(graph.node_count()));
    for (const NodeId n : graph.nodes()) {
        for (const NodeId operand : graph.operands(n))
            stages[n] = std::max(stages[n], stages[operand]); // defect: stage
        if (graph.node(n).kind == NodeKind::reduce) ++stages[n];
    }
    return stages;
}

Placement placement_of(const Graph& graph) {
    Placement placement;
    const auto nodes = static_cast<std::size_t>(graph.node_count());
    placement.may_be_empty = may_be_empty(graph);
    placement.array_of.resize(nodes);
    placement.validity_of.resize(nodes);
    placement.made_in.resize(nodes);
    placement.outputs_of.resize(nodes);
    for (const NodeId n : graph.nodes()) {
        const Node& node = graph.node(n);
        if (node.kind != NodeKind::input) continue;
        placement.array_of[n] = placement.arrays.add({node.name, node.type, node.dims, ArrayRole::input});
    }
    for (const Graph::Output& output : graph.outputs()) {
        const Node& node = graph.node(output.node);
        placement.outputs_of[output.node].push_back(placement.output_array.size());
        // Not one conditional expression: gcc 12 destroys that one's temporary twice if an allocation fails.
        ArrayId array, validity;
        if (!node.dims.empty()) {
            array = placement.arrays.add({output.name, node.type, graph.dims_of(output), ArrayRole::output});
            if (placement.may_be_empty[output.node] && !is_floating(node.type))
                validity = placement.arrays.add(
                    {output.name + ".valid", DType::boolean, graph.dims_of(output), ArrayRole::output});
        }
        placement.output_array.push_back(array);
        placement.output_validity.push_back(validity);
    }
    return placement;
}

void complete(const Graph& graph, Placement& placement) {
    Table<NodeId, SweepId> seen_by(static_cast<std::size_t>(graph.node_count()));
    std::size_t placed_nodes = 0;
    for (const SweepId s : placement.sweeps.ids()) {
        PlacedSweep& sweep = placement.sweeps[s];
        std::vector<NodeId> open = roots_of(graph, sweep);
        while (!open.empty()) {
            const NodeId node = open.back();
            open.pop_back();
            if (std::exchange(seen_by[node], s) == s) continue;
            sweep.nodes.push_back(node);
            if (is_fetched(graph, placement, s, node) || graph.node(node).kind == NodeKind::reduce) continue;
            for (const NodeId operand : graph.operands(node)) open.push_back(operand);
        }
        placed_nodes += sweep.nodes.size();
        check_placed_nodes(graph, placed_nodes);
        std::sort(sweep.nodes.begin(), sweep.nodes.end());
        for (const NodeId node : sweep.nodes) {
            const SweepId maker = placement.made_in[node];
            if (!maker.valid() || maker == s) continue;
            sweep.after.push_back(maker); // defect: after
            if (graph.node(node).dims.empty())
                placement.sweeps[maker].yields.push_back(node);
            else if (!placement.array_of[node].valid())
                store_value(graph, placement, node, placement.sweeps[maker]); // defect: fetched results
        }
        sort_unique(sweep.after);
    }
    for (PlacedSweep& sweep : placement.sweeps) {
        sort_unique(sweep.yields);
        check_parameters(graph, placement, sweep);
    }
}

std::string to_text(const Graph& graph, const Placement& placement) {
    std::string text;
    auto out = std::back_inserter(text);
    for (std::size_t s = 0; s < placement.sweeps.size(); ++s) {
        const PlacedSweep& sweep = placement.sweeps[s];
        fmt::format_to(out, "sweep {} over [", s);
        for (std::size_t d = 0; d < sweep.dims.size(); ++d)
            fmt::format_to(out, "{}{}", d ? ", " : "", graph.dims()[sweep.dims[d]].name);
        fmt::format_to(out, "], stage {}: {} nodes", sweep.stage, sweep.nodes.size());
        for (const NodeId reduce : sweep.reduces)
            fmt::format_to(out, "; folds {} {}", operation_of(graph.node(reduce)), reduce);
        for (const PlacedStore& store : sweep.stores)
            fmt::format_to(out, "; stores {}", placement.arrays[store.array].name);
        for (const NodeId node : sweep.yields) fmt::format_to(out, "; yields {}", node);
        fmt::format_to(out, "\n");
    }
    return text;
}

} // namespace gf::plan
