// Mistakes in a graph's text: each message gives the place and the expected form.
#include <string>

#include <gtest/gtest.h>

#include <gridfold/ops/text.hpp>

#include "error/refusal.hpp"

namespace {

void refuse(std::string_view text, std::initializer_list<std::string_view> words) {
    gf::test::expect_refused<gf::InvalidGraph>([&] { gf::parse(text); }, words);
}

TEST(TextErrors, say_line_and_column_and_show_the_place) {
    refuse("f(x: f32[n])\n\tlet y = x;\n  -> a = y + z",
           {"3:14: 'z' is not a value here", "\n      -> a = y + z\n                 ^"});
}
TEST(TextErrors, an_output_that_another_reads) {
    refuse("f(x: f32[n]) -> y = x * 2, s = sum(y)",
           {"1:36: 'y' is an output, which no expression reads", "write 'let y = …;' before '->'", "'y = y'"});
    EXPECT_NO_THROW(gf::parse("f(x: f32[n]) let y = x * 2; -> y = y, s = sum(y)"));
}
TEST(TextErrors, empty_text) { refuse("", {"1:1: ", "the graph's name was expected", "the text ends"}); }
TEST(TextErrors, an_expression_without_its_graph) {
    for (const char* text : {"sum(x*x*x)", "s = sum(x*x*x)", "sum(x)", "(x + 1)", "-x", "x", "let d = x; sum(d)"})
        refuse(text, {"1:", "write the whole graph, as in f(x: f32[n]) -> s = sum(x)"});
}
TEST(TextErrors, an_output_without_a_name) {
    for (const char* output : {"sum(x)", "x", "s = sum(x), mean(x)", "(x + 1)", "2 * x"})
        refuse(std::string("f(x: f32[n]) -> ") + output, {"1:", "name each output, as in s = sum(x)"});
}
TEST(TextErrors, a_let_among_the_outputs) {
    refuse("f(x: f32[n]) -> s = let y = x", {"1:21: ", "'let' comes before '->'", "let name = value;"});
    refuse("f(x: f32[n]) -> let y = x, s = sum(y)", {"1:17: ", "'let' comes before '->'", "let name = value;"});
}
TEST(TextErrors, a_comma_after_the_last_of_a_list) {
    refuse("f(x: f32[n]) -> s = sum(x),", {"1:28: ", "an output's name was expected", "leave the last comma out"});
    refuse("f(x: f32[n],) -> s = sum(x)", {"1:13: ", "a parameter's name was expected", "leave the last comma out"});
    refuse("f([n],) -> s = sum(index(n))", {"1:7: ", "a parameter's name was expected", "leave the last comma out"});
    refuse("f(x: f32[n,]) -> s = sum(x)", {"1:12: ", "a dim's name was expected", "leave the last comma out"});
}
TEST(TextErrors, an_order_of_an_output) {
    refuse("f(x: f32[n, m]) -> y[] = x", {"1:21: ", "at least one", "leave the brackets out"});
    refuse("f(x: f32[n, m]) -> y[m] = x", {"1:21: ", "lists no 'n'", "list each of [n, m] once"});
    refuse("f(x: f32[n, m]) -> y[m, n, m] = x", {"1:21: ", "'m' is there twice"});
    refuse("f(x: f32[n, m], w: f32[k]) -> y[m, k] = x", {"1:32: ", "lists 'k', but x (f32[n, m]) lacks that dim"});
    refuse("f(x: f32[n, m]) -> s[n] = sum(x)", {"1:21: ", "has no dims", "leave the list of dims out"});
    refuse("f(x: f32[n, m]) -> y[m, o] = x", {"1:25: ", "'o' is not a dim here"});
    refuse("f(x: f32[n, m]) -> y[m, n,] = x", {"1:27: ", "a dim follows a comma"});
    refuse("f(x: f32[n, m]) -> y[m, n = x", {"1:27: ", "']'"});
    refuse("f(x: f32[n, m]) -> y[m = 3, n] = x", {"1:24: ", "']'"});
}
TEST(TextErrors, a_shift_that_is_none) {
    refuse("f(x: f32[n]) -> y = shift(x)", {"1:28: ", "',' and the dim", "shift(x, n, -1, edge = 0)"});
    refuse("f(x: f32[n]) -> y = shift(2, n, 1, edge = 0)", {"1:27: ", "a number has no dims"});
    refuse("f(x: f32[n]) -> y = shift(x, m, 1, edge = 0)", {"1:30: ", "'m' is not a dim here"});
    refuse("f(x: f32[n]) -> y = shift(x, n)", {"1:31: ", "',' and the offset"});
    refuse("f(x: f32[n]) -> y = shift(x, n, 0.5, edge = 0)", {"1:33: ", "the offset, an integer,"});
    refuse("f(x: f32[n]) -> y = shift(x, n, -1)",
           {"1:35: ", "what is outside", "edge = 0, edge = clamp or edge = wrap"});
    refuse("f(x: f32[n]) -> y = shift(x, n, -1, 0)", {"1:37: ", "what is outside", "edge = clamp"});
    refuse("f(x: f32[n]) -> y = shift(x, n, -1, edge 0)", {"1:42: ", "'='"});
    refuse("f(x: f32[n]) -> y = shift(x, n, -1, edge = x)", {"1:44: ", "a number, clamp or wrap"});
    refuse("f(x: i8[n]) -> y = shift(x, n, -1, edge = 300)", {"1:20: ", "shift along 'n' with edge = 300"});
    refuse("f(x: f32[n], w: f32[m]) -> y = shift(x, m, 1, edge = wrap)",
           {"1:32: ", "x (f32[n]) does not have that dim"});
    refuse("f(x: f32[n]) -> y = shift(x, n, 281474976710657, edge = wrap)", {"1:21: ", "at most 2^48"});
}
TEST(TextErrors, truncated_text) {
    refuse("f(x: f32[n]) -> a = sum(x where", {"1:32: ", "a value was expected", "the text ends"});
}
TEST(TextErrors, text_without_outputs_arrow) { refuse("f(x: f32[n]) let y = x;", {"1:24: ", "'->'"}); }
TEST(TextErrors, let_without_semicolon) {
    refuse("f(x: f32[n]) let y = x -> a = y", {"1:24: ", "';' after the value of 'y'", "'->'"});
}
TEST(TextErrors, character_without_meaning) { refuse("f(x: f32[n]) -> a = x @ 1", {"1:23: ", "no meaning"}); }
TEST(TextErrors, operators_of_other_languages) {
    refuse("f(x: f32[n]) -> a = x > 0 ? x : -x", {"1:27: ", "'?' is not an operator", "select(condition, a, b)"});
    refuse("f(x: f32[n]) -> a = 1 + x ** 2", {"1:27: ", "'**' is not an operator", "pow(x, 2), or x * x"});
    refuse("f(x: i32[n]) -> a = x // 2", {"1:23: ", "'//' is not an operator", "floor_div(a, b)"});
    refuse("f(x: f32[n]) -> a = x ^ 2", {"bitwise_xor(f32, 2)", "pow(x, 2), or x * x"});
    refuse("f(x: f32[n]) -> a = x > 0 and x < 1", {"1:27: ", "here is 'and'", "write '&&'"});
    refuse("f(x: f32[n]) -> a = sum(x where x > 0 or x < 1)", {"here is 'or'", "write '||'"});
    refuse("f(x: f32[n]) -> a = not x", {"1:21: ", "'not' is not a value here", "write '!'"});
    refuse("f(x: f32[n]) -> a = not(x)", {"'not' is not a function", "here it is '!'"});
    refuse("f(x: f32[n]) -> a = x * * x", {"1:25: ", "a value was expected, and here is '*'"});
}
TEST(TextErrors, subscripts_and_slices) {
    refuse("f(x: f32[i, j]) -> a = sum(x[1:])", {"1:29: ", "no subscripts and no slices", "index(i) > 0"});
    refuse("f(x: f32[i, j]) -> a = x[0]", {"1:25: ", "sum(x where index(i) == 0)", "bind a part"});
    refuse("f(a: f32) -> b = a[0]", {"1:19: ", "no subscripts"});
}
TEST(TextErrors, an_empty_list_of_dims) {
    refuse("f(a: f32[]) -> b = a", {"1:10: ", "at least one", "without brackets, as a: f32"});
    refuse("f([]) -> b = f32(1)", {"1:4: ", "at least one"});
}
TEST(TextErrors, functions_by_other_names) {
    refuse("f(x: f32[n]) -> a = avg(x)", {"1:21: ", "'avg' is not a function; here it is 'mean'"});
    refuse("f(x: f32[n]) -> a = square(x)", {"here it is 'x * x'"});
    refuse("f(x: f32[n]) -> a = len(x)", {"here it is 'extent(n)'"});
    refuse("f(x: f32[n]) -> a = size(x)", {"here it is 'extent(n)'"});
    refuse("f(x: f32[n]) -> a = median(x)", {"'median' is not a function; gridfold ops lists all"});
    refuse("f(x: f32[n]) -> a = quantile(x)", {"'quantile' is not a function; gridfold ops lists all"});
}
TEST(TextErrors, unknown_function_with_the_nearest_one) {
    refuse("f(x: f32[n]) -> a = menan(x)", {"1:21: ", "'menan' is not a function", "did you mean 'mean'?"});
}
TEST(TextErrors, unknown_value_with_the_nearest_one) {
    refuse("f(alpha: f32) -> a = alhpa + 1", {"1:22: ", "'alhpa' is not a value", "did you mean 'alpha'?"});
    refuse("f(x: f32[n], w: f32[n]) -> a = y", {"'y' is not a value here; the values are w, x"});
    refuse("f() -> a = y", {"'y' is not a value here; declare it as a parameter, or bind it"});
}
TEST(TextErrors, unknown_type) {
    refuse("f(x: float[n]) -> a = x", {"1:6: ", "'float' is not an element type", "f32 f64"});
}
TEST(TextErrors, have_place_rule_and_fix_as_fields) {
    try {
        gf::parse("f(alpha: f32) -> a = alhpa + 1");
        ADD_FAILURE() << "nothing was thrown";
    } catch (const gf::InvalidGraph& error) {
        EXPECT_EQ(error.subject(), "1:22");
        EXPECT_EQ(error.rule(), "'alhpa' is not a value here");
        EXPECT_EQ(error.fix(), "did you mean 'alpha'?");
    }
}

TEST(TextErrors, unknown_dim) {
    refuse("f(x: f32[n]) -> a = index(m)", {"1:27: ", "'m' is not a dim"});
    refuse("f(x: f32[n]) -> a = extent(m)", {"1:28: ", "'m' is not a dim here; the dims are n"});
    refuse("f(a: f32) -> b = a + extent(m)", {"'m' is not a dim here; declare it, as in f([m], a: f32)"});
}
TEST(TextErrors, unknown_attribute) {
    refuse("f(x: f32[n]) -> a = sum(x, acumulate = f64)", {"1:28: ", "'acumulate' is not an attribute", "accumulate"});
}
TEST(TextErrors, attribute_twice) {
    refuse("f(x: f32[n]) -> a = sum(x where x > 0 where x < 1)", {"1:39: ", "'where' is given twice"});
}
TEST(TextErrors, attribute_of_a_map) {
    refuse("f(x: f32[n]) -> a = sqrt(x where x > 0)", {"1:28: ", "')'", "'where'"});
}
TEST(TextErrors, chained_comparison) {
    refuse("f(x: i32[n]) -> a = 0 < x < 2", {"1:27: ", "do not chain", "a < b && b < c"});
    refuse("f(x: i32[n]) -> a = x == x < 2", {"do not chain"});
}
TEST(TextErrors, number_without_a_type) { refuse("f() -> a = 3", {"1:12: ", "has no type", "f32(2)"}); }
TEST(TextErrors, a_mask_that_is_always_true) {
    refuse("f(x: f32[n]) -> a = sum(x where true)", {"1:33: ", "has no type", "bool(true)"});
}
TEST(TextErrors, counts_that_are_negative) {
    refuse("f(x: f32[n]) -> a = variance(x, ddof = -1)", {"ddof, an integer from 0,", "here is '-'"});
    refuse("f(x: f32[n = -1]) -> a = x", {"the dim's extent, an integer from 0,"});
}
TEST(TextErrors, number_with_a_suffix) { refuse("f(x: f32[n]) -> a = x + 0.5f", {"1:28: ", "no suffix", "f32(0.5)"}); }
TEST(TextErrors, number_that_runs_into_something_else) {
    refuse("f(x: i64[n]) -> a = x + 0x1G", {"1:28: ", "no suffix"});
    refuse("f(x: i64[n]) -> a = x + 0x1g", {"1:28: ", "no suffix"});
    refuse("f(x: i64[n]) -> a = x + 0x1{", {"1:28: ", "here is '{'"});
    refuse("f(x: i64[n]) -> a = x + 5_", {"1:26: ", "no suffix"});
    refuse("f(x: i64[n]) -> a = x + 5[", {"1:26: ", "here is '['"});
    refuse("f(x: i64[n]) -> a = x + 5@", {"1:26: ", "no meaning"});
    refuse("f(x: i64[n]) -> a = x + 5{", {"1:26: ", "here is '{'"});
}
TEST(TextErrors, numbers_alone_under_an_operator) {
    refuse("f(x: i32[n]) -> a = x & 1 == 0", {"1:27: ", "'==' of two numbers", "a type"});
}
TEST(TextErrors, reduction_of_a_number) { refuse("f() -> a = sum(1)", {"1:12: ", "sum", "has no type"}); }
TEST(TextErrors, too_many_operands) {
    refuse("f(x: f32[n]) -> a = sum(x, x)", {"1:21: ", "sum reduces one operand", "got 2", "sum(x over [k])"});
    refuse("f(x: f32[n]) -> a = sum(x, axis = 1)", {"1:28: ", "'axis' is not an attribute", "sum(x over [k])"});
    refuse("f(x: f32[n]) -> a = clamp(x, 1)", {"1:21: ", "clamp", "3 operands", "got 2"});
}
TEST(TextErrors, extent_without_a_name) { refuse("f(x: f32[4]) -> a = x", {"1:10: ", "a dim has a name", "[n = 4]"}); }
TEST(TextErrors, extents_of_one_dim_that_disagree) {
    refuse("f(x: f32[n = 4], y: f32[n = 5]) -> a = x", {"1:25: ", "'n'", "= 4"});
    refuse("f(x: f32[n], y: f32[n = 5]) -> a = x", {"1:21: ", "'n'", "not fixed"});
}
TEST(TextErrors, dim_declared_twice) {
    refuse("f([n, n]) ->", {"1:7: ", "the dim 'n' is declared twice"});
    refuse("f([n, m = 3, m = 3]) ->", {"1:14: ", "the dim 'm' is declared twice"});
}
TEST(TextErrors, name_given_twice) {
    refuse("f(x: f32[n]) let x = x + 1; -> a = x", {"1:18: ", "'x' is already the name"});
}
TEST(TextErrors, reserved_name) { refuse("f(where: f32[n]) -> a = where", {"1:3: ", "'where'", "reserved"}); }
TEST(TextErrors, otherwise_that_is_no_number) {
    refuse("f(x: i32[n]) -> a = max(x where x > 0, otherwise = x)", {"1:52: ", "a number", "otherwise = 0"});
}
TEST(TextErrors, what_the_graph_refuses_is_located_too) {
    refuse("f(x: i8[n])\n -> a = x + 300", {"2:11: ", "add(i8, 300)", "-128 to 127"});
    refuse("f(x: i32[i, j], m: bool[i])\n -> a = max(x where m over [i], otherwise = 0.5)",
           {"2:9: ", "max with otherwise = 0.5", "whole numbers"});
    refuse("f(x: i32[n], k: i32[n])\n -> a = sum(x by k, groups = 3)",
           {"2:9: ", "grouped reductions are not supported yet"});
}
TEST(TextErrors, dims_to_fold_without_brackets) {
    refuse("f(x: f32[i, k]) -> a = sum(x over [k,])", {"1:38: ", "a dim follows a comma", "leave the last comma out"});
    refuse("f(x: f32[i, k]) -> a = sum(x over i, k)", {"1:35: ", "listed in brackets", "as in over [i, k]"});
    refuse("f(x: f32[i, k]) -> a = sum(x over [])", {"1:36: ", "at least one dim", "leave `over` out"});
    refuse("f(x: f32[i, k]) -> a = sum(x over [i)", {"1:37: ", "',' or ']'"});
    refuse("f(x: f32[i, k]) -> a = sum(x over [i, i])", {"1:24: ", "a dim is folded once"});
    refuse("f(x: f32[i, k], y: f32[k]) -> a = sum(y over [i])", {"sum over 'i'", "does not have that dim"});
    refuse("f(x: f32[i, k]) -> a = sum(x over [n])", {"1:36: ", "'n' is not a dim here"});
}
TEST(TextErrors, unknown_names_among_very_many) {
    std::string text = "f([d0";
    for (int i = 1; i < 1500; ++i) text += ", d" + std::to_string(i);
    text += "]";
    for (int i = 0; i < 1500; ++i) text += ", x" + std::to_string(i) + ": f32";
    refuse(text + ") -> a = elsewhere", {"'elsewhere' is not a value here"});
    refuse(text + ") -> a = index(elsewhere)", {"'elsewhere' is not a dim here"});
}
TEST(TextErrors, prefixes_without_end) {
    refuse("f(x: f32[n]) -> a = " + std::string(70'000, '-') + "1", {"65536 nodes", "prefixes"});
}
TEST(TextErrors, deep_nesting) {
    refuse("f(x: f32[n]) -> a = " + std::string(1000, '(') + "x", {"1:277: ", "at most 256 deep", "let"});
}
TEST(TextErrors, enormous_text) { refuse(std::string(gf::max_text_bytes + 1, ' '), {"16777217 bytes", "16777216"}); }

} // namespace
