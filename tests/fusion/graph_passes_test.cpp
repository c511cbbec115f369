// The passes from graph to graph: the nodes that each rewrites, and those that it must not change.
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/op_macros.hpp>
#include <gridfold/ops/text.hpp>

#include "passes/drop_dead.hpp"
#include "passes/fold_constants.hpp"
#include "passes/lower_shifts.hpp"
#include "passes/share_common.hpp"
#include "passes/simplify.hpp"
#include "plan/verify.hpp"

// A reduction whose result type is not that of its accumulator.
GRIDFOLD_REDUCTION(sum_is_large, "is the sum above 2^24?",
    static constexpr bool associative_and_commutative = true;
    struct State { A sum; };
    GRIDFOLD_FN static State identity() { return {A(0)}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.sum = add(s.sum, convert<A>(x)); }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.sum = add(s.sum, t.sum); }
    GRIDFOLD_FN static bool finalize(const State& s) { return s.sum > A(16777216); })

namespace gf {
namespace {

using namespace plan;

using GraphPass = Graph (*)(const Graph&, const FuseOptions&);

/// The pass, followed by drop_dead, rewrites the outputs `before` to `after`. T is replaced by `type`.
void expect_pass(GraphPass pass, std::string_view type, std::string before, std::string after,
                 FuseOptions options = {}) {
    const auto with_type = [&](std::string text) {
        for (std::size_t at = 0; (at = text.find("T", at)) != std::string::npos; at += type.size())
            text.replace(at, 1, type);
        return text;
    };
    const auto parsed = [&](const std::string& outputs) {
        return parse(with_type("f(x: T[n], y: T[n], a: T, c: bool[n]) -> " + outputs));
    };
    const Graph made = pass(parsed(before), options);
    verify(made);
    EXPECT_EQ(to_text(drop_dead(made, options)), to_text(drop_dead(parsed(after), options))) << before;
}

void expect_untouched(GraphPass pass, std::string_view type, std::string text, FuseOptions options = {}) {
    expect_pass(pass, type, text, text, std::move(options));
}

TEST(DropDead, leaves_out_what_no_output_needs_and_keeps_what_callers_bind) {
    const Graph made =
        drop_dead(parse("f(x: f32[n], unused: f32[m], a: f32) let dead = x * a; let y = x + 1; -> s = sum(y)"), {});
    EXPECT_EQ(to_text(made), to_text(parse("f(x: f32[n], unused: f32[m], a: f32) let y = x + 1; -> s = sum(y)")));
}

TEST(FoldConstants, evaluates_maps_and_casts_of_constants) {
    expect_pass(fold_constants, "i32", "r = x + (i32(2) + i32(3)) * i32(4)", "r = x + i32(20)");
    expect_pass(fold_constants, "f32", "r = sqrt(f32(2)) * x", "r = f32(1.41421356237) * x");
    expect_pass(fold_constants, "f32", "r = select(f32(2) > f32(1), x, y)", "r = select(bool(true), x, y)");
    expect_pass(fold_constants, "i8", "r = x + (i8(127) + i8(1))", "r = x + i8(-128)");
    expect_pass(fold_constants, "f32", "r = x * f32(i32(7))", "r = x * f32(7)");
    expect_pass(fold_constants, "f32", "r = x * f32(f64(0.1))", "r = x * f32(0.1)");
}

TEST(FoldConstants, rounds_to_f16_and_bf16_after_each_operation) {
    // 2048 + 1 is halfway between 2048 and 2050 in f16: it rounds to even.
    expect_pass(fold_constants, "f16", "r = x + (f16(2048) + f16(1))", "r = x + f16(2048)");
    expect_pass(fold_constants, "bf16", "r = x * (bf16(256) + bf16(1))", "r = x * bf16(256)");
    // 1 + 2^-11 + 2^-40 rounds up from f64; through f32 it would be the tie 1 + 2^-11, which rounds down.
    expect_pass(fold_constants, "f16", "r = x * f16(f64(1.00048828125090949470))", "r = x * f16(1.0009765625)");
}

TEST(FoldConstants, keeps_denormals_and_wraps_integers) {
    expect_pass(fold_constants, "f32", "r = x + f32(1e-38) * f32(0.5)", "r = x + f32(5e-39)");
    expect_pass(fold_constants, "i32", "r = x + i32(2147483647) * i32(2)", "r = x + i32(-2)");
}

TEST(FoldConstants, computes_elementary_functions) {
    expect_pass(fold_constants, "f32", "r = x * exp(f32(1))", "r = x * f32(2.7182817)");
    expect_pass(fold_constants, "f64", "r = x * pow(f64(2), f64(0.5))", "r = x * f64(1.414213562373095)");
}

TEST(FoldConstants, leaves_what_depends_on_a_run_time_scalar) {
    expect_untouched(fold_constants, "f32", "r = x * (a + f32(1))");
}

TEST(LowerShifts, leaves_shifts_of_inputs_and_results_only) {
    const Graph made = lower_shifts(
        parse("f(x: f32[i, j], w: f32[j]) let y = x * w + f32(index(i)); let m = sum(y over [j]); "
              "-> a = shift(y, i, -1, edge = 0), b = shift(shift(y, i, 1, edge = wrap), j, 1, edge = clamp), "
              "c = shift(sqrt(m), i, 2, edge = clamp)"),
        {});
    for (const NodeId n : made.nodes()) {
        const Node& node = made.node(n);
        if (node.kind != NodeKind::shift) continue;
        const NodeKind of = made.node(made.operands(n)[0]).kind;
        EXPECT_TRUE(of == NodeKind::input || of == NodeKind::reduce || of == NodeKind::shift);
        EXPECT_NE(node.edge, EdgeKind::value);
    }
}

TEST(LowerShifts, joins_steps_where_one_does_both) {
    const auto shifts = [](std::string_view text) {
        const Graph made = drop_dead(lower_shifts(parse(text), {}), {});
        int count = 0;
        for (const NodeId n : made.nodes()) count += made.node(n).kind == NodeKind::shift;
        return count;
    };
    const auto two = [&](std::string_view inner, std::string_view outer) {
        return shifts(fmt::format("f(x: f32[n]) -> y = shift(shift(x, n, {}), n, {})", inner, outer));
    };
    EXPECT_EQ(two("1, edge = clamp", "2, edge = clamp"), 1);
    EXPECT_EQ(two("-1, edge = 0", "-1, edge = 0"), 1);
    EXPECT_EQ(two("1, edge = wrap", "2, edge = wrap"), 1);
    EXPECT_EQ(two("1, edge = wrap", "-1, edge = wrap"), 0);
    EXPECT_EQ(two("1, edge = clamp", "-1, edge = clamp"), 2);
    EXPECT_EQ(two("1, edge = clamp", "1, edge = wrap"), 2);
    // Each way of reading an input is one shift.
    EXPECT_EQ(shifts("f(x: f32[n]) let d = shift(x, n, 1, edge = clamp); -> a = d * d + shift(x, n, 1, edge = clamp), "
                     "b = shift(shift(x, n, 1, edge = clamp), n, -1, edge = wrap)"),
              2);
}

TEST(LowerShifts, refuses_what_is_shifted_in_too_many_ways) {
    Graph g("knot");
    const Dim n = g.dim("n");
    Value value = g.input<float>("x", {n});
    for (int i = 0; i < 400; ++i) value = shift(value, n, i % 2 == 0 ? 1 : -1, edge::clamp);
    g.output("y", value);
    EXPECT_THROW(lower_shifts(g, {}), InvalidGraph);
}

TEST(LowerShifts, of_a_deep_graph_takes_no_deep_stack) {
    Graph g("deep");
    const Dim n = g.dim("n");
    Value value = g.input<float>("x", {n});
    for (int i = 0; i < 50'000; ++i) value = sqrt(value);
    g.output("y", shift(value, n, 1, edge::clamp));
    EXPECT_GT(lower_shifts(g, {}).node_count(), 100'000);
}

TEST(ShareCommon, makes_equal_values_one) {
    const Graph made =
        share_common(parse("f(x: f32[n], y: f32[n]) -> r = (x - y) * (x - y), s = sum(x), t = sum(x)"), {});
    EXPECT_EQ(made.node_count(), 2 + 1 + 1 + 1);
    EXPECT_EQ(made.outputs()[1].node, made.outputs()[2].node);
}

TEST(ShareCommon, takes_operands_of_commutative_rows_in_either_order) {
    EXPECT_EQ(share_common(parse("f(x: f32[n], y: f32[n]) -> r = x * y, s = y * x"), {}).node_count(), 3);
    EXPECT_EQ(share_common(parse("f(x: f32[n], y: f32[n]) -> r = x - y, s = y - x"), {}).node_count(), 4);
}

TEST(ShareCommon, keeps_apart_what_differs_in_one_attribute) {
    const auto nodes = [](std::string_view text) { return share_common(parse(text), {}).node_count(); };
    EXPECT_EQ(nodes("f(x: f32[n]) -> r = variance(x), s = variance(x, ddof = 1)"), 3);
    EXPECT_EQ(nodes("f(x: i32[n], m: bool[n]) -> r = min(x where m, otherwise = 1), s = min(x where m, otherwise = 2)"),
              4);
    EXPECT_EQ(nodes("f(x: f32[n]) -> r = sum(x), s = sum(x, accumulate = f64)"), 3);
    EXPECT_EQ(nodes("f(x: f32[n]) -> r = sum_is_large(x), s = sum_is_large(x, accumulate = f64)"), 3);
    EXPECT_EQ(nodes("f(x: f32[n], c: bool[n]) -> r = sum(x), s = sum(x where c)"), 4);
    EXPECT_EQ(nodes("f(x: i32[n]) -> r = f32(x), s = f64(x)"), 3);
    EXPECT_EQ(nodes("f(x: f32[n]) -> r = x + f32(0.0), s = x + f32(-0.0)"), 5);
    EXPECT_EQ(nodes("f(x: f32[n, m]) -> r = x * f32(index(n)), s = x * f32(index(m))"), 1 + 2 + 2 + 2);
}

TEST(Simplify, drops_identity_elements_of_integers) {
    for (const char* text : {"x + T(0)", "T(0) + x", "x - T(0)", "x * T(1)", "T(1) * x", "floor_div(x, T(1))",
                             "x | T(0)", "x ^ T(0)", "x & T(-1)", "x << T(0)", "x >> T(0)"})
        expect_pass(simplify, "i32", std::string("r = ") + text, "r = x");
    expect_pass(simplify, "u8", "r = x & T(255)", "r = x");
    expect_untouched(simplify, "i32", "r = T(0) - x");
    expect_untouched(simplify, "i32", "r = floor_div(T(1), x)");
    expect_untouched(simplify, "i32", "r = T(0) << x");
}

TEST(Simplify, drops_only_those_identity_elements_of_floats_that_keep_every_bit) {
    for (const char* type : {"f16", "bf16", "f32", "f64"}) {
        for (const char* text : {"x * T(1)", "x / T(1)", "x - T(0.0)", "x + T(-0.0)"})
            expect_pass(simplify, type, std::string("r = ") + text, "r = x");
        expect_untouched(simplify, type, "r = x + T(0.0)"); // -0 + 0 is +0
        expect_untouched(simplify, type, "r = x - T(-0.0)");
        expect_untouched(simplify, type, "r = x * T(0.0)");
        expect_untouched(simplify, type, "r = x - x");
        expect_untouched(simplify, type, "r = floor_div(x, T(1))");
    }
    FuseOptions fast;
    fast.fast_math = true;
    expect_pass(simplify, "f32", "r = x + T(0.0)", "r = x", fast);
}

TEST(Simplify, absorbs_where_the_dims_stay) {
    expect_pass(simplify, "i32", "r = a * T(0)", "r = T(0)");
    expect_pass(simplify, "i32", "r = T(0) & a", "r = T(0)");
    expect_pass(simplify, "i32", "r = a | T(-1)", "r = T(-1)");
    expect_untouched(simplify, "i32", "r = x * T(0)"); // a constant has no dims
    expect_untouched(simplify, "f32", "r = a * T(0)"); // NaN, infinity, -0
}

TEST(Simplify, applies_idempotence_and_involution) {
    expect_pass(simplify, "f32", "r = min(x, x)", "r = x");
    expect_pass(simplify, "i32", "r = x & x", "r = x");
    expect_pass(simplify, "f32", "r = abs(abs(x))", "r = abs(x)");
    expect_pass(simplify, "f32", "r = floor(floor(x))", "r = floor(x)");
    expect_pass(simplify, "f32", "r = -(-x)", "r = x");
    expect_pass(simplify, "i32", "r = ~~x", "r = x");
    expect_pass(simplify, "f32", "r = !!(x > y)", "r = x > y");
    expect_untouched(simplify, "f32", "r = abs(floor(x))");
    expect_pass(simplify, "f32", "r = !!x", "r = bool(x)"); // !! gives a bool, not the float
    expect_untouched(simplify, "i32", "r = x + x");
}

TEST(Simplify, decides_selections) {
    expect_pass(simplify, "f32", "r = select(bool(true), x, y)", "r = x");
    expect_pass(simplify, "f32", "r = select(bool(false), x, y)", "r = y");
    expect_pass(simplify, "f32", "r = select(c, x, x)", "r = x");
    expect_untouched(simplify, "f32", "r = select(c, a, a)"); // the result has dim n, a has none
    expect_untouched(simplify, "f32", "r = select(c, x, y)");
}

TEST(Simplify, shortens_casts_that_lose_nothing_on_the_way) {
    expect_pass(simplify, "f32", "r = f32(f64(x))", "r = x");
    expect_pass(simplify, "f16", "r = f64(f32(x))", "r = f64(x)");
    expect_pass(simplify, "i16", "r = i8(i64(x))", "r = i8(x)");
    expect_pass(simplify, "u8", "r = f16(f32(x))", "r = f16(x)");
    expect_pass(simplify, "i8", "r = i64(i32(i16(x)))", "r = i64(x)");
    expect_pass(simplify, "i16", "r = i32(f32(x))", "r = i32(x)");
}

TEST(Simplify, keeps_casts_that_change_values_on_the_way) {
    expect_untouched(simplify, "f64", "r = f64(f32(x))");
    expect_untouched(simplify, "i32", "r = i32(f32(x))");
    expect_untouched(simplify, "i32", "r = i32(u32(x)) + i32(i16(x))");
    expect_untouched(simplify, "i8", "r = u8(f32(x))");    // saturates: -1 becomes 0, not 255
    expect_untouched(simplify, "i32", "r = bf16(f64(x))"); // rounds once; through f32 it would round twice
    expect_untouched(simplify, "u8", "r = bool(i8(x))");
}

TEST(Simplify, drops_a_mask_that_is_true) {
    expect_pass(simplify, "f32", "r = sum(x where bool(true))", "r = sum(x)");
    expect_untouched(simplify, "f32", "r = sum(x where bool(false))");
    expect_untouched(simplify, "f32", "r = sum(x where c)");
    expect_untouched(simplify, "f32", "r = variance(x where bool(true))"); // without a mask it rounds differently
}

TEST(Simplify, keeps_a_permuted_inputs_value) {
    const Graph graph = parse("f([i, j], x: f32[j, i]) -> r = x * 1");
    const Graph made = simplify(graph, {});
    EXPECT_EQ(made.node(made.outputs()[0].node).kind, NodeKind::input);
    EXPECT_EQ(fuse(graph).arrays[1].dims,
              (std::vector{DimId(0), DimId(1)})); // the result is row-major in the graph's order
}

TEST(Pipeline, dumps_each_pass_and_says_where_it_changed_nothing) {
    std::vector<std::string> log;
    FuseOptions options;
    options.dump = [&](std::string_view pass, std::string_view text) {
        log.push_back(std::string(pass) + (text == "unchanged" ? "" : " changed"));
    };
    int timed = 0;
    options.time = [&](std::string_view, std::chrono::nanoseconds) { ++timed; };
    fuse(parse("f(x: f32[n]) -> r = sum(x * 1)"), options);
    EXPECT_EQ(log, (std::vector<std::string>{"lower_shifts", "fold_constants", "share_common", "simplify changed",
                                             "share_common", "drop_dead changed", "place_sweeps changed",
                                             "linearize changed"}));
    EXPECT_EQ(timed, 8);
}

TEST(Pipeline, skips_a_pass_by_name_and_refuses_names_it_does_not_know) {
    FuseOptions options;
    options.skip = {"simplify", "share_common"};
    const Plan plan = fuse(parse("f(x: f32[n]) -> r = sum(x * 1)"), options);
    EXPECT_EQ(plan.sweeps[0].code[2].map, &map_op::mul);
    options.skip = {"linearize"};
    EXPECT_THROW(fuse(parse("f(x: f32[n]) -> r = sum(x)"), options), InvalidOption);
}

TEST(Pipeline, refuses_a_graph_without_outputs) {
    Graph graph("nothing");
    graph.input<float>("x", {graph.dim("n")});
    EXPECT_THROW(fuse(graph), InvalidGraph);
}

} // namespace
} // namespace gf
