// Building a graph: dims and broadcasting, types of values, handles, and access for passes.
#include <type_traits>
#include <vector>

#include <boost/graph/topological_sort.hpp>
#include <gtest/gtest.h>

#include <gridfold/core/view.hpp>
#include <gridfold/ops/dag.hpp>
#include <gridfold/ops/expr.hpp>
#include <gridfold/ops/text.hpp>

#include "ops/same_graph.hpp"

namespace gf {
namespace {

std::vector<int> positions(const Value& value) {
    std::vector<int> positions;
    for (const Dim& dim : value.dims()) positions.push_back(dim.id().number());
    return positions;
}

using Positions = std::vector<int>;

TEST(Graph, domain_of_a_map_is_the_union_of_its_operands_in_the_order_of_declaration) {
    Graph g;
    const Dim i = g.dim("i"), j = g.dim("j"), k = g.dim("k");
    const Value a = g.input<float>("a", {k, i}), b = g.input<float>("b", {j}), s = g.scalar<float>("s");
    EXPECT_EQ(positions(a), (Positions{2, 0}));
    EXPECT_EQ(positions(a + 1), (Positions{0, 2}));
    EXPECT_EQ(positions(b * a), (Positions{0, 1, 2}));
    EXPECT_EQ(positions(b + s), (Positions{1}));
    EXPECT_EQ(positions(s + s), (Positions{}));
    EXPECT_EQ(positions(sum(a * b)), (Positions{}));
    EXPECT_EQ(positions(g.index(k)), (Positions{2}));
    EXPECT_EQ(positions(cast<double>(a)), (Positions{0, 2}));
}

TEST(Graph, dims_have_names_and_fixed_extents) {
    Graph g("net");
    g.dim("i");
    const Dim j = g.dim("j", 0);
    EXPECT_EQ(g.name(), "net");
    EXPECT_EQ(j.name(), "j");
    EXPECT_EQ(j, g.dim_at(DimId(1)));
    ASSERT_EQ(g.dims().size(), 2u);
    EXPECT_EQ(g.dims()[0].extent, std::nullopt);
    EXPECT_EQ(g.dims()[1].extent, 0);
    EXPECT_EQ(Dim().name(), "");
    EXPECT_FALSE(Dim().valid());
}

TEST(Graph, an_input_without_dims_is_a_scalar) {
    Graph g;
    EXPECT_EQ(g.node(g.input<float>("a", {}).node()).kind, NodeKind::scalar);
    EXPECT_EQ(g.node(g.scalar("b", DType::i8).node()).kind, NodeKind::scalar);
}

TEST(Graph, operands_of_a_map_have_its_compute_type) {
    Graph g;
    const Dim n = g.dim("n");
    const Value a = g.input<std::int16_t>("a", {n}), b = g.input<float>("b", {n}), m = g.input<bool>("m", {n});
    for (const Value& value : {a + b, a / a, a + 1, 2.5 * a, sqrt(a), a < b, m && b, !a, select(m, a, b), a << 3}) {
        const Node& node = g.node(value.node());
        const std::vector<NodeId> operands = g.operands(value.node());
        for (std::size_t slot = 0; slot < operands.size(); ++slot) {
            const bool chooses = node.map == &map_op::select && slot == 0;
            EXPECT_EQ(g.node(operands[slot]).type, chooses ? DType::boolean : node.compute) << node.map->name;
        }
    }
}

TEST(Graph, types_promote_as_values_show_them) {
    Graph g;
    const Dim n = g.dim("n");
    const Value i = g.input<std::int32_t>("i", {n}), f = g.input<float>("f", {n}), h = g.input<f16>("h", {n});
    EXPECT_EQ((i + f).type(), DType::f64);
    EXPECT_EQ((i / i).type(), DType::f64);
    EXPECT_EQ((f * 2).type(), DType::f32);
    EXPECT_EQ((f * 0.1).type(), DType::f32);
    EXPECT_EQ((i * 0.5).type(), DType::f64);
    EXPECT_EQ((i * true).type(), DType::i32);
    EXPECT_EQ((h + h).type(), DType::f16);
    EXPECT_EQ((i == f).type(), DType::boolean);
    EXPECT_EQ(sum(i).type(), DType::i64);
    EXPECT_EQ(sum(h).type(), DType::f32);
    EXPECT_EQ(min(h).type(), DType::f16);
    EXPECT_EQ(argmax(f).type(), DType::i64);
    EXPECT_EQ(mean(i).type(), DType::f64);
    EXPECT_EQ(mean(f).type(), DType::f32);
    EXPECT_EQ(sum(f, {.accumulate = DType::f64}).type(), DType::f64);
    EXPECT_EQ(any(f).type(), DType::boolean);
    EXPECT_EQ(g.index(n).type(), DType::i64);
}

TEST(Graph, a_literal_becomes_a_constant_of_the_compute_type) {
    Graph g;
    const Value x = g.input<std::int8_t>("x", {g.dim("n")});
    const std::vector<NodeId> operands = g.operands((x - -3).node());
    const Node& constant = g.node(operands[1]);
    EXPECT_EQ(constant.kind, NodeKind::constant);
    EXPECT_EQ(constant.type, DType::i8);
    EXPECT_EQ(constant.bits, 0xfdu);
    EXPECT_EQ(g.node(g.constant(0.5, DType::f32).node()).bits, 0x3f000000u);
}

TEST(Graph, a_cast_to_its_own_type_is_the_value_itself) {
    Graph g;
    const Value x = g.input<float>("x", {g.dim("n")});
    EXPECT_EQ(cast<float>(x).node(), x.node());
    EXPECT_EQ(g.node_count(), 1);
}

TEST(Graph, an_operand_used_twice_is_converted_once_and_has_two_uses) {
    Graph g;
    const Value x = g.input<std::int32_t>("x", {g.dim("n")});
    const Value y = x / x;
    EXPECT_EQ(g.node_count(), 3);
    const NodeId conversion = g.operands(y.node())[0];
    EXPECT_EQ(g.operands(y.node()), (std::vector<NodeId>{conversion, conversion}));
    EXPECT_EQ(g.users(conversion), (std::vector<NodeId>{y.node(), y.node()}));
    EXPECT_EQ(g.users(y.node()), std::vector<NodeId>{});
}

TEST(Graph, operands_keep_their_slots) {
    Graph g;
    const Dim n = g.dim("n");
    const Value a = g.input<float>("a", {n}), b = g.input<float>("b", {n});
    EXPECT_EQ(g.operands((b - a).node()), (std::vector<NodeId>{b.node(), a.node()}));
    EXPECT_EQ(g.operands(clamp(b, a, b).node()), (std::vector<NodeId>{b.node(), a.node(), b.node()}));
    EXPECT_EQ(g.operands(sum(b, {.where = a > b}).node())[0], b.node());
}

TEST(Graph, a_mask_may_have_fewer_dims_than_what_it_masks) {
    Graph g;
    const Dim i = g.dim("i"), j = g.dim("j");
    const Value x = g.input<float>("x", {j, i}), m = g.input<bool>("m", {j}), s = g.scalar<bool>("s");
    EXPECT_TRUE(g.node(sum(x, {.where = m}).node()).masked);
    EXPECT_TRUE(g.node(sum(x, {.where = s}).node()).masked);
    EXPECT_EQ(g.operands(sum(x, {.where = m}).node()), (std::vector<NodeId>{x.node(), m.node()}));
}

TEST(Graph, a_reduction_over_all_dims_by_name_is_a_reduction) {
    Graph g;
    const Dim i = g.dim("i"), j = g.dim("j");
    const Value x = g.input<float>("x", {i, j});
    EXPECT_EQ(positions(sum(x, over(j, i))), Positions{});
    EXPECT_EQ(positions(sum(sum(x))), Positions{}); // of a value without dims: its one element
}

TEST(Graph, a_reduction_over_some_dims_has_the_others_in_the_graphs_order) {
    Graph g;
    const Dim i = g.dim("i"), j = g.dim("j"), k = g.dim("k");
    const Value x = g.input<float>("x", {k, j, i}), m = g.input<bool>("m", {j});
    EXPECT_EQ(positions(sum(x, over(j))), (Positions{0, 2}));
    EXPECT_EQ(positions(sum(x, over(k, i))), (Positions{1}));
    EXPECT_EQ(positions(mean(x, {.where = m, .over = {j}})), (Positions{0, 2}));
    EXPECT_EQ(positions(x - mean(x, over(k))), (Positions{0, 1, 2}));
    EXPECT_EQ(positions(sum(sum(x, over(k)), over(i))), (Positions{1}));
    EXPECT_EQ(positions(sum(sum(x, over(k)))), Positions{});
}

TEST(Graph, handles_survive_a_move_and_belong_to_the_original_after_a_copy) {
    Graph g("first");
    const Dim n = g.dim("n");
    const Value x = g.input<float>("x", {n});
    Graph moved = std::move(g);
    moved.output("y", x + 1);
    EXPECT_EQ(n.name(), "n");
    EXPECT_EQ(x.dag(), &moved.dag());

    Graph copy = moved;
    EXPECT_EQ(test::meaning(copy), test::meaning(moved));
    EXPECT_NE(x.dag(), &copy.dag());
    copy.output("z", copy.value(x.node()) * 2);
    EXPECT_EQ(copy.outputs().size(), 2u);
    EXPECT_EQ(moved.outputs().size(), 1u);

    Graph assigned;
    assigned = copy;
    EXPECT_EQ(test::meaning(assigned), test::meaning(copy));
    assigned = std::move(copy);
    EXPECT_EQ(assigned.outputs().size(), 2u);
}

TEST(Graph, a_pass_rebuilds_it_node_by_node) {
    const Graph g = parse("f(x: f32[i, j = 3], s: f64) let y = x * x; -> a = sum(y where x > 1), b = s + 1");
    Graph rebuilt = g.like();
    EXPECT_EQ(rebuilt.node_count(), 0);
    for (const NodeId n : g.nodes()) EXPECT_EQ(rebuilt.append(g.node(n), g.operands(n)), n);
    for (const Graph::Output& output : g.outputs()) rebuilt.append_output(output.name, output.node);
    EXPECT_EQ(test::meaning(rebuilt), test::meaning(g));
    EXPECT_EQ(to_text(rebuilt), to_text(g));
}

TEST(Graph, boosts_algorithms_walk_it) {
    const Graph g = parse("f(x: f32[n], w: f32[n]) -> a = mean(x * x + w), b = max(w)");
    std::vector<std::size_t> order;
    boost::topological_sort(g.dag(), std::back_inserter(order));
    EXPECT_EQ(order.size(), static_cast<std::size_t>(g.node_count()));
    EXPECT_EQ(boost::num_edges(g.dag()), 6u);
}

TEST(Graph, as_deep_as_it_gets_copies_and_prints) {
    Graph g;
    Value x = g.input<float>("x", {g.dim("n")});
    for (int i = 0; i < 60000; ++i) x = sqrt(x);
    g.output("y", x);
    const Graph copy = g;
    EXPECT_EQ(copy.node_count(), 60001);
    EXPECT_EQ(to_text(copy), to_text(g));
    EXPECT_EQ(test::meaning(parse(to_text(g))), test::meaning(g));
}

TEST(Expressions, spell_every_operator_as_its_map) {
    Graph g;
    const Dim n = g.dim("n");
    const Value a = g.input<std::int32_t>("a", {n}), b = g.input<std::int32_t>("b", {n});
    const auto name = [&](Value value) { return g.node(value.node()).map->name; };
    EXPECT_EQ(name(a + b), "add");
    EXPECT_EQ(name(a - b), "sub");
    EXPECT_EQ(name(a * b), "mul");
    EXPECT_EQ(name(a / b), "divide");
    EXPECT_EQ(name(a % b), "remainder");
    EXPECT_EQ(name(-a), "neg");
    EXPECT_EQ(name(a < b), "less");
    EXPECT_EQ(name(a <= b), "less_equal");
    EXPECT_EQ(name(a > b), "greater");
    EXPECT_EQ(name(a >= b), "greater_equal");
    EXPECT_EQ(name(a == b), "equal");
    EXPECT_EQ(name(a != b), "not_equal");
    EXPECT_EQ(name(a && b), "logical_and");
    EXPECT_EQ(name(a || b), "logical_or");
    EXPECT_EQ(name(!a), "logical_not");
    EXPECT_EQ(name(a & b), "bitwise_and");
    EXPECT_EQ(name(a | b), "bitwise_or");
    EXPECT_EQ(name(a ^ b), "bitwise_xor");
    EXPECT_EQ(name(~a), "bitwise_not");
    EXPECT_EQ(name(a << b), "shift_left");
    EXPECT_EQ(name(a >> b), "shift_right");
    EXPECT_EQ(name(1 - b), "sub");
    EXPECT_EQ(g.operands((1 - b).node())[1], b.node());
}

TEST(Expressions, min_and_max_map_two_operands_and_reduce_one) {
    Graph g;
    const Value x = g.input<float>("x", {g.dim("n")});
    EXPECT_EQ(g.node(min(x, 0).node()).map, &map_op::min);
    EXPECT_EQ(g.node(min(x).node()).reduce, &reduce_op::min);
    EXPECT_EQ(g.node(min(x, {.where = x > 0}).node()).reduce, &reduce_op::min);
    EXPECT_EQ(g.node(max(0, x).node()).map, &map_op::max);
}

template <class A, class B>
concept addable = requires(A a, B b) { a + b; };
template <class A>
concept negatable = requires(A a) { !a; };

TEST(Expressions, leave_other_types_alone) {
    static_assert(addable<Value, Value> && addable<Value, int> && addable<double, Value> && negatable<Value>);
    static_assert(!addable<Value, std::string> && !addable<Value, Dim> && !addable<Dim, Dim> && !addable<Value, int*>);
    static_assert(!negatable<Dim> && !std::is_convertible_v<Value, bool> && !std::is_constructible_v<bool, Value>);
}

} // namespace
} // namespace gf
