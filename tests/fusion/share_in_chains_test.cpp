// What the later sweeps of a chain load instead of computing it again: what is shared, what is not, and that the plan
// is legal. The bits are the tests' of chains on the CPU.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <gridfold/fusion/fuse.hpp>

#include "fusion/plans_of_text.hpp"
#include "plan/join_phases.hpp"
#include "plan/share_in_chains.hpp"
#include "plan/verify.hpp"

namespace gf {
namespace {

using namespace test;

/// The plan with what its chains share, whose first arrays, sweeps and chains are those of the plan without.
Plan shared(std::string_view text) {
    const Plan plan = fused(text);
    const std::vector<plan::Chain> chains = plan::find_chains(plan);
    Plan shared = plan::share_in_chains(plan, chains);
    plan::verify(shared, plan::Phases::several);
    EXPECT_EQ(plan::find_chains(shared), chains) << text;
    EXPECT_EQ(shared.sweeps.size(), plan.sweeps.size());
    EXPECT_EQ(shared.scalars.size(), plan.scalars.size());
    EXPECT_GE(shared.arrays.size(), plan.arrays.size());
    for (std::size_t a = 0; a < plan.arrays.size(); ++a)
        EXPECT_EQ(shared.arrays[plan::ArrayId(a)].name, plan.arrays[plan::ArrayId(a)].name);
    return shared;
}

std::size_t new_arrays(std::string_view text) { return shared(text).arrays.size() - fused(text).arrays.size(); }

int calls(const plan::Sweep& sweep, std::string_view map) {
    int calls = 0;
    for (const Instruction& i : sweep.code) calls += i.map != nullptr && i.map->name == map;
    return calls;
}

TEST(ShareInChains, softmax_computes_each_exponential_once) {
    const Plan plan = shared("f(x: f32[i, k]) let m = max(x over [k]); let e = exp(x - m); -> y = e / sum(e over [k])");
    ASSERT_EQ(plan.sweeps.size(), 3U);
    EXPECT_EQ(calls(plan.sweeps[1], "exp"), 1);
    EXPECT_EQ(calls(plan.sweeps[2], "exp"), 0);
    EXPECT_EQ(calls(plan.sweeps[2], "sub"), 0);
    EXPECT_EQ(plan.sweeps[2].after, std::vector{plan::SweepId(1)}); // no longer after the maximum
    EXPECT_EQ(plan.arrays.back().dims, plan.sweeps[2].dims);
    EXPECT_EQ(plan.arrays.back().type, DType::f32);
}

TEST(ShareInChains, values_of_halves_are_kept_as_they_were_computed) {
    const Plan plan = shared("f(x: bf16[i, k]) let e = exp(x - max(x over [k])); -> y = e / sum(e over [k])");
    EXPECT_EQ(calls(plan.sweeps[2], "exp"), 0);
    EXPECT_EQ(plan.arrays.back().type, DType::f32);
}

TEST(ShareInChains, the_last_of_values_that_follow_from_each_other_is_kept) {
    EXPECT_EQ(new_arrays("f(x: f32[i, k]) let e = sqrt(1 + exp(x - max(x over [k]))) * 2; -> y = e / sum(e over [k])"),
              1U);
}

TEST(ShareInChains, a_value_that_three_sweeps_compute_is_kept_once) {
    const auto* const text =
        "f(x: f32[i, k]) let e = exp(x); let d = e / sum(e over [k]); -> y = d + e * max(d over [k])";
    const Plan plan = shared(text);
    int of_all = 0;
    for (const plan::Sweep& sweep : plan.sweeps) of_all += calls(sweep, "exp");
    EXPECT_EQ(of_all, 1);
}

TEST(ShareInChains, values_without_a_function_are_computed_again) {
    EXPECT_EQ(new_arrays("f(x: f32[i, k]) let d = x - mean(x over [k]); -> y = d / max(abs(d) over [k])"), 0U);
}

TEST(ShareInChains, what_a_row_needs_is_computed_by_the_sweep_that_folds_it) {
    const Plan plan = shared("f(x: f32[i, k]) -> y = (x - mean(x over [k])) * (1 / sqrt(variance(x over [k]) + 1e-5))");
    ASSERT_EQ(plan.sweeps.size(), 2U);
    EXPECT_EQ(calls(plan.sweeps[0], "sqrt"), 1);
    EXPECT_EQ(calls(plan.sweeps[1], "sqrt"), 0);
    EXPECT_EQ(calls(plan.sweeps[1], "divide"), 0);
    EXPECT_EQ(plan.arrays.back().dims.size(), 1U);
}

TEST(ShareInChains, what_also_needs_an_input_of_rows_stays_where_it_is) {
    EXPECT_EQ(new_arrays("f(x: f32[i, k], w: f32[i]) -> y = x * (sqrt(sum(x * x over [k])) + w)"), 1U); // the root
    EXPECT_EQ(new_arrays("f(x: f32[i, k], w: f32[i]) -> y = x * (sum(x * x over [k]) + w)"), 0U);
}

TEST(ShareInChains, what_needs_the_results_of_two_sweeps_stays_where_it_is) {
    EXPECT_EQ(new_arrays("f(x: f32[i, k]) let m = max(x over [k]); -> y = x * (m / sum(exp(x - m) over [k]))"), 0U);
}

TEST(ShareInChains, results_rounded_to_halves_are_not_those_that_the_fold_computed) {
    EXPECT_EQ(new_arrays("f(x: f16[i, k]) let m = max(x over [k]); -> m = m, y = x * sqrt(m)"), 0U);
}

TEST(ShareInChains, plans_without_chains_stay_as_they_are) {
    EXPECT_EQ(new_arrays("f(x: f32[i, k]) -> y = exp(x), s = sum(exp(x) over [i])"), 0U);
    EXPECT_EQ(new_arrays("f(x: f32[n]) -> y = exp(x) / sum(exp(x))"), 0U);
}

} // namespace
} // namespace gf
