// Mistakes in building a graph. Each refusal leaves the graph unchanged.
#include <array>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/ops/batched.hpp>
#include <gridfold/ops/expr.hpp>
#include <gridfold/ops/text.hpp>

#include "error/refusal.hpp"

namespace {

using namespace gf;

class GraphErrors : public testing::Test {
protected:
    template <class Call> void refuse(Call&& call, std::initializer_list<std::string_view> words) {
        const std::string before = to_text(g);
        test::expect_refused<InvalidGraph>(call, words);
        EXPECT_EQ(to_text(g), before);
    }
    Graph g{"table"};
    Dim i = g.dim("i"), j = g.dim("j");
    Value x = g.input<float>("x", {i, j}), w = g.input<float>("w", {j}), k = g.input<std::int8_t>("k", {i}),
          m = g.input<bool>("m", {i});
    Value null;
    Graph other{"other"};
    Dim foreign_dim = other.dim("i");
    Value foreign = other.input<float>("x", {foreign_dim});
};

// ---- batches

TEST_F(GraphErrors, batched_over_a_dim_that_the_graph_has) {
    refuse([&] { batched(g, "i", {"x"}); }, {"batched over 'i'", "graph table has a dim of that name", "another name"});
    refuse([&] { batched(g, "two words", {"x"}); }, {"the dim 'two words'", "a letter or _"});
}
TEST_F(GraphErrors, batched_with_what_is_no_input) {
    refuse(
        [&] {
            batched(g, "b", {"x", "ww"});
        },
        {"batched over 'b' with 'ww' varying", "no input of that name, but x, w, k, m", "'w'"});
    refuse([&] { batched(g, "b", {"i"}); }, {"'i' varying", "name one of its inputs"});
}
TEST_F(GraphErrors, batched_beyond_the_most_dims) {
    const Graph high = parse("f([a, b, c, d, e, f, g, h], x: f32[a, b, c, d, e, f, g, h], s: f32) -> y = x * s");
    refuse([&] { batched(high, "p", {"x"}); },
           {"batched over 'p': x (f32[a, b, c, d, e, f, g, h])", "at most 8 dims", "run_many"});
    refuse([&] { batched(high, "p", {"s"}); }, {"the result of mul", "would have 9"});
}

// ---- names

TEST_F(GraphErrors, graph_with_a_name_that_is_none) {
    refuse([] { Graph("my graph"); }, {"the graph 'my graph'", "a letter or _", "choose"});
}
TEST_F(GraphErrors, name_that_is_empty) {
    refuse([&] { g.dim(""); }, {"the dim ''", "a letter or _"});
}
TEST_F(GraphErrors, name_that_starts_with_a_digit) {
    refuse([&] { g.input<float>("2x", {i}); }, {"the input '2x'", "a letter or _"});
}
TEST_F(GraphErrors, name_with_a_zero_byte) {
    refuse([&] { g.scalar<float>(std::string_view("a\0b", 3)); }, {"the input 'a?b'", "a letter or _"});
}
TEST_F(GraphErrors, names_that_the_text_form_reserves) {
    for (const char* name : {"let", "where", "over", "by", "groups", "inf", "nan", "true", "false"})
        refuse([&] { g.output(name, x); }, {"the output", name, "reserved", "choose another name"});
}
TEST_F(GraphErrors, name_of_an_element_type) {
    refuse([&] { g.scalar<float>("f32"); }, {"the input 'f32'", "element type's", "choose another name"});
}
TEST_F(GraphErrors, dim_declared_twice) {
    refuse([&] { g.dim("i", 3); }, {"the dim 'i'", "once"});
}
TEST_F(GraphErrors, output_with_an_order_that_is_not_its_values) {
    const Dim lonely = g.dim("lonely");
    const Value total = sum(x);
    refuse([&] { g.output("y", x, {j}); },
           {"the output 'y'", "lists no 'i', a dim of x (f32[i, j])", "list each of [i, j] once"});
    refuse([&] { g.output("y", x, {j, i, j}); }, {"the output 'y'", "'j' is there twice", "list each of [i, j] once"});
    refuse(
        [&] {
            g.output("y", w, {j, lonely});
        },
        {"the output 'y'", "lists 'lonely', but w (f32[j]) lacks that dim", "list each of [j] once"});
    refuse([&] { g.output("y", x, {foreign_dim, j}); }, {"the output 'y'", "dims must be of this graph"});
    refuse([&] { g.output("y", x, {Dim(), j}); }, {"the output 'y'", "dims must be of this graph"});
    refuse([&] { g.output("s", total, {i}); },
           {"the output 's'", "for an array, and the result of sum (f32) has no dims", "leave the list of dims out"});
    refuse([&] { g.output_array<double>("y", x, {j, i}); }, {"the output 'y'", "its value is f32"});
}
TEST_F(GraphErrors, shift_that_is_none) {
    const Value total = sum(x);
    refuse([&] { shift(null, i, 1, edge::clamp); }, {"the operand of shift", "default-constructed Value"});
    refuse([&] { shift(w, i, 1, edge::clamp); },
           {"shift along 'i'", "w (f32[j]) does not have that dim", "shift along one of its dims"});
    refuse([&] { shift(total, i, 1, edge::clamp); }, {"does not have that dim", "shift an array"});
    refuse([&] { shift(x, foreign_dim, 1, edge::clamp); }, {"shift along 'i'", "must be of the value's graph"});
    refuse([&] { shift(x, Dim(), 1, edge::clamp); }, {"must be of the value's graph"});
    refuse([&] { g.shift(foreign, foreign_dim, 1, edge::clamp); }, {"a value of another graph", "in its own graph"});
    refuse([&] { shift(x, j, max_shift + 1, edge::wrap); }, {"shift along 'j'", "at most 2^48 either way"});
    refuse([&] { shift(x, j, std::numeric_limits<std::int64_t>::min(), edge::wrap); }, {"at most 2^48 either way"});
    refuse([&] { shift(k, i, 1, edge::value(300)); },
           {"shift along 'i' with edge = 300", "i8", "choose a number of i8, or cast the value first"});
    refuse([&] { shift(k, i, 0, edge::value(0.5)); }, {"shift along 'i' with edge = 0.5"});
}
TEST_F(GraphErrors, input_declared_twice) {
    refuse([&] { g.input<float>("x", {i}); }, {"the input 'x'", "another value", "choose another name"});
}
TEST_F(GraphErrors, output_named_twice) {
    g.output("y", x);
    refuse([&] { g.output("y", w); }, {"the output 'y'", "another output", "choose another name"});
}
TEST_F(GraphErrors, output_with_the_name_of_an_input) {
    refuse([&] { g.output("w", x); }, {"the output 'w'", "an input has that name", "choose another name"});
}
TEST_F(GraphErrors, input_with_the_name_of_an_output) {
    g.output("y", x);
    refuse([&] { g.scalar<float>("y"); }, {"the input 'y'", "an output has that name", "choose another name"});
}
TEST_F(GraphErrors, value_named_twice) {
    const Value y = g.let("y", x + 1);
    refuse([&] { g.let("z", y); }, {"the value 'z'", "already has the name 'y'"});
}
TEST_F(GraphErrors, value_with_the_name_of_another) {
    const Value y = x + 1;
    refuse([&] { g.let("x", y); }, {"the value 'x'", "another value", "choose another name"});
}

// ---- dims

TEST_F(GraphErrors, dim_of_negative_extent) {
    refuse([&] { g.dim("n", -1); }, {"the dim 'n'", "not negative", "-1"});
}
TEST_F(GraphErrors, input_over_a_dim_of_another_graph) {
    refuse([&] { g.input<float>("y", {foreign_dim}); }, {"the input 'y'", "of this graph", "declare"});
}
TEST_F(GraphErrors, input_over_no_dim) {
    refuse([&] { g.input<float>("y", {Dim()}); }, {"the input 'y'", "of this graph", "declare"});
}
TEST_F(GraphErrors, input_over_a_dim_twice) {
    refuse([&] { g.input<float>("y", {i, i}); }, {"the input 'y'", "'i' is there twice"});
}
TEST_F(GraphErrors, input_of_too_many_dims) {
    std::vector<Dim> dims;
    for (const char* name : {"a", "b", "c", "d", "e", "f", "h", "n", "o"}) dims.push_back(g.dim(name));
    refuse([&] { g.input("y", DType::f32, dims); }, {"the input 'y'", "at most 8 dims", "9"});
}
TEST_F(GraphErrors, domain_of_too_many_dims) {
    std::vector<Dim> dims;
    for (const char* name : {"a", "b", "c", "d", "e", "f", "h", "n"}) dims.push_back(g.dim(name));
    const Value y = g.input("y", DType::f32, dims);
    refuse([&] { y + k; }, {"the result of add", "at most 8 dims", "9"});
}
TEST_F(GraphErrors, index_along_a_dim_of_another_graph) {
    refuse([&] { g.index(foreign_dim); }, {"index(i)", "of this graph"});
    refuse([&] { g.extent(foreign_dim); }, {"extent(i)", "of this graph"});
    refuse([&] { g.extent(Dim()); }, {"the extent of a default-constructed Dim", "of this graph"});
}

// ---- values

TEST_F(GraphErrors, null_value_in_a_map) {
    refuse([&] { x + null; }, {"operand 2 of add", "default-constructed", "assign"});
}
TEST_F(GraphErrors, null_value_in_a_cast) {
    refuse([&] { cast<double>(null); }, {"default-constructed", "assign"});
}
TEST_F(GraphErrors, null_value_in_a_reduction) {
    refuse([&] { sum(null); }, {"the operand of sum", "default-constructed", "assign"});
}
TEST_F(GraphErrors, null_value_as_a_mask) {
    refuse([&] { sum(x, {.where = null}); }, {"the mask of sum", "default-constructed", "assign"});
}
TEST_F(GraphErrors, null_value_as_an_output) {
    refuse([&] { g.output("y", null); }, {"the output 'y'", "no value"});
}
TEST_F(GraphErrors, type_of_a_null_value) {
    refuse([&] { (void)null.type(); }, {"default-constructed"});
    refuse([&] { (void)null.dims(); }, {"default-constructed"});
}
TEST_F(GraphErrors, map_of_values_of_two_graphs) {
    refuse([&] { x* foreign; }, {"operand 2 of mul", "of one graph", "another"});
}
TEST_F(GraphErrors, map_asked_of_the_wrong_graph) {
    const Operand operands[] = {foreign, 1};
    refuse([&] { g.map(map_op::add, operands); }, {"operand of add", "another graph"});
}
TEST_F(GraphErrors, mask_of_another_graph) {
    refuse([&] { sum(x, {.where = foreign > 0}); }, {"the mask of sum", "another"});
}
TEST_F(GraphErrors, output_of_another_graph) {
    refuse([&] { g.output("y", foreign); }, {"the output 'y'", "another"});
}
TEST_F(GraphErrors, map_of_numbers_alone) {
    const Operand operands[] = {1, 2};
    refuse([&] { g.map(map_op::add, operands); }, {"add", "at least one operand", "a type"});
}
TEST_F(GraphErrors, map_of_too_few_operands) {
    const Operand operands[] = {x};
    refuse([&] { g.map(map_op::add, operands); }, {"add", "takes 2 operands", "got 1"});
}

// ---- types

TEST_F(GraphErrors, literal_that_does_not_fit) {
    refuse([&] { k + 300; }, {"add(i8, 300)", "-128 to 127", "cast"});
}
TEST_F(GraphErrors, constant_that_does_not_fit) {
    refuse([&] { g.constant(-1, DType::u8); }, {"-1", "0 to 255"});
    refuse([&] { g.constant(2.5, DType::i32); }, {"2.5"});
}
TEST_F(GraphErrors, bits_of_floats) {
    refuse([&] { x & 1; }, {"bitwise_and", "integers", "f32", "cast"});
}
TEST_F(GraphErrors, shift_of_floats) {
    refuse([&] { x << 1; }, {"shift_left", "integers", "cast"});
}
TEST_F(GraphErrors, bool_where_a_number_is_due) {
    refuse([&] { -m; },
           {"neg(bool): it takes numbers, and the operand is bool", "i32(x)", "gf::cast(x, gf::DType::i32)"});
}
TEST_F(GraphErrors, choosing_by_a_number) {
    refuse([&] { select(x, w, w); }, {"select", "first operand is bool", "compare"});
}

// ---- reductions

TEST_F(GraphErrors, mask_that_is_not_bool) {
    refuse([&] { sum(x, {.where = k}); }, {"the mask of sum, k (i8[i])", "bool", "compare"});
}
TEST_F(GraphErrors, mask_with_a_dim_that_its_operand_lacks) {
    refuse([&] { sum(w, {.where = m}); },
           {"the mask of sum, m (bool[i])", "its dims must be among those of its operand, w (f32[j])",
            "select(mask, x, x)"});
}
TEST_F(GraphErrors, otherwise_without_a_mask) {
    refuse([&] { max(x, {.otherwise = 0}); }, {"max with otherwise = 0", "there is no mask", "add the mask"});
}
TEST_F(GraphErrors, otherwise_for_a_reduction_that_has_a_result_over_nothing) {
    refuse([&] { sum(x, {.where = m, .otherwise = 0}); },
           {"sum with otherwise = 0", "sum has a result", "leave it out"});
}
TEST_F(GraphErrors, otherwise_that_the_result_does_not_hold) {
    refuse([&] { argmin(x, {.where = m, .over = {i}, .otherwise = 0.5}); },
           {"argmin with otherwise = 0.5", "its result is i64", "whole numbers", "cast the operand first"});
    const Value positive = k > 0;
    refuse([&] { min(k, {.where = positive, .otherwise = 300}); }, {"its result is i8", "-128 to 127"});
}
TEST_F(GraphErrors, folding_a_dim_that_the_value_lacks) {
    refuse([&] { sum(w, over(i)); }, {"sum over 'i'", "w (f32[j])"});
}
TEST_F(GraphErrors, folding_a_dim_twice) {
    refuse([&] { sum(x, over(i, i)); }, {"sum over 'i'", "once"});
}
TEST_F(GraphErrors, folding_a_dim_of_another_graph) {
    refuse([&] { sum(x, over(foreign_dim)); }, {"sum over 'i'", "the value's graph"});
}
TEST_F(GraphErrors, grouping) {
    refuse([&] { sum(k, {.by = k, .groups = 3}); }, {"sum of k (i8[i])", "grouped reductions are not supported yet"});
    refuse([&] { sum(k, {.groups = 3}); }, {"grouped reductions are not supported yet"});
}
TEST_F(GraphErrors, handles_of_nodes_and_dims_that_are_not_there) {
    refuse([&] { g.value(gf::NodeId(999)); }, {"no node 999", "numbered from 0"});
    refuse([&] { g.value(gf::NodeId(-1)); }, {"no node -1"});
    refuse([&] { static_cast<void>(g.dim_at(gf::DimId(99))); }, {"no dim 99", "numbered from 0"});
}
TEST_F(GraphErrors, negative_ddof) {
    refuse([&] { variance(x, {.ddof = -1}); }, {"variance with ddof -1", "not negative"});
}
TEST_F(GraphErrors, ddof_of_a_sum) {
    refuse([&] { sum(x, {.ddof = 1}); }, {"sum with ddof 1", "only variance, stddev and covariance"});
}
TEST_F(GraphErrors, accumulator_that_a_reduction_does_not_take) {
    refuse([&] { sum(x, {.accumulate = DType::boolean}); }, {"sum", "bool"});
    refuse([&] { min(x, {.accumulate = DType::f64}); }, {"min", "f64"});
}

TEST_F(GraphErrors, moved_from_graph) {
    Graph taken = std::move(other);
    EXPECT_EQ((foreign + 1).dag(), &taken.dag()) << "handles stay those of the graph that was moved";
    test::expect_refused<InvalidGraph>([&] { other.dim("n"); }, {"a moved-from Graph", "it was moved to"});
    test::expect_refused<InvalidGraph>([&] { other.output("y", foreign); }, {"a moved-from Graph"});
    test::expect_refused<InvalidGraph>([&] { other.map(map_op::neg, std::array{Operand(foreign)}); }, {"a moved-from"});
    test::expect_refused<InvalidGraph>([&] { static_cast<void>(Graph(other)); }, {"a moved-from Graph"});
    test::expect_refused<InvalidGraph>([&] { to_text(other); }, {"a moved-from Graph"});
    other = taken;
    EXPECT_EQ(to_text(other), to_text(taken));
}

TEST_F(GraphErrors, values_of_another_graph) {
    refuse([&] { g.map(map_op::neg, std::array{Operand(foreign)}); }, {"x (f32[i])", "another graph", "one graph"});
    refuse([&] { g.cast(foreign, DType::f64); }, {"x (f32[i])", "another graph", "its own graph"});
    refuse([&] { g.reduce(reduce_op::sum, foreign); }, {"x (f32[i])", "another graph", "its own graph"});
}
TEST_F(GraphErrors, operands_without_a_name_are_described) {
    const Value cast = g.cast(x, DType::f64), index = g.index(i), one = g.constant(Literal(1), DType::f32);
    refuse([&] { x + g.cast(foreign, DType::f64); }, {"another graph"});
    refuse([&] { sum(x, {.where = cast}); }, {"the result of a cast (f64[i, j])"});
    refuse([&] { sum(x, {.where = index}); }, {"index(i) (i64[i])"});
    refuse([&] { sum(x, {.where = one}); }, {"a constant (f32)"});
}

} // namespace
