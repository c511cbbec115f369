// See batch.hpp.
#include "batch.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <gridfold/core/view.hpp>
#include <gridfold/ops/batched.hpp>

namespace gf::oracle {

namespace {

bool has_most_dims(const Graph& graph) {
    return std::ranges::any_of(
        graph.nodes(), [&](NodeId n) { return graph.node(n).dims.size() == static_cast<std::size_t>(max_rank); });
}

} // namespace

std::optional<Batch> batch_of(const Case& test, std::int64_t count) {
    if (has_most_dims(test.graph)) return {};
    Random random(test.seed + 1);
    std::vector<std::string> inputs, varying;
    for (const NodeId n : test.graph.nodes()) {
        const Node& node = test.graph.node(n);
        if (node.kind == NodeKind::input || node.kind == NodeKind::scalar) inputs.push_back(node.name);
    }
    for (const std::string& name : inputs)
        if (random.chance(0.6)) varying.push_back(name);
    if (varying.empty()) varying.push_back(inputs[random.below(inputs.size())]);
    Batch batch{{test.seed, batched(test.graph, "batch", varying), {count}}, varying};
    std::ranges::copy(test.extents, std::back_inserter(batch.test.extents));
    batch.test.extents.resize(batch.test.graph.dims().size(), 1); // and a dim for what folds a value without dims
    return batch;
}

Inputs inputs_of_problem(const Case& test, const Batch& batch, std::int64_t i) {
    Inputs inputs = inputs_of(test);
    for (const NodeId n : test.graph.nodes()) {
        const Node& node = test.graph.node(n);
        if (std::ranges::find(batch.varying, node.name) == batch.varying.end()) continue;
        if (node.kind == NodeKind::input || node.kind == NodeKind::scalar)
            inputs[node.name] = random_elements(test.seed + 1000 + static_cast<std::uint64_t>(i), node.name, node.type,
                                                static_cast<std::size_t>(element_count(test, node)));
    }
    return inputs;
}

Inputs stacked(const Case& test, const Batch& batch) {
    Inputs inputs = inputs_of(test);
    for (const std::string& name : batch.varying) inputs[name].clear();
    for (std::int64_t i = 0; i < batch.test.extents[0]; ++i) {
        const Inputs problem = inputs_of_problem(test, batch, i);
        for (const std::string& name : batch.varying)
            std::ranges::copy(problem.at(name), std::back_inserter(inputs[name]));
    }
    return inputs;
}

std::vector<Result> results_of_problem(const Graph& graph, const std::vector<Result>& of_batch, std::int64_t i,
                                       std::int64_t count) {
    std::vector<Result> results;
    for (std::size_t o = 0; o < of_batch.size(); ++o) {
        const Result& all = of_batch[o];
        Result one{all.name, all.type, !graph.node(graph.outputs()[o].node).dims.empty(), false, {}};
        const std::size_t each = all.elements.size() / static_cast<std::size_t>(count),
                          first = each * static_cast<std::size_t>(i);
        for (std::size_t k = first; k < first + each; ++k) {
            one.elements.push_back(all.elements[k]);
            if (!all.valid.empty()) one.valid.push_back(all.valid[k]);
        }
        if (!one.is_array) {
            one.empty = !one.valid.empty() && !one.valid[0];
            one.valid.clear();
        }
        results.push_back(std::move(one));
    }
    return results;
}

} // namespace gf::oracle
