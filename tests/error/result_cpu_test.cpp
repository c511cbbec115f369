// Mistakes in requests to results and to compile().
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "error/refusal.hpp"

namespace {

using gf::test::expect_refused;

class ResultErrors : public testing::Test {
protected:
    ResultErrors() {
        gf::Graph g;
        const gf::Value x = g.input<std::int32_t>("x", {g.dim("n")});
        g.output("total", gf::sum(x));
        g.output("doubled", x + x);
        g.output("least_positive", gf::min(x, {.where = x > 0}));
        results = gf::compile(g, {.device = "cpu"}).run({{"x", values}});
    }
    std::vector<std::int32_t> values{-1, -2, -3};
    gf::Results results;
};

TEST(Results, of_no_run_hold_none) {
    const gf::Results none;
    EXPECT_TRUE(none.entries().empty());
    expect_refused<gf::InvalidResult>([&] { none.get<float>("total"); },
                                      {"\"total\" was asked for", "of no run", "assign what run() returns"});
}

static_assert(!std::is_constructible_v<gf::Results, std::nullptr_t>, "Results come from runs alone");
static_assert(!std::is_constructible_v<gf::Prepared, std::nullptr_t>, "a Prepared comes from prepare()");
static_assert(!std::is_constructible_v<gf::Executable, std::nullptr_t>, "an Executable comes from compile()");

TEST_F(ResultErrors, an_unknown_result_is_refused_with_the_nearest_one) {
    expect_refused<gf::InvalidResult>(
        [&] { results.get<std::int64_t>("totl"); },
        {"\"totl\" is not a result", "total, doubled, least_positive", "did you mean \"total\"?"});
    EXPECT_EQ(results.get<std::int64_t>("total"), -6);
}

TEST_F(ResultErrors, a_result_of_another_type_is_refused_naming_both) {
    expect_refused<gf::InvalidResult>([&] { results.get<std::int32_t>("total"); },
                                      {"\"total\" is i64", "asked for as i32", "never converts"});
    EXPECT_EQ(results.get<std::int64_t>("total"), -6);
}

TEST_F(ResultErrors, have_subject_rule_and_fix_as_fields) {
    try {
        results.array("total");
        ADD_FAILURE() << "nothing was thrown";
    } catch (const gf::UsageError& error) {
        EXPECT_EQ(error.subject(), "result \"total\" is a scalar");
        EXPECT_EQ(error.rule(), "array reads arrays");
        EXPECT_EQ(error.fix(), "use get(\"total\")");
        EXPECT_EQ(std::string(error.what()), error.subject() + ": " + error.rule() + "; " + error.fix());
    }
}

TEST_F(ResultErrors, an_array_is_not_read_as_a_scalar) {
    expect_refused<gf::InvalidResult>([&] { results.get<std::int32_t>("doubled"); },
                                      {"\"doubled\" is an array", "get reads scalars", "span(\"doubled\")"});
    EXPECT_EQ(results.span<std::int32_t>("doubled")[2], -6);
}

TEST_F(ResultErrors, a_scalar_is_not_read_as_an_array) {
    expect_refused<gf::InvalidResult>([&] { results.array("total"); },
                                      {"\"total\" is a scalar", "array reads arrays", "get(\"total\")"});
}

TEST_F(ResultErrors, validity_is_of_arrays_that_may_have_empty_elements) {
    expect_refused<gf::InvalidResult>([&] { results.valid("least_positive"); }, {"is a scalar", "get_optional"});
    expect_refused<gf::InvalidResult>([&] { results.valid("none"); }, {"\"none\" is not a result"});
    expect_refused<gf::InvalidResult>(
        [&] { results.valid_array("doubled"); },
        {"\"doubled\" (i32) has no array of which elements are there", "ever empty", "use valid(\"doubled\")"});
    EXPECT_EQ(results.valid("doubled"), std::vector<bool>(3, true));
}

TEST_F(ResultErrors, an_array_of_another_type_is_refused) {
    expect_refused<gf::InvalidResult>([&] { results.span<float>("doubled"); },
                                      {"\"doubled\" is i32", "asked for as f32"});
}

TEST(Memory, a_result_that_does_not_fit_into_it_is_out_of_memory) {
    gf::Graph g;
    const gf::Value x = g.input<std::int8_t>("x", {g.dim("n")}), y = g.input<std::int8_t>("y", {g.dim("m")});
    g.output("table", x * gf::cast(y, gf::DType::f64));
    const gf::Executable exe = gf::compile(g, {.device = "cpu"});
    const std::vector<std::int8_t> large(std::size_t{1} << 24), small{2, 3}; // their table exceeds the address space
    expect_refused<gf::OutOfMemory>(
        [&] {
            exe.run({{"x", large}, {"y", large}});
        },
        {"the host has no 2251799813685248 bytes", "smaller arrays"});
    EXPECT_EQ(exe.run({{"x", small}, {"y", small}}).span<double>("table")[3], 9.0);
}

TEST_F(ResultErrors, a_result_that_no_element_contributed_to_is_empty) {
    expect_refused<gf::EmptyReduction>([&] { results.get<std::int32_t>("least_positive"); },
                                       {"\"least_positive\" is empty", "no element contributed", "get_optional"});
    EXPECT_FALSE(results.get_optional<std::int32_t>("least_positive"));
    EXPECT_EQ(results.get<std::int64_t>("total"), -6);
}

TEST_F(ResultErrors, results_before_any_run_are_refused) {
    gf::Graph g;
    g.output("total", gf::sum(g.input<std::int32_t>("x", {g.dim("n")})));
    gf::Prepared prepared = gf::compile(g, {.device = "cpu"}).prepare({{"x", values}});
    expect_refused<gf::InvalidResult>([&] { prepared.results(); },
                                      {"nothing was run", "call run() or enqueue() first"});
    EXPECT_EQ(prepared.run().get<std::int64_t>("total"), -6);
}

class CompileErrors : public testing::Test {
protected:
    CompileErrors() { g.output("total", gf::sum(g.input<float>("x", {g.dim("n")}))); }
    gf::Graph g;
};

TEST_F(CompileErrors, a_graph_without_outputs_is_refused) {
    gf::Graph nothing("nothing");
    nothing.input<float>("x", {nothing.dim("n")});
    expect_refused<gf::InvalidGraph>([&] { gf::compile(nothing); },
                                     {"nothing", "no output", "compiled for its outputs", "g.output("});
}

TEST_F(CompileErrors, an_unknown_device_is_refused_with_the_choices) {
    for (const char* device : {"gpu", "", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "CPU"})
        expect_refused<gf::InvalidOption>(
            [&] { gf::compile(g, {.device = device}); },
            {"the device is", device, "\"auto\", \"cpu\", \"cuda\"", "choose one of these"});
}

TEST_F(CompileErrors, a_device_that_is_not_there_is_a_device_error) {
    expect_refused<gf::DeviceError>([&] { gf::compile(g, {.device = "cuda:999"}); }, {"cuda:999 was asked for"});
}

TEST_F(CompileErrors, verify_and_fast_math_exclude_each_other) {
    expect_refused<gf::InvalidOption>([&] { gf::compile(g, {.device = "cpu", .verify = true, .fast_math = true}); },
                                      {"verify and fast_math", "compares bits", "leave one of the two out"});
}

TEST_F(CompileErrors, values_of_another_graph_are_refused) {
    gf::Graph other;
    const gf::Value y = other.input<float>("y", {other.dim("n")});
    const gf::Value x = g.input<float>("z", {g.dim("m")});
    expect_refused<gf::InvalidGraph>([&] { x + y; }, {"y", "graph", "build both in one graph"});
    expect_refused<gf::InvalidGraph>([&] { g.output("sum_of_y", gf::sum(y)); }, {"sum_of_y", "graph"});
    const std::vector<float> data{1, 2};
    EXPECT_EQ(gf::compile(g, {.device = "cpu"}).run({{"x", data}, {"z", data}}).get<float>("total"), 3.0F);
}

} // namespace
