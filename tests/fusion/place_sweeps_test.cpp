// From graphs to sweeps: their number, domains, order and contents.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/expr.hpp>
#include <gridfold/ops/text.hpp>

#include "fusion/plans_of_text.hpp"
#include "passes/place_sweeps.hpp"

namespace gf {
namespace {

using namespace test;

TEST(PlaceSweeps, the_reason_of_a_sweep_leaves_out_the_middle_of_a_long_path) {
    const Plan plan = fused("f(x: f32[n]) let m = mean(x); -> z = abs(sqrt(neg(floor(ceil(trunc(round(x - m)))))))");
    ASSERT_EQ(plan.sweeps.size(), 2U);
    EXPECT_EQ(plan.sweeps[1].reason, "mean → … → trunc → ceil → floor → neg → sqrt → abs → z");
}

TEST(PlaceSweeps, sum_of_cubes_is_one_sweep_with_one_load) {
    const Plan plan = fused("f(x: i32[n]) -> r = sum(x * x * x)");
    ASSERT_EQ(plan.sweeps.size(), 1U);
    EXPECT_EQ(count(plan.sweeps[0], Opcode::load), 1);
    EXPECT_EQ(count(plan.sweeps[0], Opcode::map), 2);
    ASSERT_EQ(plan.sweeps[0].folds.size(), 1U);
    EXPECT_EQ(plan.sweeps[0].folds[0].accumulator, DType::i64);
    EXPECT_EQ(plan.scalars[0].type, DType::i64);
}

TEST(PlaceSweeps, reductions_and_stores_of_any_type_over_one_domain_are_one_sweep) {
    const Plan plan =
        fused("f(x: f32[n], y: i8[n]) -> a = sum(x), b = max(y), c = argmin(x * 2), d = x * f32(y), e = any(x > 0)");
    ASSERT_EQ(plan.sweeps.size(), 1U);
    EXPECT_EQ(plan.sweeps[0].folds.size(), 4U);
    EXPECT_EQ(plan.sweeps[0].stores.size(), 1U);
    EXPECT_EQ(count(plan.sweeps[0], Opcode::load), 2);
}

TEST(PlaceSweeps, the_dozen_statistics_are_one_sweep) {
    const Plan plan =
        fused("f(x: f32[n]) -> a = sum(x), b = sum_of_squares(x), c = l2_norm(x), d = mean(x), e = variance(x), "
              "g = stddev(x), h = min(x), i = max(x), j = count(x > 0), k = argmin(x), l = argmax(x), m = product(x)");
    EXPECT_EQ(plan.sweeps.size(), 1U);
}

TEST(PlaceSweeps, z_score_is_two_sweeps) {
    const Plan plan = fused("f(x: f32[n]) -> z = (x - mean(x)) / stddev(x)");
    ASSERT_EQ(plan.sweeps.size(), 2U);
    EXPECT_EQ(plan.sweeps[0].folds.size(), 1U); // mean and stddev share their moments
    EXPECT_EQ(plan.sweeps[1].stage, 1);
    EXPECT_EQ(plan.sweeps[1].after, std::vector{SweepId(0)});
    EXPECT_EQ(plan.sweeps[1].reason, "mean → sub → divide → z");
    EXPECT_EQ(count(plan.sweeps[1], Opcode::read), 2);
}

TEST(PlaceSweeps, normalise_takes_its_square_root_once_beside_the_sweep) {
    const Plan plan = fused("f(x: f32[n]) -> r = x / sqrt(sum(x * x))");
    ASSERT_EQ(plan.sweeps.size(), 2U);
    const Sweep& second = plan.sweeps[1];
    EXPECT_EQ(values_where(second, is_once_before).size(), 2U); // read the sum, take its root
    EXPECT_EQ(second.code[1].map, &map_op::sqrt);
}

TEST(PlaceSweeps, a_chain_of_reductions_has_a_stage_for_each) {
    const Plan plan = fused("f(x: f64[n]) let a = x - mean(x); let b = a / max(abs(a)); -> r = sum(b), s = sum(a)");
    ASSERT_EQ(plan.sweeps.size(), 3U);
    EXPECT_EQ(plan.sweeps[1].folds.size(), 2U); // max and s
    EXPECT_EQ(plan.sweeps[2].after, (std::vector{SweepId(0), SweepId(1)}));
    EXPECT_EQ(count(plan.sweeps[2], Opcode::load), 1); // recomputed from x
    EXPECT_EQ(plan.arrays.size(), 1U);
}

TEST(PlaceSweeps, each_value_has_the_dims_that_it_varies_along) {
    const Plan plan = fused("f(x: f32[i, j], w: f32[j], a: f32) -> r = sum(x * (w * a) + f32(index(i))) / a");
    ASSERT_EQ(plan.sweeps.size(), 1U);
    const Sweep& sweep = plan.sweeps[0];
    const DimSet i = DimSet::of(0), j = DimSet::of(1), both = DimSet::first(2);
    for (const Instruction& instruction : sweep.code) {
        SCOPED_TRACE(to_text(plan));
        if (instruction.opcode == Opcode::index || instruction.opcode == Opcode::cast) {
            EXPECT_EQ(instruction.domain, i);
        }
        if (instruction.opcode == Opcode::parameter) {
            EXPECT_TRUE(is_once_before(instruction));
        }
        if (instruction.map == &map_op::add) {
            EXPECT_EQ(instruction.domain, both);
        }
        if (instruction.map == &map_op::divide) {
            EXPECT_TRUE(is_after_folds(instruction));
        }
    }
    EXPECT_EQ(std::count_if(sweep.code.begin(), sweep.code.end(), [&](const Instruction& v) { return v.domain == j; }),
              2); // w, w * a
    EXPECT_TRUE(sweep.folds[0].kept.empty());
}

TEST(PlaceSweeps, each_domain_has_a_sweep_of_its_own) {
    const Plan plan = fused("f(x: f32[i], y: f32[j]) -> a = sum(x), b = sum(y), c = sum(x * y), d = x + 1");
    ASSERT_EQ(plan.sweeps.size(), 3U);
    EXPECT_EQ(plan.sweeps[0].dims, (std::vector{DimId(0)}));
    EXPECT_EQ(plan.sweeps[0].stores.size(), 1U);
    EXPECT_EQ(plan.sweeps[1].dims, (std::vector{DimId(1)}));
    EXPECT_EQ(plan.sweeps[2].dims, (std::vector{DimId(0), DimId(1)}));
    for (const Sweep& sweep : plan.sweeps) EXPECT_TRUE(sweep.after.empty());
}

TEST(PlaceSweeps, sweeps_are_ordered_by_stage_before_appearance) {
    const Plan plan = fused("f(x: f32[i], y: f32[j]) -> a = sum(x - mean(x)), b = sum(y)");
    ASSERT_EQ(plan.sweeps.size(), 3U);
    EXPECT_EQ(plan.sweeps[1].dims, (std::vector{DimId(1)}));
    EXPECT_EQ(plan.sweeps[2].after, std::vector{SweepId(0)});
}

TEST(PlaceSweeps, a_scalar_of_two_sweeps_is_made_by_the_later_one) {
    const Plan plan = fused("f(x: f32[i], y: f32[j]) -> r = sum(x) / sum(y)");
    ASSERT_EQ(plan.sweeps.size(), 2U);
    EXPECT_EQ(plan.sweeps[1].after, std::vector{SweepId(0)});
    EXPECT_EQ(values_where(plan.sweeps[1], is_once_before), std::vector{ValueId(0)});
    EXPECT_EQ(plan.sweeps[0].yields.size(), 1U);
    EXPECT_EQ(plan.sweeps[1].yields.size(), 1U); // only the quotient: no sweep reads the second sum
}

TEST(PlaceSweeps, scalars_without_a_sweep_have_one_over_the_empty_domain) {
    const Plan plan = fused("f(x: f32[n], a: f32) -> s = sum(x), p = a, q = a * a + 1, c = i32(7)");
    ASSERT_EQ(plan.sweeps.size(), 2U);
    const auto empty =
        std::find_if(plan.sweeps.begin(), plan.sweeps.end(), [](const Sweep& s) { return s.dims.empty(); });
    ASSERT_NE(empty, plan.sweeps.end());
    EXPECT_EQ(empty->yields.size(), 3U);
    EXPECT_TRUE(empty->folds.empty());
}

TEST(PlaceSweeps, a_reduction_of_a_scalar_folds_one_element) {
    const Plan plan = fused("f(x: f32[n], a: f32) -> s = sum(a), t = sum(mean(x) where a > 0)");
    ASSERT_EQ(plan.sweeps.size(), 3U);
    EXPECT_TRUE(plan.sweeps.back().dims.empty());
    EXPECT_EQ(plan.sweeps.back().stage, 1);
    const Sweep& last = plan.sweeps.back();
    EXPECT_TRUE(is_once_before(last.code[last.folds[0].value]));
}

TEST(PlaceSweeps, a_chain_of_many_stages_is_refused_before_its_square_is_walked) {
    Graph g;
    Value x = g.input<float>("x", {g.dim("n")});
    for (int i = 0; i < 30'000; ++i) x = x - mean(x);
    g.output("r", sum(x));
    try {
        fuse(g);
        FAIL() << "nothing was thrown";
    } catch (const InvalidGraph& error) {
        EXPECT_NE(std::string(error.what()).find("recompute more than 1048576 values"), std::string::npos);
    }
}

/// x + a0 + a1 + …, with `count` run-time scalars
Graph with_scalars(int count) {
    Graph g;
    Value x = g.input<float>("x", {g.dim("n")});
    for (int i = 0; i < count; ++i) x = x + g.scalar<float>(fmt::format("a{}", i));
    g.output("r", sum(x));
    return g;
}

TEST(PlaceSweeps, a_kernels_parameters_are_bounded) {
    EXPECT_EQ(fuse(with_scalars(max_sweep_parameters - 2)).sweeps.size(), 1U);
    EXPECT_THROW(fuse(with_scalars(max_sweep_parameters - 1)), InvalidGraph);
    Graph g; // scalars that only an epilogue needs
    Value s = sum(g.input<float>("x", {g.dim("n")}));
    for (int i = 0; i < max_kernel_words; ++i) s = s + g.scalar<float>(fmt::format("a{}", i));
    g.output("r", s);
    EXPECT_THROW(fuse(g), InvalidGraph);
}

TEST(PlaceSweeps, an_input_as_output_is_a_load_and_a_store) {
    const Plan plan = fused("f([i, j], x: f16[j, i]) -> r = x");
    ASSERT_EQ(plan.sweeps.size(), 1U);
    EXPECT_EQ(plan.sweeps[0].code.size(), 1U);
    EXPECT_FALSE(is_flat(plan.arrays[0], plan.sweeps[0]));
    EXPECT_TRUE(is_flat(plan.arrays[1], plan.sweeps[0]));
}

TEST(PlaceSweeps, one_value_may_be_two_results) {
    const Plan plan = fused("f(x: f32[n]) let y = x + 1; let s = sum(x); -> a = y, b = y, c = s, d = s");
    ASSERT_EQ(plan.sweeps.size(), 1U);
    EXPECT_EQ(plan.sweeps[0].stores.size(), 2U);
    EXPECT_EQ(plan.outputs[2].scalar, plan.outputs[3].scalar);
    EXPECT_NE(plan.outputs[0].array, plan.outputs[1].array);
}

TEST(PlaceSweeps, dead_values_are_in_no_sweep_but_their_inputs_stay_declared) {
    const Plan plan = fused("f(x: f32[n], y: f32[m], a: f32) let dead = mean(y) * a; -> s = sum(x)");
    EXPECT_EQ(plan.sweeps.size(), 1U);
    EXPECT_EQ(plan.arrays.size(), 2U);
    EXPECT_EQ(plan.parameters.size(), 1U);
    EXPECT_TRUE(plan.dims[1].needs_elements.empty()); // mean(y) does not run
}

TEST(PlaceSweeps, says_which_dims_must_have_elements_and_why) {
    const Plan plan = fused("f(x: f32[i], y: f32[j]) -> s = sum(x), m = max(y * 2)");
    EXPECT_TRUE(plan.dims[0].needs_elements.empty());
    EXPECT_EQ(plan.dims[1].needs_elements, (std::vector{NeedsElements{"max(mul)", {}}}));
}

TEST(PlaceSweeps, only_folded_dims_must_have_elements_and_only_where_there_are_results) {
    const Plan rows = fused("f(x: f32[i, j]) -> m = max(x over [j]), s = sum(x over [i])");
    EXPECT_TRUE(rows.dims[0].needs_elements.empty());
    EXPECT_EQ(rows.dims[1].needs_elements, (std::vector{NeedsElements{"max(x)", {DimId(0)}}}));
    const Plan both = fused("f(x: f32[i, j]) -> m = max(x over [j]), n = mean(x), l = min(x over [i])");
    EXPECT_EQ(both.dims[0].needs_elements, (std::vector{NeedsElements{"mean(x)", {}}}));
    EXPECT_EQ(both.dims[1].needs_elements, (std::vector{NeedsElements{"mean(x)", {}}}));
}

TEST(PlaceSweeps, a_mask_of_an_undefined_reduction_is_folded_once) {
    const Plan plan =
        fused("f(x: i32[n], c: bool[n]) -> a = min(x where c), b = max(x where c), d = sum(x where c), e = any(c)");
    ASSERT_EQ(plan.sweeps.size(), 1U);
    const Sweep& sweep = plan.sweeps[0];
    EXPECT_EQ(sweep.folds.size(), 4U); // min, any (of the mask and of e), max, sum
    EXPECT_TRUE(plan.scalars[plan.outputs[0].scalar].may_be_empty);
    EXPECT_TRUE(plan.scalars[plan.outputs[1].scalar].may_be_empty);
    EXPECT_FALSE(plan.scalars[plan.outputs[2].scalar].may_be_empty);
}

TEST(PlaceSweeps, emptiness_goes_with_scalars_from_sweep_to_sweep) {
    const Plan plan =
        fused("f(x: i32[n], y: i32[m], c: bool[n]) -> r = min(x where c) + max(y), e = y - min(x where c)");
    const auto& result = plan.scalars[plan.outputs[0].scalar];
    EXPECT_TRUE(result.may_be_empty);
    EXPECT_FALSE(fused("f(x: f32[n], c: bool[n]) -> r = min(x where c)").scalars[0].may_be_empty); // NaN instead
    EXPECT_FALSE(fused("f(x: i32[n]) -> r = min(x)").scalars[0].may_be_empty);                     // n = 0 is refused
}

TEST(PlaceSweeps, a_sweep_of_wide_states_splits) {
    std::string text = "f(x: f64[n]) -> first = x + 1";
    for (int k = 0; k < 9; ++k) text += ", m" + std::to_string(k) + " = mean(x * " + std::to_string(k + 2) + ")";
    text += ", v0 = variance(x * 2)";
    const Plan plan = fused(text);
    ASSERT_EQ(plan.sweeps.size(), 2U);
    EXPECT_EQ(plan.sweeps[0].folds.size(), 5U); // of 18 words each
    EXPECT_EQ(plan.sweeps[1].folds.size(), 4U);
    EXPECT_EQ(plan.sweeps[0].stores.size(), 1U);
    EXPECT_EQ(plan.sweeps[1].reason, "a sweep has no more accumulators than fit a GPU's registers");
    EXPECT_TRUE(plan.sweeps[1].after.empty());
}

TEST(PlaceSweeps, as_many_reductions_of_different_columns_fit_a_sweep_as_the_guide_says) {
    const auto sweeps = [](const char* type, const char* reduction, int columns) {
        std::string inputs, results;
        for (int k = 0; k < columns; ++k) {
            inputs += fmt::format("{}x{}: {}[n]", k ? ", " : "", k, type);
            results += fmt::format("{}r{} = {}", k ? ", " : "", k,
                                   fmt::format(fmt::runtime(reduction), fmt::arg("x", fmt::format("x{}", k))));
        }
        if (std::string_view(reduction).ends_with("ok)")) inputs += ", ok: bool[n]";
        return fused(fmt::format("f({}) -> {}", inputs, results)).sweeps.size();
    };
    struct Row {
        const char *type, *reduction;
        int most;
    };
    for (const Row& row : {Row{"f32", "sum({x})", 24},
                           {"f64", "product({x})", 12},
                           {"i32", "product({x})", 48},
                           {"i64", "sum({x})", 48},
                           {"f32", "min({x})", 64},
                           {"f64", "max({x})", 48},
                           {"i64", "min({x})", 48},
                           {"u8", "argmin({x})", 32},
                           {"f64", "argmax({x})", 24},
                           {"bool", "any({x})", 64},
                           {"bool", "count({x})", 48},
                           {"f32", "logsumexp({x})", 12},
                           {"f64", "logsumexp({x})", 6},
                           {"f32", "mean({x})", 5},
                           {"f64", "variance({x})", 5},
                           {"f32", "mean({x} where ok)", 2},
                           {"f64", "stddev({x} where ok)", 2}}) {
        EXPECT_EQ(sweeps(row.type, row.reduction, row.most), 1U) << row.type << " " << row.reduction;
        EXPECT_EQ(sweeps(row.type, row.reduction, row.most + 1), 2U) << row.type << " " << row.reduction;
    }
}

TEST(PlaceSweeps, a_sweep_is_filled_to_its_last_word_and_more_share_evenly) {
    const auto many = [](std::string_view type, std::string_view reduction, int count, std::string_view dims = "[n]",
                         std::string_view over = "") {
        std::string text = fmt::format("f(x: {}{}) -> s1 = {}(x{})", type, dims, reduction, over);
        for (int k = 2; k <= count; ++k) text += fmt::format(", s{0} = {1}(x * {0}{2})", k, reduction, over);
        std::vector<std::size_t> folds;
        for (const Sweep& sweep : fused(text).sweeps) folds.push_back(sweep.folds.size());
        return folds;
    };
    using Folds = std::vector<std::size_t>;
    EXPECT_EQ(many("f32", "sum", 24), Folds{24}); // four words each
    EXPECT_EQ(many("f32", "sum", 25), (Folds{13, 12}));
    EXPECT_EQ(many("f32", "sum", 50), (Folds{17, 17, 16}));
    EXPECT_EQ(many("i32", "max", 96), Folds{96}); // one state is enough for a thread's lanes
    EXPECT_EQ(many("i32", "max", 97), (Folds{49, 48}));
    EXPECT_EQ(many("i32", "max", 97, "[n, k]", " over [k]"), (Folds{49, 48}));
    EXPECT_EQ(many("i32", "max", 25, "[n, k]", " over [n]"), (Folds{13, 12})); // each lane is a result's own
    EXPECT_EQ(many("f64", "variance", 6), (Folds{3, 3}));
    EXPECT_EQ(many("i16", "logsumexp", 14), (Folds{5, 5, 4})); // sixteen words each, six would fit
}

TEST(PlaceSweeps, a_sweep_of_many_arrays_splits) {
    std::string parameters, outputs;
    for (int k = 0; k < 40; ++k) {
        parameters += (k ? ", x" : "x") + std::to_string(k) + ": f32[n]";
        outputs += (k ? ", r" : "r") + std::to_string(k) + " = x" + std::to_string(k) + " + 1";
    }
    const Plan plan = fused("f(" + parameters + ") -> " + outputs);
    ASSERT_EQ(plan.sweeps.size(), 2U);
    EXPECT_EQ(plan.sweeps[0].stores.size(), 32U);
    EXPECT_EQ(plan.sweeps[1].stores.size(), 8U);
}

TEST(PlaceSweeps, a_value_of_too_many_arrays_is_refused) {
    std::string parameters, total;
    for (int k = 0; k < 65; ++k) {
        parameters += (k ? ", x" : "x") + std::to_string(k) + ": f32[n]";
        total += (k ? " + x" : "x") + std::to_string(k);
    }
    EXPECT_NO_THROW(fused("f(" + parameters + ") -> r = sum(x1 + x2)"));
    try {
        fuse(parse("f(" + parameters + ") -> r = sum(" + total + ")"));
        FAIL() << "65 arrays in one sweep";
    } catch (const InvalidGraph& error) {
        EXPECT_NE(std::string(error.what()).find("reads 65 arrays"), std::string::npos) << error.what();
    }
}

TEST(PlaceNodes, every_operation_is_a_sweep_with_temporaries_between) {
    const Plan plan = unfused("f(x: f32[n]) -> z = (x - mean(x)) / sqrt(variance(x) + 1)");
    // mean, sub, variance, add, sqrt, divide
    EXPECT_EQ(plan.sweeps.size(), 6U);
    for (const Sweep& sweep : plan.sweeps) EXPECT_LE(count(sweep, Opcode::map), 1);
    EXPECT_EQ(std::count_if(plan.arrays.begin(), plan.arrays.end(),
                            [](const Array& a) { return a.role == ArrayRole::temporary; }),
              1);
}

TEST(PlaceNodes, f16_temporaries_are_f16) {
    const Plan plan = unfused("f(x: f16[n]) -> r = sum(x * x)");
    ASSERT_EQ(plan.arrays.size(), 2U);
    EXPECT_EQ(plan.arrays[1].role, ArrayRole::temporary);
    EXPECT_EQ(plan.arrays[1].type, DType::f16);
}

TEST(PlaceNodes, a_result_that_others_use_is_stored_once) {
    const Plan plan = unfused("f(x: f32[n]) let y = x + 1; -> y = y, s = sum(y)");
    EXPECT_EQ(plan.arrays.size(), 2U);
    EXPECT_EQ(plan.sweeps[1].after, std::vector{SweepId(0)});
}

TEST(Fuse, a_deep_graph_is_one_sweep) {
    Graph graph("deep");
    Value x = graph.input<float>("x", {graph.dim("n")});
    for (int k = 0; k < 10000; ++k) x = gf::neg(x) + x;
    graph.output("r", gf::sum(x));
    EXPECT_EQ(fuse(graph).sweeps.size(), 1U);
}

TEST(Fuse, more_recomputation_than_a_plan_holds_is_refused) {
    Graph graph("stages");
    Value x = graph.input<float>("x", {graph.dim("n")});
    for (int k = 0; k < 1500; ++k) x = x - gf::mean(x);
    graph.output("r", x);
    EXPECT_THROW(fuse(graph), InvalidGraph);
    FuseOptions options;
    options.fuse = false;
    EXPECT_EQ(fuse(graph, options).sweeps.size(), 3000U);
}

} // namespace
} // namespace gf
