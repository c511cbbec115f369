// Mistakes in extents. After each refusal the same Executable gives the right answer.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "error/refusal.hpp"

namespace {

using gf::test::expect_refused;

TEST(ExtentErrors, a_fixed_dim_refuses_another_extent) {
    gf::Graph g;
    const gf::Dim n = g.dim("n", 3);
    g.output("total", gf::sum(g.input<std::int32_t>("x", {n})));
    const gf::Executable exe = gf::compile(g, {.device = "cpu"});
    const std::vector<std::int32_t> four{1, 2, 3, 4}, three{1, 2, 3};
    expect_refused<gf::InvalidBinding>(
        [&] {
            exe.run({{"x", four}});
        },
        {"dim \"n\" is 3 by its declaration", "but 4 by input \"x\""});
    EXPECT_EQ(exe.run({{"x", three}}).get<std::int64_t>("total"), 6);
    gf::Prepared prepared = exe.prepare({{"x", three}});
    try {
        prepared.rebind("x", four);
        ADD_FAILURE() << "nothing was thrown";
    } catch (const gf::InvalidBinding& error) {
        EXPECT_EQ(error.fix(), "bind arrays whose extents agree") << "no rebind changes a declared extent";
    }
}

TEST(ExtentErrors, a_dim_that_no_array_has_must_be_bound_by_name) {
    gf::Graph g;
    const gf::Dim n = g.dim("n");
    g.output("squares", g.index(n) * g.index(n));
    const gf::Executable exe = gf::compile(g, {.device = "cpu"});
    expect_refused<gf::InvalidBinding>(
        [&] { exe.run({}); }, {"dim \"n\" has no extent", "no array that is bound has this dim", "{\"n\", 1000}"});
    EXPECT_EQ(exe.run({{"n", 5}}).span<std::int64_t>("squares")[4], 16);
}

TEST(ExtentErrors, a_reduction_that_needs_elements_refuses_none) {
    gf::Graph g;
    const gf::Dim n = g.dim("n");
    g.output("least", gf::min(g.input<std::int32_t>("x", {n})));
    const gf::Executable exe = gf::compile(g, {.device = "cpu"});
    const std::vector<std::int32_t> none, some{4, 3, 5};
    expect_refused<gf::InvalidBinding>(
        [&] {
            exe.run({{"x", none}});
        },
        {"dim \"n\" has extent 0 by input \"x\"", "min", "bind at least one element"});
    EXPECT_EQ(exe.run({{"x", some}}).get<std::int32_t>("least"), 3);
}

TEST(ExtentErrors, an_extent_of_0_makes_any_others_fit) {
    gf::Graph g("none");
    const gf::Dim i = g.dim("i"), j = g.dim("j"), k = g.dim("k");
    const gf::Value x = g.input<float>("x", {k, j, i}), y = g.input<float>("y", {i, k});
    g.output("total", gf::sum(x * y));
    const std::int64_t huge = std::int64_t{1} << 40;
    const gf::Results results = gf::compile(g, {.device = "cpu"})
                                    .run({{"x", gf::view(static_cast<float*>(nullptr), {huge, huge, 0})},
                                          {"y", gf::view(static_cast<float*>(nullptr), {0, huge})}});
    EXPECT_EQ(results.get<float>("total"), 0);
}

TEST(ExtentErrors, a_domain_too_large_to_count_is_refused) {
    gf::Graph g;
    const gf::Dim i = g.dim("i"), j = g.dim("j");
    g.output("count", gf::sum(g.index(i) * g.index(j)));
    const gf::Executable exe = gf::compile(g, {.device = "cpu"});
    expect_refused<gf::InvalidBinding>(
        [&] {
            exe.run({{"i", std::int64_t{1} << 32}, {"j", std::int64_t{1} << 32}});
        },
        {"i = 4294967296, j = 4294967296", "more than 2^48 elements", "smaller extents"});
    EXPECT_EQ(exe.run({{"i", 3}, {"j", 4}}).get<std::int64_t>("count"), 18);
}

TEST(ExtentErrors, a_domain_that_no_sweep_could_walk_is_refused) {
    gf::Graph g("endless");
    const gf::Dim n = g.dim("n");
    g.output("s", gf::sum(g.index(n) * 3));
    for (const bool fuse : {true, false}) {
        const gf::Executable exe = gf::compile(g, {.device = "cpu", .fuse = fuse});
        for (const std::int64_t extent : {std::int64_t{1} << 49, (std::int64_t{1} << 61) + 1, INT64_MAX})
            expect_refused<gf::InvalidBinding>(
                [&] {
                    exe.run({{"n", extent}});
                },
                {"the domain n", "2^48", "bind smaller"});
        EXPECT_EQ(exe.run({{"n", std::uint64_t{5}}}).get<std::int64_t>("s"), 30);
    }
}

TEST(ExtentErrors, an_output_whose_bytes_only_the_extents_together_overflow_is_refused) {
    gf::Graph g;
    const gf::Dim i = g.dim("i"), j = g.dim("j");
    g.output("product", g.index(i) * g.index(j));
    const gf::Executable exe = gf::compile(g, {.device = "cpu"});
    expect_refused<gf::InvalidBinding>(
        [&] {
            exe.run({{"i", std::int64_t{1} << 40}, {"j", std::int64_t{1} << 20}});
        },
        {"output \"product\"", "more than 2^63 - 1 bytes", "bind smaller extents"});
    EXPECT_EQ(exe.run({{"i", 2}, {"j", 3}}).span<std::int64_t>("product")[5], 2);
}

} // namespace
