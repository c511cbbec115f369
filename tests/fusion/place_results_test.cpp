// From graphs to sweeps: results of kept dims, and outputs that follow from them.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <gridfold/fusion/fuse.hpp>

#include "fusion/plans_of_text.hpp"
#include "passes/place_sweeps.hpp"
#include "plan/join_phases.hpp"

namespace gf {
namespace {

using namespace test;

TEST(PlaceSweeps, folds_that_keep_the_same_dims_share_a_sweep_with_elementwise_outputs) {
    const Plan plan = fused("f(x: f32[i, k]) -> s = sum(x over [k]), m = mean(x * 2 over [k]), y = x + 1");
    ASSERT_EQ(plan.sweeps.size(), 1U);
    EXPECT_EQ(plan.sweeps[0].folds.size(), 2U);
    EXPECT_EQ(plan.sweeps[0].stores.size(), 3U);
    EXPECT_EQ(kept_dims(plan.sweeps[0]), DimSet::of(0));
    const FoldOrder order = fold_order(plan.sweeps[0], std::vector<std::int64_t>{7, 100});
    EXPECT_EQ(order.parts, 7);
    EXPECT_TRUE(order.is_flat());
}

TEST(PlaceSweeps, each_set_of_kept_dims_is_a_sweep) {
    const Plan plan = fused("f(x: f32[i, k]) -> r = sum(x over [k]), c = sum(x over [i]), s = sum(x)");
    ASSERT_EQ(plan.sweeps.size(), 3U);
    EXPECT_EQ(plan.sweeps[1].reason, "it keeps other dims");
    EXPECT_EQ(plan.scalars.size(), 1U);
}

/// The arrays that a sweep stores.
std::vector<std::string> stored(const Plan& plan, const Sweep& sweep) {
    std::vector<std::string> names;
    for (const Store& store : sweep.stores) names.push_back(plan.arrays[store.array].name);
    return names;
}

TEST(PlaceSweeps, maps_of_kept_results_read_them_from_an_array) {
    const Plan plan = fused("f(x: f32[i, k], w: f32[i]) let m = mean(x over [k]); -> y = x - m, d = m * w");
    ASSERT_EQ(plan.sweeps.size(), 3U);
    EXPECT_EQ(plan.sweeps[0].stores.size(), 1U);
    EXPECT_EQ(plan.arrays[plan.sweeps[0].stores[0].array].role, ArrayRole::temporary);
    EXPECT_EQ(plan.sweeps[1].after, std::vector{SweepId(0)});
    EXPECT_EQ(plan.sweeps[1].reason, "mean → sub → y");
}

TEST(PlaceSweeps, outputs_that_follow_from_kept_results_alone_are_computed_where_these_are) {
    using Names = std::vector<std::string>;
    const Plan plan =
        fused("f(x: bf16[i, k], eps: f32) let m = mean(x over [k]); let s = sqrt(variance(x over [k]) + "
              "eps); -> low = f32(min(x over [k])), s = s, t = s / f32(m) - f32(extent(k)), y = f32(x) * s");
    ASSERT_EQ(plan.sweeps.size(), 2U);
    EXPECT_EQ(stored(plan, plan.sweeps[0]), (Names{"s", "low", "t", "t3"}))
        << "what no other sweep reads: no temporary";
    EXPECT_EQ(stored(plan, plan.sweeps[1]), Names{"y"});
    EXPECT_EQ(plan.sweeps[1].after, std::vector{SweepId(0)});
    const auto loads = values_where(plan.sweeps[1], [](const Instruction& i) { return i.opcode == Opcode::load; });
    ASSERT_EQ(loads.size(), 2U);
    EXPECT_EQ(plan.arrays[plan.sweeps[1].code[loads[1]].array].name, "t3")
        << "a sweep computes s again: the array of an output may round it";
    // From results that keep other dims, or of another domain, and from elements: a sweep of its own.
    for (const char* other : {"sum(x over [i, k])", "sum(x over [i])", "sum(z over [i])", "sum(y over [k])",
                              "f32(index(i))", "w", "sum(w)"})
        EXPECT_GE(fused(fmt::format("f(x: f32[i, k, j], y: f32[i, k, j], z: f32[i, j], w: f32[i, j]) -> r = sum(x over "
                                    "[k]) * {}",
                                    other))
                      .sweeps.size(),
                  std::string_view(other) == "sum(y over [k])" ? 1U : 2U)
            << other;
}

TEST(PlaceSweeps, outputs_of_results_in_another_order_of_dims_have_a_sweep_of_their_own) {
    const Plan plan = fused("f(x: f32[i, j, k]) let m = mean(x over [k]) * 2; -> m[j, i] = m, n = m * 3, z = x - m");
    ASSERT_EQ(plan.sweeps.size(), 3U);
    EXPECT_EQ(stored(plan, plan.sweeps[0])[0], "n");
    EXPECT_EQ(find_chains(plan).size(), 1U) << "whose sweeps store in order";
}

TEST(PlaceSweeps, a_long_chain_of_outputs_of_results_is_placed) {
    std::string text = "f(x: f32[i, k]) let m0 = sum(x over [k]);", outputs;
    for (int n = 1; n <= 2500; ++n) {
        text += fmt::format(" let m{} = sqrt(m{});", n, n - 1);
        outputs += fmt::format("{}o{} = m{}", n > 1 ? ", " : " -> ", n, n);
    }
    EXPECT_GT(fused(text + outputs).sweeps.size(), 2U);
}

TEST(PlaceSweeps, outputs_that_follow_from_results_of_a_sweep_that_splits_are_computed_after_both) {
    std::string text = "f(x: f64[i, k]) -> none = min(x over [k])", all = ", all = min(x over [k])";
    for (int k = 0; k < 9; ++k) {
        text += fmt::format(", m{0} = mean(x * {1} over [k])", k, k + 2);
        all += fmt::format(" + mean(x * {} over [k])", k + 2);
    }
    const Plan plan = fused(text + all + ", first = sqrt(mean(x * 2 over [k]))");
    ASSERT_EQ(plan.sweeps.size(), 3U);
    EXPECT_EQ(stored(plan, plan.sweeps[2]), std::vector<std::string>{"all"});
    EXPECT_EQ(stored(plan, plan.sweeps[0]).back(), "first");
}

TEST(PlaceSweeps, outputs_of_results_that_find_no_room_in_their_sweep_have_one_of_their_own) {
    std::string text = "f(x: f32[i, k]) let s = sum(x over [k]); -> o0 = s";
    for (int k = 1; k < max_sweep_arrays + 1; ++k) text += fmt::format(", o{0} = s * {0}", k);
    const Plan plan = fused(text);
    ASSERT_EQ(plan.sweeps.size(), 2U);
    EXPECT_EQ(plan.sweeps[0].stores.size(), static_cast<std::size_t>(max_sweep_arrays) - 1); // and it loads x
    EXPECT_EQ(stored(plan, plan.sweeps[1]), (std::vector<std::string>{"o63", "o64"}));
}

TEST(PlaceSweeps, results_that_may_be_empty_are_stored_with_which_are_not) {
    const Plan plan = fused("f(x: i32[i, k], c: bool[i, k]) let low = min(x where c over [k]); -> low = low, "
                            "next = low + 1, f = f32(low), m = min(f32(x) where c over [k])");
    ASSERT_EQ(plan.sweeps.size(), 1U);
    EXPECT_EQ(stored(plan, plan.sweeps[0]),
              (std::vector<std::string>{"low", "low.valid", "m", "next", "next.valid", "f"}));
    EXPECT_TRUE(plan.outputs[0].validity.valid());
    EXPECT_TRUE(plan.outputs[1].validity.valid());
    EXPECT_FALSE(plan.outputs[2].validity.valid()) << "NaN instead";
    EXPECT_FALSE(plan.outputs[3].validity.valid()) << "NaN instead";
    for (const char* never : {"min(x over [k])", "sum(x where c over [k])", "min(x where c over [k], otherwise = 0)",
                              "x - min(x where c over [k])"})
        EXPECT_FALSE(fused(fmt::format("f(x: i32[i, k], c: bool[i, k]) -> y = {}", never)).outputs[0].validity.valid())
            << never;
}

} // namespace
} // namespace gf
