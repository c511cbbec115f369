// The text form: golden files, and printing and parsing as inverses of each other.
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <gridfold/ops/expr.hpp>
#include <gridfold/ops/text.hpp>

#include "ops/same_graph.hpp"

namespace gf {
namespace {

void expect_round_trip(const Graph& graph) {
    const std::string text = to_text(graph);
    const Graph parsed = parse(text);
    EXPECT_EQ(to_text(parsed), text);
    EXPECT_EQ(test::meaning(parsed), test::meaning(graph)) << text;
}

TEST(Text, golden_files_print_in_their_canonical_form) {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(GRIDFOLD_GOLDEN_TEXT)) {
        SCOPED_TRACE(entry.path());
        std::stringstream content;
        content << std::ifstream(entry.path()).rdbuf();
        const std::string text = content.str();
        const std::string rule = "=====\n";
        const std::size_t cut = text.find(rule);
        ASSERT_NE(cut, std::string::npos);
        const Graph graph = parse(text.substr(0, cut));
        EXPECT_EQ(to_text(graph) + "\n", text.substr(cut + rule.size()));
        expect_round_trip(graph);
        ++files;
    }
    EXPECT_GE(files, 8);
}

TEST(Text, only_an_order_that_is_not_the_graphs_is_printed) {
    Graph g("f");
    const Dim i = g.dim("i"), j = g.dim("j");
    const Value x = g.input<float>("x", {j, i});
    g.output("a", x, {i, j});
    g.output("b", x, {j, i});
    g.output("c", x);
    EXPECT_EQ(to_text(g), "f([i, j], x: f32[j, i])\n    -> a = x, b[j, i] = x, c = x");
    expect_round_trip(g);
    expect_round_trip(parse("f(x: f32[a, b, c]) -> y[c, a, b] = x + 1, z[b, a] = sum(x over [c])"));
}

TEST(Text, shifts_read_back) {
    for (const DType type : all_dtypes())
        expect_round_trip(parse(fmt::format("f(x: {}[i, j]) -> a = shift(x, j, -3, edge = 1), b = shift(shift(x, i, 1, "
                                            "edge = wrap), j, 2, edge = clamp)",
                                            to_text(type))));
    expect_round_trip(parse("f(x: f32[n], clamp: f32[n], wrap: f32) -> a = shift(x, n, 1, edge = clamp), "
                            "b = shift(clamp, n, -1, edge = wrap), c = shift(x, n, 1, edge = -inf), "
                            "d = shift(x, n, 1, edge = nan)"));
    EXPECT_EQ(to_text(parse("f(x: f32[n]) -> a = shift(x, n, 0, edge = 1)")), "f(x: f32[n])\n    -> a = x");
}

TEST(Text, every_map_of_every_type_reads_back) {
    int typed = 0;
    for (const MapOp* row : all_maps())
        for (const DType type : all_dtypes())
            for (const DType other : all_dtypes()) {
                Graph g;
                const std::vector<Dim> dims{g.dim("n")};
                const Value m = g.input("m", DType::boolean, dims), x = g.input("x", type, dims),
                            y = g.input("y", other, dims);
                std::vector<Operand> operands{x, y, x};
                if (row->rule == TypeRule::select) operands = {m, x, y};
                operands.resize(static_cast<std::size_t>(row->arity), x);
                try {
                    g.output("result", g.map(*row, operands));
                    operands.back() = 1;
                    g.output("literal", g.map(*row, operands));
                } catch (const InvalidGraph&) {
                    if (g.outputs().empty()) {
                        EXPECT_EQ(g.node_count(), 3) << "a refused map added nodes";
                    }
                }
                typed += static_cast<int>(g.outputs().size());
                expect_round_trip(g);
            }
    EXPECT_GT(typed, 10000);
}

TEST(Text, every_reduction_of_every_type_reads_back) {
    int typed = 0;
    for (const ReduceOp* row : all_reductions())
        for (const DType type : all_dtypes())
            for (const auto& [accumulate, argument] :
                 {std::pair(std::optional<DType>(), 0), {DType::f64, 0}, {{}, 3}}) {
                Graph g;
                const std::vector<Dim> dims{g.dim("n")};
                const Value m = g.input("m", DType::boolean, dims);
                std::vector<Value> x;
                for (int i = 0; i < row->monoid->operands; ++i)
                    x.push_back(g.input(fmt::format("x{}", i), i == 0 ? type : DType::f32, dims));
                ReduceOptions options{.accumulate = accumulate};
                (row->argument == ReduceArgument::rank ? options.rank : options.ddof) = argument;
                const int before = g.node_count();
                try {
                    g.output("all", g.reduce(*row, x, options));
                    options.where = m;
                    g.output("masked", g.reduce(*row, x, options));
                    if (row->on_empty == OnEmpty::undefined) {
                        options.otherwise = 1;
                        g.output("otherwise", g.reduce(*row, x, options));
                    }
                } catch (const InvalidGraph&) {
                    EXPECT_EQ(g.node_count(), before) << "a refused reduction added nodes";
                }
                typed += static_cast<int>(g.outputs().size());
                expect_round_trip(g);
            }
    EXPECT_GT(typed, 400);
}

TEST(Text, every_cast_reads_back) {
    for (const DType from : all_dtypes())
        for (const DType to : all_dtypes()) {
            Graph g;
            g.output("y", g.cast(g.input("x", from, std::vector{g.dim("n")}), to));
            expect_round_trip(g);
        }
}

TEST(Text, constants_keep_type_and_bits) {
    Graph g;
    std::vector<std::pair<DType, std::uint64_t>> constants;
    for (const double number : {0.0, -0.0, 1.0, 0.1, 1e16, 1e22, 65504.0, 5.96e-8, 1.17549435e-38, 1.4e-45,
                                3.4028234663852886e38, 5e-324, 1.7976931348623157e308, 123456789.0, 9007199254740993.0})
        for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64})
            for (const double sign : {1.0, -1.0})
                constants.emplace_back(type, g.node(g.constant(sign * number, type).node()).bits);
    for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64})
        for (const double number : {HUGE_VAL, -HUGE_VAL})
            constants.emplace_back(type, g.node(g.constant(number, type).node()).bits);
    std::uint32_t bits = 1; // a walk over floats: every kind of exponent and mantissa
    for (int i = 0; i < 20000; ++i, bits = bits * 1664525u + 1013904223u)
        if (std::isfinite(std::bit_cast<float>(bits))) constants.emplace_back(DType::f32, bits);
    for (const DType type : all_dtypes())
        if (is_integer(type))
            with_type(type, [&, type = type]<class T>(T) {
                if constexpr (std::is_integral_v<T>)
                    for (const T number : {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T(1)})
                        constants.emplace_back(
                            type,
                            static_cast<std::uint64_t>(
                                static_cast<std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, char, T>>>(
                                    number)));
            });
    constants.emplace_back(DType::boolean, 0);
    constants.emplace_back(DType::boolean, 1);
    for (const auto& [type, value] : constants) {
        const std::string written = constant_text(type, value);
        const Graph parsed = parse("f() -> c = " + written);
        EXPECT_EQ(parsed.node(NodeId(0)).type, type) << written;
        EXPECT_EQ(parsed.node(NodeId(0)).bits, value) << written;
    }
}

TEST(Text, nan_reads_back_as_nan) {
    for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
        Graph g;
        const Value nan = g.constant(std::numeric_limits<double>::quiet_NaN(), type);
        EXPECT_EQ(constant_text(type, g.node(nan.node()).bits), std::string(to_text(type)) + "(nan)");
        g.output("c", nan);
        expect_round_trip(g);
    }
}

TEST(Text, literals_take_the_type_of_what_they_meet_after_their_own_arithmetic) {
    const auto constant_of = [](const std::string& expression) {
        const Graph g = parse("f(x: f64[n]) -> y = x * (" + expression + ")");
        return std::bit_cast<double>(g.node(NodeId(1)).bits);
    };
    EXPECT_EQ(constant_of("2 * 3.5"), 7);
    EXPECT_EQ(constant_of("1 / 4"), 0.25);
    EXPECT_EQ(constant_of("7 - 10 - 1"), -4);
    EXPECT_EQ(constant_of("-(2 + 3) * -4"), 20);
    EXPECT_EQ(constant_of("0xff + .5e1"), 260);
    EXPECT_EQ(constant_of("0X1f + 0xAf"), 206);
    EXPECT_EQ(constant_of("1.e2"), 100);
    EXPECT_EQ(constant_of("9223372036854775807 + 1"), 0x1p63);
    const Graph g = parse("f() -> y = i64(-9223372036854775808)");
    EXPECT_EQ(g.node(NodeId(0)).bits, std::uint64_t{1} << 63);
}

TEST(Text, names_of_values_are_kept_and_others_are_numbered_around_them) {
    Graph g("names");
    const Value x = g.input<float>("v1", {g.dim("n")});
    const Value y = g.let("sum", x + x); // functions' names are free: a call has parentheses
    g.output("a", (y * y) * x);
    EXPECT_EQ(to_text(g), "names(v1: f32[n])\n"
                          "    let sum = v1 + v1;\n"
                          "    let v0 = sum * sum;\n"
                          "    let v2 = v0 * v1;\n"
                          "    -> a = v2");
    expect_round_trip(g);
}

TEST(Text, a_name_that_a_pass_gave_twice_is_written_once) {
    const Graph g = parse("f(x: f32[n]) let y = x * x; -> a = y");
    Graph doubled = g.like();
    for (const NodeId n : g.nodes()) doubled.append(g.node(n), g.operands(n));
    doubled.append_output("a", doubled.append(g.node(NodeId(1)), g.operands(NodeId(1))));
    expect_round_trip(doubled);
}

TEST(Text, parameters_declared_late_come_first) {
    Graph g;
    const Dim n = g.dim("n");
    const Value y = g.input<float>("x", {n}) * 2;
    g.output("z", y + g.scalar<float>("late"));
    expect_round_trip(g);
    EXPECT_EQ(to_text(g).substr(0, 30), "graph(x: f32[n], late: f32)\n  ");
}

TEST(Text, blanks_and_comments_separate_tokens_and_mean_nothing) {
    const Graph dense = parse("f(x:f32[n])let y=x*x;->a=sum(y where y>1,accumulate=f64)");
    const Graph loose = parse("# a graph\r\n f ( x : f32 [ n ] ) # its input\n\tlet y = x * x ; -> a = sum ( y\n"
                              "where y > 1 , accumulate = f64 ) # the end");
    EXPECT_EQ(to_text(dense), to_text(loose));
}

TEST(Text, parentheses_nest_as_deep_as_the_limit) {
    const std::string deep = std::string(max_text_nesting - 1, '(') + "x" + std::string(max_text_nesting - 1, ')');
    EXPECT_EQ(parse("f(x: f32[n]) -> a = " + deep).node_count(), 1);
}

TEST(Text, long_sums_and_prefixes_are_not_nesting) {
    std::string sum = "x";
    for (int i = 0; i < 20000; ++i) sum += " + x";
    EXPECT_EQ(parse("f(x: f32[n]) -> a = " + sum).node_count(), 20001);
    EXPECT_EQ(parse("f(x: f32[n]) -> a = " + std::string(20000, '-') + "x").node_count(), 20001);
}

} // namespace
} // namespace gf
