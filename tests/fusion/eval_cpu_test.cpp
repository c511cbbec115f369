// gf::eval: parameters declared by bindings.
#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "error/refusal.hpp"

GRIDFOLD_MAP(positive, 1, compare, "is a above 0?", a > T(0))
GRIDFOLD_MAP(nearer, 2, compare, "is a nearer to 0 than b?", abs(a) < abs(b))
GRIDFOLD_MAP(between, 3, compare, "is b in [a, c]?", a <= b && b <= c)

namespace {

using gf::test::expect_refused;

const std::vector<float> x{1, 2, 3, 4}, y{10, 20, 30, 40};
const std::vector<std::int32_t> k{1, 2, 3, 4};
const gf::Options on_cpu{.device = "cpu"};

TEST(Eval, an_expression_gives_its_only_result_as_a_number) {
    EXPECT_EQ(gf::eval<double>("sum(x * x * x)", {{"x", x}}, on_cpu), 100);
    EXPECT_EQ(gf::eval<std::int64_t>("sum(k * k * k)", {{"k", k}}, on_cpu), 100);
    EXPECT_EQ(gf::eval<int>("max(x) - min(x)", {{"x", x}}, on_cpu), 3);
}

TEST(Eval, an_unnamed_array_is_named_result) {
    const gf::Results r = gf::eval("x + y", {{"x", x}, {"y", y}}, on_cpu);
    EXPECT_EQ(r.to_vector<float>("result"), (std::vector<float>{11, 22, 33, 44}));
}

TEST(Eval, statements_give_named_results) {
    const gf::Results r = gf::eval("let d = y - x; # a comment with -> and ;\n mean = mean(d), worst = max(abs(d))",
                                   {{"x", x}, {"y", y}}, on_cpu);
    EXPECT_EQ(r.get<float>("mean"), 22.5F);
    EXPECT_EQ(r.get<float>("worst"), 36.0F);
    ASSERT_EQ(r.entries().size(), 2u);
}

TEST(Eval, an_expression_that_begins_with_a_comparison_is_not_a_name) {
    EXPECT_EQ(gf::eval<bool>("x == x", {{"x", 2}}, on_cpu), true);
    EXPECT_EQ(gf::eval<int>("let e = k == 3; count(e)", {{"k", k}}, on_cpu), 1);
}

TEST(Eval, a_number_has_the_type_of_the_arrays) {
    const auto type = [](const gf::Bindings& bindings) {
        return gf::eval("result = x * a", bindings, on_cpu).entries()[0].type;
    };
    EXPECT_EQ(type({{"x", x}, {"a", 0.5}}), gf::DType::f32);
    EXPECT_EQ(type({{"x", x}, {"a", 2}}), gf::DType::f32);
    EXPECT_EQ(type({{"x", k}, {"a", 2}}), gf::DType::i32);
    EXPECT_EQ(type({{"x", k}, {"a", 0.5}}), gf::DType::f64);
    EXPECT_EQ(type({{"x", k}, {"y", x}, {"a", 0.5}}), gf::DType::f64); // a is f32, and i32 with f32 is f64
    EXPECT_EQ(type({{"x", 3}, {"a", 2}}), gf::DType::i64);
    EXPECT_EQ(type({{"x", 3}, {"a", 2.5}}), gf::DType::f64);
    EXPECT_EQ(gf::eval<double>("sum(select(on, x, 0))", {{"on", true}, {"x", x}}, on_cpu), 10);
}

TEST(Eval, a_number_among_several_types_is_refused_with_the_full_form) {
    expect_refused<gf::InvalidBinding>(
        [] {
            gf::eval("sum(x * a) + sum(k)", {{"x", x}, {"k", k}, {"a", 2}}, on_cpu);
        },
        {"the number \"a\"", "have several", "f(x: f32[n], y: f32[m]) -> s"});
    EXPECT_EQ(gf::eval<double>("f(x: f32[n], k: i32[n], a: i32) -> s = sum(x * a) + sum(k)",
                               {{"x", x}, {"k", k}, {"a", 2}}, on_cpu),
              30);
}

TEST(Eval, arrays_share_dims_from_the_last_one_on) {
    const std::vector<float> table{1, 2, 3, 4, 5, 6}, columns{10, 20, 30};
    const gf::View rows = gf::view(table.data(), {2, 3});
    for (const gf::Bindings& bindings :
         {gf::Bindings{{"t", rows}, {"w", columns}}, gf::Bindings{{"w", columns}, {"t", rows}}}) {
        const gf::Results r = gf::eval("t * w", bindings, on_cpu);
        EXPECT_EQ(r.to_vector<float>("result"), (std::vector<float>{10, 40, 90, 40, 100, 180}));
        EXPECT_EQ(r.array("result").extents, (gf::Extents{2, 3}));
    }
    EXPECT_EQ(gf::eval<int>("sum(t * f32(index(i) * 3 + index(j)))", {{"t", rows}}, on_cpu), 70);
}

TEST(Eval, extents_that_differ_are_refused_with_the_full_form) {
    const std::vector<float> three{1, 2, 3};
    expect_refused<gf::InvalidBinding>(
        [&] {
            gf::eval("sum(x) + sum(z)", {{"x", x}, {"z", three}}, on_cpu);
        },
        {"\"z\" has extents [3]", "\"x\" has [4]", "-> s = sum(x) + sum(y)"});
    EXPECT_EQ(gf::eval<double>("f(x: f32[n], z: f32[m]) -> s = sum(x) + sum(z)", {{"x", x}, {"z", three}}, on_cpu), 16);
}

TEST(Eval, other_extents_use_the_same_executable) {
    std::vector<float> grows;
    for (int i = 0; i < 100; ++i) {
        grows.push_back(1);
        EXPECT_EQ(gf::eval<int>("sum(grows)", {{"grows", grows}}, on_cpu), i + 1);
    }
}

TEST(Eval, more_texts_than_are_kept_are_right) {
    for (int round = 0; round < 2; ++round)
        for (int i = 0; i < 40; ++i)
            EXPECT_EQ(gf::eval<int>("sum(x) + f32(" + std::to_string(i) + ")", {{"x", x}}, on_cpu), 10 + i);
}

TEST(Eval, threads_share_it) {
    std::vector<std::thread> threads;
    std::vector<int> wrong(4);
    for (std::size_t t = 0; t < wrong.size(); ++t)
        threads.emplace_back([&wrong, t] {
            for (int i = 0; i < 200; ++i)
                wrong[t] +=
                    gf::eval<double>(i % 2 == 0 ? "sum(x)" : "max(x)", {{"x", x}}, on_cpu) != (i % 2 == 0 ? 10 : 4);
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST(Eval, of_several_results_is_no_number) {
    expect_refused<gf::InvalidResult>(
        [] {
            gf::eval<double>("a = sum(x), b = max(x)", {{"x", x}}, on_cpu);
        },
        {"2 results", "the only one", "get_as"});
}

TEST(Eval, own_maps_that_compare_get_all_their_operands) {
    const std::vector<std::int64_t> i{-1, -3, 2, 5};
    const std::vector<std::uint64_t> u{2, 2, 2, 9};
    EXPECT_EQ(gf::eval<int>("count(positive(i))", {{"i", i}}, on_cpu), 2);
    EXPECT_EQ(gf::eval<int>("count(nearer(i, u))", {{"i", i}, {"u", u}}, on_cpu), 2) << "-1 is nearer than 2";
    EXPECT_EQ(gf::eval<int>("count(nearer(u, i))", {{"i", i}, {"u", u}}, on_cpu), 1);
    EXPECT_EQ(gf::eval<int>("count(between(i, u, i64(1)))", {{"i", i}, {"u", u}}, on_cpu), 0) << "2 is above 1";
}

TEST(Eval, several_results_each_need_a_name) {
    expect_refused<gf::InvalidGraph>(
        [] {
            gf::eval("sum(x), mean(x)", {{"x", x}}, on_cpu);
        },
        {"name each output, as in s = sum(x)"});
}

TEST(Eval, statements_end_with_a_semicolon_and_results_are_parted_by_commas) {
    expect_refused<gf::InvalidGraph>(
        [] {
            gf::eval("s = sum(x); t = mean(x)", {{"x", x}}, on_cpu);
        },
        {"the statement 's = sum(x)'", "a ';' ends a let", "a comma between results"});
    expect_refused<gf::InvalidGraph>(
        [] {
            gf::eval("let d = x, sum(d)", {{"x", x}}, on_cpu);
        },
        {"the statement 'let d = x, sum(d)'", "a let ends with ';'", "let d = x; s = sum(d)"});
    expect_refused<gf::InvalidGraph>(
        [] {
            gf::eval("let d = x;", {{"x", x}}, on_cpu);
        },
        {"the expression: no result follows its last ';'"});
}

TEST(Eval, each_semicolon_ends_a_let) {
    const auto refuse = [](const char* text, std::initializer_list<std::string_view> words) {
        expect_refused<gf::InvalidGraph>([&] { gf::eval(text, {{"x", x}}, on_cpu); }, words);
    };
    refuse("sum(x); mean(x)", {"the statement 'sum(x)': ", "begins with no 'let'", "a comma between results"});
    refuse("letter(x); mean(x)", {"the statement 'letter(x)': ", "begins with no 'let'"});
    refuse("let d = x; d + 1; sum(d)", {"the statement 'd + 1': ", "begins with no 'let'"});
    refuse("sum(x);", {"the statement 'sum(x)': ", "begins with no 'let'", "leave the ';' out"});
    for (const char* text : {"; sum(x)", "let d = x;; sum(d)", ";"})
        refuse(text, {"the statement '': ", "a ';' ends a let", "leave the ';' out"});
}

TEST(Eval, of_an_empty_text_is_refused) {
    for (const char* text : {"", " \n", "# sum(x);"})
        expect_refused<gf::InvalidGraph>(
            [&] {
                gf::eval(text, {{"x", x}}, on_cpu);
            },
            {"the expression: it is empty", "write one, as in sum(x)"});
}

TEST(Eval, a_number_that_the_arrays_type_does_not_hold_is_refused_with_the_full_form) {
    const std::vector<std::int8_t> small{1, 2};
    expect_refused<gf::InvalidBinding>(
        [&] {
            gf::eval("sum(x * a)", {{"x", small}, {"a", 1000}}, on_cpu);
        },
        {"the number \"a\"", "1000", "i8", "-128 to 127", "f(x: f32[n], y: f32[m]) -> s"});
}

TEST(Eval, a_number_that_would_become_infinite_is_refused_whatever_its_kind) {
    const std::vector<gf::f16> halves{gf::f16(1.0F), gf::f16(1.0F)};
    for (const gf::Literal large : {gf::Literal(100000), gf::Literal(~std::uint64_t{0}), gf::Literal(100000.0)}) {
        gf::Bindings bindings{{"x", halves}, {"a", 0}};
        bindings[1].scalar = large;
        expect_refused<gf::InvalidBinding>([&] { gf::eval("sum(x * a)", bindings, on_cpu); },
                                           {"the number \"a\"", "f16", "infinity", "f(x: f32[n], y: f32[m]) -> s"});
    }
    EXPECT_EQ(gf::eval<double>("max(x * a)", {{"x", halves}, {"a", 65504}}, on_cpu), 65504);
    EXPECT_EQ(gf::eval<double>("max(x * a)", {{"x", halves}, {"a", INFINITY}}, on_cpu), INFINITY);
}

TEST(Eval, mistakes_in_the_text_are_shown_in_it) {
    expect_refused<gf::InvalidGraph>(
        [] {
            gf::eval("sum(z)", {{"x", x}}, on_cpu);
        },
        {"'z' is not a value here", "the values are x", "eval(x: f32[n])", "sum(z)"});
    expect_refused<gf::InvalidGraph>([] { gf::eval("sum(x)", {}, on_cpu); },
                                     {"'x' is not a value here", "declare it as a parameter, or bind it"});
}

} // namespace
