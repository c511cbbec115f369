// Sweeps of the same rows become one sweep with phases: which do, which do not, and what the joined sweep contains.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>

#include "fusion/plans_of_text.hpp"
#include "plan/join_phases.hpp"
#include "plan/verify.hpp"

namespace gf {
namespace {

using namespace test;
using plan::Chain;

constexpr auto softmax = "f(x: f32[i, k]) let m = max(x over [k]); let e = exp(x - m); -> y = e / sum(e over [k])";

std::vector<Chain> chains_of(std::string_view text) { return plan::find_chains(fused(text)); }

Plan joined(std::string_view text) {
    const Plan plan = fused(text);
    Plan joined = plan::join_phases(plan, plan::find_chains(plan));
    plan::verify(joined, plan::Phases::several);
    return joined;
}

TEST(JoinPhases, softmax_is_one_sweep_of_three_phases_that_loads_once) {
    const Plan plan = joined(softmax);
    ASSERT_EQ(plan.sweeps.size(), 1U);
    const plan::Sweep& sweep = plan.sweeps[0];
    EXPECT_EQ(plan::phase_count(sweep), 3);
    EXPECT_EQ(count(sweep, Opcode::load), 1);
    EXPECT_EQ(sweep.folds.size(), 2U);
    EXPECT_EQ(sweep.folds[1].phase, 1);
    ASSERT_EQ(sweep.stores.size(), 1U); // y alone: the maximum and the sum are not stored
    EXPECT_EQ(sweep.code[sweep.stores[0].value].phase, 2);
}

TEST(JoinPhases, a_function_that_two_sweeps_compute_is_one_value) {
    int calls = 0;
    const Plan plan = joined(softmax);
    for (const Instruction& i : plan.sweeps[0].code) calls += i.map != nullptr && i.map->name == "exp";
    EXPECT_EQ(calls, 1);
}

TEST(JoinPhases, results_of_rows_are_stored_if_they_are_outputs) {
    const Plan plan = joined("f(x: f32[i, k]) let m = mean(x over [k]); -> m = m, d = x - m");
    ASSERT_EQ(plan.sweeps.size(), 1U);
    EXPECT_EQ(plan.sweeps[0].stores.size(), 2U);
}

TEST(JoinPhases, values_of_rows_are_computed_once_a_row) {
    const Plan plan = joined("f(x: f32[i, k], w: f32[i]) -> y = x * sqrt(mean(x over [k]) + w)");
    ASSERT_EQ(plan.sweeps.size(), 1U);
    const plan::Sweep& sweep = plan.sweeps[0];
    for (const Instruction& i : sweep.code)
        if (i.map != nullptr && i.map->name == "sqrt") {
            EXPECT_TRUE(is_per_result(sweep, i));
        }
}

TEST(JoinPhases, columns_and_whole_folds_are_no_chains) {
    EXPECT_TRUE(chains_of("f(x: f32[i, k]) -> y = x - mean(x over [i])").empty());
    EXPECT_TRUE(chains_of("f(x: f32[n]) -> y = x - mean(x)").empty());
}

Plan joined_all(std::string_view text) {
    const Plan plan = fused(text);
    Plan joined = plan::join_phases(plan, plan::find_chains(plan, plan::Folded::rows_or_all));
    plan::verify(joined, plan::Phases::several);
    return joined;
}

TEST(JoinPhases, a_z_score_of_a_whole_array_is_one_sweep_that_loads_once) {
    const Plan plan = joined_all("f(x: f32[n]) let m = mean(x); -> z = (x - m) / stddev(x), m = m");
    ASSERT_EQ(plan.sweeps.size(), 1U);
    const plan::Sweep& sweep = plan.sweeps[0];
    EXPECT_EQ(plan::phase_count(sweep), 2);
    EXPECT_EQ(count(sweep, Opcode::load), 1);
    EXPECT_EQ(count(sweep, Opcode::read), 0);
    ASSERT_EQ(sweep.yields.size(), 1U); // m alone: the deviation only passes from phase to phase
    EXPECT_EQ(sweep.code[sweep.yields[0].value].phase, 1);
}

TEST(JoinPhases, whether_a_scalar_is_empty_is_known_to_later_phases) {
    const Plan plan = joined_all("f(x: i32[n]) let m = max(x where x > 3); -> m = m, d = sum(x - m)");
    ASSERT_EQ(plan.sweeps.size(), 1U);
    EXPECT_EQ(count(plan.sweeps[0], Opcode::is_empty), 0);
    EXPECT_EQ(plan.sweeps[0].yields.size(), 2U);
}

TEST(JoinPhases, whole_arrays_and_rows_are_chains_of_their_own) {
    const Plan plan = joined_all("f(x: f32[i, k]) let d = x - mean(x over [k]); -> y = d / max(d)");
    EXPECT_EQ(plan.sweeps.size(), 2U); // the mean of rows with the maximum of all, then the map
    EXPECT_TRUE(chains_of("f(x: f32[n]) -> y = x / max(x)").empty());
}

TEST(JoinPhases, a_whole_fold_takes_no_sweep_from_a_chain_of_rows) {
    const Plan plan = fused("f(x: f32[i, k]) let s = sum(x); let m = max(x over [k]); -> y = (x - m) * s");
    EXPECT_EQ(plan::find_chains(plan, plan::Folded::rows_or_all), plan::find_chains(plan));
}

TEST(JoinPhases, unfused_sweeps_stay_apart) { EXPECT_TRUE(plan::find_chains(unfused(softmax)).empty()); }

TEST(JoinPhases, a_sweep_of_the_rows_results_between_two_keeps_them_apart) {
    // The mean of the rows' maxima is known only after the last row.
    EXPECT_TRUE(chains_of("f(x: f32[i, k]) -> y = x - mean(max(x over [k]))").empty());
}

TEST(JoinPhases, chains_that_would_wait_for_each_other_are_not_both_joined) {
    const Plan plan = fused("f(x: f32[i, k], y: f32[i, j]) let mx = max(x over [k]); let my = max(y over [j]); "
                            "-> a = sum(exp(x - mx + my) over [k]), b = sum(exp(y - my + mx) over [j])");
    const std::vector<Chain> chains = plan::find_chains(plan);
    ASSERT_EQ(chains.size(), 1U);
    const Plan joined = plan::join_phases(plan, chains);
    plan::verify(joined, plan::Phases::several);
    EXPECT_EQ(joined.sweeps.size(), plan.sweeps.size() - 1);
}

TEST(JoinPhases, a_sweep_with_other_kept_dims_is_left_out) {
    const Plan plan =
        fused("f(x: f32[i, k]) let d = x - mean(x over [k]); -> r = sum(d * d over [k]), c = max(d over [i])");
    const std::vector<Chain> chains = plan::find_chains(plan);
    ASSERT_EQ(chains.size(), 1U);
    const Plan joined = plan::join_phases(plan, chains);
    plan::verify(joined, plan::Phases::several);
    EXPECT_EQ(joined.sweeps.size(), 2U);
    EXPECT_EQ(joined.sweeps[1].after, std::vector{SweepId(0)}); // it loads the mean, which therefore is stored
    EXPECT_EQ(joined.sweeps[0].stores.size(), 2U);
}

TEST(JoinPhases, a_result_computed_with_a_coordinate_keeps_its_sweep) {
    EXPECT_TRUE(chains_of("f(x: f32[i, k]) -> y = x - mean(x over [k]) * f32(index(i))").empty());
}

TEST(JoinPhases, outputs_in_an_order_of_their_own_and_neighbours_of_a_result_keep_their_sweeps) {
    EXPECT_TRUE(chains_of("f(x: f32[i, k]) -> y[k, i] = x - mean(x over [k])").empty());
    EXPECT_TRUE(chains_of("f(x: f32[i, k]) let m = mean(x over [k]); -> y = x - shift(m, i, -1, edge = 0)").empty());
    EXPECT_EQ(chains_of("f(x: f32[i, k]) -> y = shift(x, k, -1, edge = 0) - mean(x over [k])").size(), 1U);
}

TEST(JoinPhases, sweeps_that_wait_for_a_chain_come_after_it) {
    const Plan plan = joined("f(x: f32[i, k]) let m = max(x over [k]); let e = exp(x - m); "
                             "-> y = e / sum(e over [k]), s = sum(m), z = x - m");
    for (std::size_t s = 0; s < plan.sweeps.size(); ++s)
        for (const SweepId earlier : plan.sweeps[s].after) EXPECT_LT(earlier, SweepId(s));
}

} // namespace
} // namespace gf
