// Minimising large random graphs with predicates in the role of bugs; the minimised case still fails.
#include <algorithm>
#include <functional>
#include <vector>

#include <gridfold/ops/text.hpp>
#include <gtest/gtest.h>

#include "generate.hpp"
#include "minimise.hpp"
#include "passes/drop_dead.hpp"

namespace gf::oracle {

using namespace plan;
namespace {

using Fails = std::function<bool(const Case&)>;

bool is_map(const Node& node, const MapOp& row) { return node.kind == NodeKind::map && node.map == &row; }

/// True if some node satisfies `last` and reads, directly or not, a node that satisfies `first`.
bool has_path(const Graph& graph, const std::function<bool(const Node&)>& first,
              const std::function<bool(const Node&)>& last) {
    Table<NodeId, bool> behind;
    bool found = false;
    for (const NodeId n : graph.nodes()) {
        const std::vector<NodeId> operands = graph.operands(n);
        const bool after = std::ranges::any_of(operands, [&](NodeId o) { return behind[o]; });
        found |= after && last(graph.node(n));
        behind.push_back(after || first(graph.node(n)));
    }
    return found;
}

/// Minimises large cases for which `fails` is true.
void expect_small(const Fails& fails, std::int64_t max_elements = 70'000, int most_nodes = 10) {
    constexpr int wanted = 25;
    const GenerateOptions large{.max_elements = max_elements, .max_steps = 120};
    Coverage coverage;
    int made = 0;
    for (std::uint64_t seed = 1; made < wanted && seed < 2'000; ++seed) {
        Case test = oracle::generate(seed, large, coverage);
        test.graph = drop_dead(test.graph, {}); // dead nodes cannot fail
        if (test.graph.node_count() < 60 || !fails(test)) continue;
        ++made;
        int calls = 0;
        const Case small = minimise(test, [&](const Case& c) { return ++calls, fails(c); });
        EXPECT_TRUE(fails(read_case(describe(small)))) << describe(small);
        EXPECT_LE(small.graph.node_count(), most_nodes) << calls << " calls, of " << test.graph.node_count() << "\n"
                                                        << describe(small);
        EXPECT_LE(calls, 3'000);
    }
    EXPECT_EQ(made, wanted);
}

TEST(Minimise, a_map_of_one_type) {
    expect_small([](const Case& test) {
        return has_path(
            test.graph, [](const Node& node) { return node.kind == NodeKind::input; },
            [](const Node& node) { return is_map(node, map_op::remainder) && node.compute == DType::f64; });
    });
}

TEST(Minimise, a_chain_of_sweeps) {
    expect_small(
        [](const Case& test) {
            const auto folds = [](const Node& node) { return node.kind == NodeKind::reduce; };
            const auto masked_fold = [](const Node& node) { return node.kind == NodeKind::reduce && node.masked; };
            return has_path(test.graph, folds, [](const Node& node) { return is_map(node, map_op::select); }) &&
                   has_path(test.graph, folds, masked_fold);
        },
        70'000, 12); // a fold of two operands in the chain keeps both
}

TEST(Minimise, folds_of_several_kinds_side_by_side) {
    expect_small([](const Case& test) {
        bool variance = false, argmin = false, large = false;
        for (const NodeId n : test.graph.nodes()) {
            const Node& node = test.graph.node(n);
            variance |= node.kind == NodeKind::reduce && node.reduce == &reduce_op::variance && node.argument == 2;
            argmin |= node.kind == NodeKind::reduce && node.reduce == &reduce_op::argmin;
            large |= node.kind == NodeKind::input && !test.graph.users(n).empty() && element_count(test, node) > 100;
        }
        return variance && argmin && large;
    });
}

/// The graph with swapped operands of every `sub`, in the role of a faulty library.
Graph swapped(const Graph& graph) {
    Graph result = graph.like();
    for (const NodeId n : graph.nodes()) {
        std::vector<NodeId> operands = graph.operands(n);
        if (is_map(graph.node(n), map_op::sub)) std::ranges::reverse(operands);
        result.append(graph.node(n), operands);
    }
    for (const auto& output : graph.outputs()) result.append_output(output.name, output.node, output.order);
    return result;
}

TEST(Minimise, results_that_differ) {
    expect_small(
        [](const Case& test) {
            const Inputs inputs = inputs_of(test);
            const auto right = evaluate(test.graph, test.extents, inputs);
            const auto wrong = evaluate(swapped(test.graph), test.extents, inputs);
            return !std::ranges::equal(right, wrong, [](const Result& a, const Result& b) {
                return std::ranges::equal(a.elements, b.elements, [&](Bits x, Bits y) { return same(x, y, a.type); });
            });
        },
        100);
}

TEST(Regressions, are_read_as_they_are_written) {
    Coverage coverage;
    for (std::uint64_t seed = 1; seed < 300; ++seed) {
        const Case test = oracle::generate(seed, {}, coverage);
        const std::string text = describe(test);
        const Case again = read_case("# fused: expected 1, got 2\n" + text);
        EXPECT_EQ(describe(again), text);
        EXPECT_EQ(again.extents, test.extents);
        EXPECT_EQ(inputs_of(again), inputs_of(test));
    }
}

TEST(Regressions, are_not_read_from_anything_else) {
    const std::string graph = "g(x: f32[n, m]) -> s = sum(x)\n";
    EXPECT_EQ(read_case("# seed 7, n = 2, m = 3\n" + graph).extents, (std::vector<std::int64_t>{2, 3}));
    for (const char* line : {"", "# seed 7\n", "# seed 7, n = 2\n", "# seed 7, n = 2, m = 3, k = 1\n",
                             "# seed 7, n = 2, m = -3\n", "# seed 7, n = 2, m = 3 and more\n", "# seed\n"})
        EXPECT_ANY_THROW(read_case(line + graph)) << line;
    EXPECT_THROW(read_case("# seed 7, n = 2\ng(x: f32[n]) -> s = sum(y)\n"), InvalidGraph);
}

} // namespace
} // namespace gf::oracle
