// Kernels of held rows: they compile for every architecture, for each way of holding a row.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <gridfold/core/nvrtc.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/op_macros.hpp>
#include <gridfold/ops/text.hpp>

#include "cuda/emit_cuda.hpp"
#include "plan/join_phases.hpp"

GRIDFOLD_MAP(inverse_of_positive, 1, floating, "1 / a, for a > 0", T(1) / a)

namespace {

using gf::cuda::Problems;
using gf::cuda::RowFacts;
using gf::plan::SweepId;

constexpr std::string_view graphs[] = {
    "softmax(x: bf16[i, k]) let m = max(x over [k]); let e = exp(f32(x) - f32(m)); -> y = bf16(e / sum(e over [k]))",
    "norm(x: f32[i, k], g: f32[k]) let d = x - mean(x over [k]); -> y = d / sqrt(variance(x over [k]) + 0.1) * g",
    "deep(x: f64[i, k], m: bool[i, k], w: i64[i]) let a = argmax(x where m over [k]); let b = sum(x * f64(a + w) over "
    "[k]); -> b = b, y = i32(x) - i32(b) * i32(index(k))"};

RowFacts rows_of(std::int64_t length, int alignment, std::int64_t blocks = 1'000) {
    const gf::FoldOrder order = gf::fold_order(length);
    return {length, blocks, alignment, length, (order.slabs + order.blocks - 1) / order.blocks};
}

/// The joined plan of a graph, which is one sweep.
gf::Plan joined(std::string_view graph) {
    const gf::Plan plan = gf::fuse(gf::parse(graph));
    return gf::plan::join_phases(plan, gf::plan::find_chains(plan));
}

TEST(EmitPhases, kernels_of_held_rows_compile_for_every_architecture) {
    if (const std::string reason = gf::nvrtc::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    for (const std::string_view graph : graphs) {
        const gf::Plan plan = joined(graph);
        ASSERT_EQ(plan.sweeps.size(), 1U);
        for (const RowFacts& rows : {rows_of(20, 4), rows_of(1'000, 8), rows_of(5'001, 1), rows_of(16'384, 16),
                                     rows_of(25, 1, 1 << 20)}) // by threads
            for (const Problems problems : {Problems::one, Problems::many}) {
                if (rows.longest > 10'000 && graph == graphs[2]) continue; // its rows cannot be held
                auto schedule = gf::cuda::for_held_rows(rows, plan, plan.sweeps[0], problems);
                ASSERT_TRUE(schedule) << graph << " of " << rows.longest;
                if (rows.alignment < 8) *schedule = gf::cuda::for_unaligned(plan, plan.sweeps[0], *schedule);
                const std::string source = gf::cuda::emit_cuda(plan, SweepId(0), *schedule).source;
                for (const char* target : {"sm_75", "sm_90", "sm_120"}) {
                    if (problems == Problems::many && target != std::string_view("sm_90")) continue;
                    EXPECT_FALSE(gf::nvrtc::compile(source, target, gf::cuda::compiler_options(false)).image.empty())
                        << graph << " of " << rows.longest << " for " << target;
                }
            }
    }
}

TEST(EmitPhases, short_rows_of_as_many_packs_have_one_kernel) {
    const gf::Plan plan = joined(graphs[0]);
    const auto of = [&](std::int64_t length) {
        return gf::cuda::for_held_rows(rows_of(length, 1, 1 << 20), plan, plan.sweeps[0], Problems::one);
    };
    EXPECT_EQ(of(113)->course, gf::cuda::Course::held_thread_rows);
    EXPECT_EQ(of(113), of(127));
    EXPECT_NE(of(127), of(129));
}

// Neighbouring threads would read elements that lie a row apart.
TEST(EmitPhases, threads_hold_no_rows_whose_elements_are_gathered) {
    for (const auto& [bias, held] : {std::pair("k, i", false), std::pair("k", true), std::pair("i", true)}) {
        const gf::Plan plan =
            joined(std::string("f(x: f32[i, k], u: f32[") + bias + "]) let z = x + u; -> y = z - max(z over [k])");
        const auto chosen = gf::cuda::for_held_rows(rows_of(25, 1, 1 << 20), plan, plan.sweeps[0], Problems::one);
        EXPECT_EQ(chosen->course == gf::cuda::Course::held_thread_rows, held) << bias;
    }
}

TEST(EmitPhases, products_bound_quotients_whose_order_is_kept_until_they_are_rounded_to_bfloat16) {
    const auto are_bounded = [](const char* results, const char* array) {
        const gf::Plan plan = joined(std::string("f(x: bf16[i, k], g: f32[k]) let s = sum(f32(x) over [k]); let q = "
                                                 "f32(x) / s; -> y = ") +
                                     results + array);
        const auto schedule = gf::cuda::for_held_rows(rows_of(1'000, 8), plan, plan.sweeps[0], Problems::one);
        const std::string source = gf::cuda::emit_cuda(plan, SweepId(0), *schedule).source;
        return source.find("rounds_quotients = true") != std::string::npos;
    };
    EXPECT_TRUE(are_bounded("bf16(q)", ""));
    EXPECT_TRUE(are_bounded("bf16(-(q * g + 1.5) - g)", ""));
    EXPECT_TRUE(are_bounded("bf16(q)", ", z = bf16(g - q)"));
    EXPECT_FALSE(are_bounded("bf16(q * q)", "")) << "no monotonic function";
    EXPECT_FALSE(are_bounded("bf16(q * (1.0 - q))", "")) << "no monotonic function";
    EXPECT_FALSE(are_bounded("bf16((q - g) * g)", "")) << "infinities of both signs times 0";
    EXPECT_FALSE(are_bounded("bf16(exp(q))", "")) << "errors of functions are not monotonic";
    EXPECT_FALSE(are_bounded("q", "")) << "products mostly differ in f32";
    EXPECT_FALSE(are_bounded("bf16(q)", ", z = q")) << "a result is not rounded";
}

TEST(EmitPhases, the_packs_of_a_thread_hold_rows_of_every_length) {
    const auto is_power_of_2 = [](int x) { return std::has_single_bit(unsigned(x)); };
    for (const std::string_view graph : graphs) {
        const gf::Plan plan = joined(graph);
        for (std::int64_t length = 1; length <= 4'200; ++length)
            for (const int alignment : {1, int(std::gcd(length, std::int64_t{16}))}) {
                RowFacts rows = rows_of(length, alignment);
                rows.stored_alignment = alignment;
                rows.packs_aligned = true;
                const auto chosen = gf::cuda::for_held_rows(rows, plan, plan.sweeps[0], Problems::one);
                if (!chosen) continue;
                SCOPED_TRACE(std::string(graph) + " of " + std::to_string(length));
                const std::int64_t slab = std::int64_t{chosen->row_threads} * chosen->row_packs * chosen->slab_warps *
                                          chosen->width; // elements
                ASSERT_GE(slab, std::min(length, gf::slab_elements));
                ASSERT_TRUE(!chosen->whole_slabs || length % slab == 0);
                ASSERT_TRUE(!chosen->whole_packs || length % chosen->width == 0);
                ASSERT_LE(int(std::bit_ceil(unsigned(chosen->row_packs))), chosen->row_threads);
                ASSERT_EQ(chosen->packs % chosen->in_flight, 0);
                ASSERT_TRUE(chosen->in_flight == chosen->packs || is_power_of_2(chosen->in_flight));
                ASSERT_TRUE(chosen->packs == chosen->row_packs ||
                            (is_power_of_2(chosen->packs) && is_power_of_2(chosen->row_packs)));
            }
    }
}

TEST(EmitPhases, a_function_of_elements_is_called_in_one_phase) {
    const gf::Plan plan = joined(graphs[0]);
    const auto schedule = gf::cuda::for_held_rows(rows_of(1'000, 8), plan, plan.sweeps[0], Problems::one);
    ASSERT_TRUE(schedule && schedule->holds_values);
    const std::string text = gf::cuda::emit_cuda(plan, SweepId(0), *schedule).source;
    const std::string call = "exp_of_nonpositive(v";
    EXPECT_NE(text.find(call), std::string::npos);
    EXPECT_EQ(text.find(call, text.find(call) + 1), std::string::npos) << "called in two phases";
}

TEST(EmitPhases, exp_of_a_difference_from_a_maximum_is_that_of_a_nonpositive_number) {
    const auto calls = [](std::string_view exponent, const std::string& type = "f32") {
        const gf::Plan plan = joined("f(x: " + type + "[i, k], z: f32[i, k]) let e = exp(" + std::string(exponent) +
                                     "); -> y = e / sum(e over [k])");
        const auto schedule = gf::cuda::for_held_rows(rows_of(1'000, 8), plan, plan.sweeps[0], Problems::one);
        const std::string text = gf::cuda::emit_cuda(plan, SweepId(0), *schedule).source;
        return text.find("exp_of_nonpositive(v") != std::string::npos ||
               text.find("called(at, callable::exp_of_nonpositive{}") != std::string::npos;
    };
    EXPECT_TRUE(calls("x - max(x over [k])"));
    EXPECT_TRUE(calls("x - max(x over [k])", "f64"));
    EXPECT_FALSE(calls("f64(x - max(x over [k]))", "i32")) << "a difference of integers may wrap";
    EXPECT_FALSE(calls("f32(x) - f32(max(x over [k]))", "i32")) << "a conversion may round";
    EXPECT_FALSE(calls("x - max(x where x < 1.0 over [k])"));
    EXPECT_FALSE(calls("x - max(z over [k])"));
    EXPECT_FALSE(calls("x - min(x over [k])"));
    EXPECT_FALSE(calls("max(x over [k]) - x"));
    EXPECT_FALSE(calls("x + max(x over [k])"));
}

TEST(EmitPhases, functions_of_whole_packs_are_asked_for_plain_operands) {
    const auto asks = [](const std::string& value, std::int64_t length) {
        const gf::Plan plan =
            joined("f(h: bf16[i, k]) let x = f32(h); let e = " + value + "; -> y = e / sum(e over [k])");
        RowFacts rows = rows_of(length, int(std::gcd(length, 16)));
        rows.stored_alignment = rows.alignment;
        rows.packs_aligned = true;
        const auto schedule = gf::cuda::for_held_rows(rows, plan, plan.sweeps[0], Problems::one);
        return gf::cuda::emit_cuda(plan, SweepId(0), *schedule).source.find("calls = true") != std::string::npos;
    };
    for (const std::int64_t length : {1'024, 4'096, 5'120}) EXPECT_TRUE(asks("exp(x)", length)) << length;
    EXPECT_FALSE(asks("exp(x)", 1'000)) << "some packs in registers are empty";
    EXPECT_FALSE(asks("sin(x)", 4'096)) << "it has no form worth asking for";
    EXPECT_FALSE(asks("inverse_of_positive(exp(x))", 4'096)) << "while operands are asked, the user's map would get 0";
    EXPECT_TRUE(asks("exp(inverse_of_positive(x))", 4'096));
    const gf::Plan nested = joined("f(x: f32[i, k]) let e = exp(log(x)); -> y = e / sum(e over [k])");
    const auto schedule = gf::cuda::for_held_rows(rows_of(4'096, 16), nested, nested.sweeps[0], Problems::one);
    const std::string text = gf::cuda::emit_cuda(nested, SweepId(0), *schedule).source;
    EXPECT_NE(text.find("called(at, callable::log{}"), std::string::npos);
    EXPECT_EQ(text.find("called(at, callable::exp{}"), std::string::npos) << "its operand depends on the logarithm";
}

TEST(EmitPhases, rows_that_registers_and_shared_memory_cannot_hold_have_no_schedule) {
    const gf::Plan plan = joined(graphs[1]);
    EXPECT_FALSE(gf::cuda::for_held_rows(rows_of(1 << 20, 16), plan, plan.sweeps[0], Problems::one));
    for (const std::int64_t length : {1LL << 33, 1LL << 40})
        EXPECT_FALSE(
            gf::cuda::for_held_rows(rows_of(length, 16), plan, plan.sweeps[0], Problems::one, {.cluster = 16}));
}

TEST(EmitPhases, cooperative_grids_hold_rows_that_a_cluster_cannot) {
    const gf::Plan plan = joined(graphs[0]);
    const auto schedule_of = [&](std::int64_t length) {
        return gf::cuda::for_held_rows(rows_of(length, 16), plan, plan.sweeps[0], Problems::one,
                                       {.cluster = 16, .multiprocessors = 132});
    };
    EXPECT_FALSE(schedule_of(524'288)->cooperates); // in a cluster of sixteen
    ASSERT_TRUE(schedule_of(1 << 21));
    EXPECT_TRUE(schedule_of(1 << 21)->cooperates);
    EXPECT_EQ(schedule_of(1 << 21)->cluster, 128);
    EXPECT_FALSE(schedule_of(1 << 26)) << "more than the device can hold";
    if (const std::string reason = gf::nvrtc::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    for (const char* target : {"sm_75", "sm_90", "sm_120"})
        EXPECT_FALSE(gf::nvrtc::compile(gf::cuda::emit_cuda(plan, SweepId(0), *schedule_of(1 << 21)).source, target,
                                        gf::cuda::compiler_options(false))
                         .image.empty())
            << target;
}

TEST(EmitPhases, whole_arrays_cooperate_from_a_number_of_elements_on) {
    const auto cooperates = [](const char* text, std::int64_t length) {
        const gf::Plan apart = gf::fuse(gf::parse(text));
        const gf::Plan plan = gf::plan::join_phases(apart, gf::plan::find_chains(apart, gf::plan::Folded::rows_or_all));
        return gf::cuda::for_held_rows(rows_of(length, 16), plan, plan.sweeps[0], Problems::one,
                                       {.cluster = 16, .multiprocessors = 132})
            .has_value();
    };
    constexpr auto two = "f(x: f32[n]) -> z = x / max(x)",
                   three = "f(x: f32[n]) let e = exp(x - max(x)); -> z = e / sum(e)";
    EXPECT_FALSE(cooperates(two, 1 << 20));
    EXPECT_TRUE(cooperates(two, 1 << 22));
    EXPECT_FALSE(cooperates(two, 1 << 24)) << "more than the device can hold";
    EXPECT_FALSE(cooperates(three, 1 << 17));
    EXPECT_TRUE(cooperates(three, 1 << 20));
}

TEST(EmitPhases, rows_take_turns_where_the_grid_may_be_smaller) {
    const gf::Plan plan = joined(graphs[0]);
    const auto has_one_turn = [&](const RowFacts& rows, Problems problems) {
        return gf::cuda::for_held_rows(rows, plan, plan.sweeps[0], problems, {.cluster = 16, .multiprocessors = 132})
            ->one_turn;
    };
    for (const std::int64_t length : {25, 1'000, 5'001, 65'536}) {
        EXPECT_TRUE(has_one_turn(rows_of(length, 1, 1 << 20), Problems::one)) << length;
        EXPECT_FALSE(has_one_turn(rows_of(length, 1, 1 << 20), Problems::many)) << length;
        EXPECT_TRUE(has_one_turn(rows_of(length, 1, 0x7fffffff), Problems::one)) << length;
        EXPECT_FALSE(has_one_turn(rows_of(length, 1, 0x80000000), Problems::one)) << length; // beyond CUDA's limit
    }
    EXPECT_FALSE(has_one_turn(rows_of(1 << 21, 16), Problems::one)) << "thread blocks cooperate";

    const gf::Plan sums = gf::fuse(gf::parse("f(x: f32[i, k]) -> s = sum(x over [k])"));
    const auto has_sums_in_one_turn = [&](const RowFacts& rows, Problems problems) {
        const gf::cuda::Schedule of_rows = gf::cuda::choose_schedule(sums, sums.sweeps[0], problems);
        return gf::cuda::for_rows(rows, sums, sums.sweeps[0], of_rows, {.cluster = 16}).one_turn;
    };
    for (const std::int64_t length : {3, 64, 1'001, 16'384}) { // by threads, by warps, by runs, of several blocks
        EXPECT_TRUE(has_sums_in_one_turn(rows_of(length, 1, 1 << 20), Problems::one)) << length;
        EXPECT_FALSE(has_sums_in_one_turn(rows_of(length, 1, 1 << 20), Problems::many)) << length;
        EXPECT_FALSE(has_sums_in_one_turn(rows_of(length, 1, 0x80000000), Problems::one)) << length;
    }
}

TEST(EmitPhases, kernels_of_rows_of_equal_whole_slabs_know_their_length) {
    const gf::Plan plan = joined(graphs[0]);
    const auto kernel_of = [&](std::int64_t length) {
        RowFacts rows = rows_of(length, 16, 1 << 20);
        rows.stored_alignment = 16;
        rows.packs_aligned = true;
        return gf::cuda::emit_cuda(plan, SweepId(0),
                                   *gf::cuda::for_held_rows(rows, plan, plan.sweeps[0], Problems::one));
    };
    const auto takes = [](const gf::cuda::Kernel& kernel, gf::cuda::ParameterKind kind) {
        return std::ranges::find(kernel.parameters, kind, &gf::cuda::KernelParameter::kind) != kernel.parameters.end();
    };
    const gf::cuda::Kernel of_16_384 = kernel_of(16'384), of_16_400 = kernel_of(16'400);
    EXPECT_NE(of_16_384.source.find("i64 elements = 16384, part_blocks = 4;"), std::string::npos);
    for (const auto kind : {gf::cuda::ParameterKind::elements, gf::cuda::ParameterKind::part_blocks}) {
        EXPECT_FALSE(takes(of_16_384, kind));
        EXPECT_TRUE(takes(of_16_400, kind));
    }
}

TEST(EmitPhases, clusters_hold_rows_that_a_thread_block_cannot) {
    const gf::Plan plan = joined(graphs[0]);
    const auto schedule_of = [&](std::int64_t length, int most_cluster) {
        return gf::cuda::for_held_rows(rows_of(length, length % 16 == 0 ? 16 : 1), plan, plan.sweeps[0], Problems::one,
                                       {.cluster = most_cluster});
    };
    EXPECT_EQ(schedule_of(16'384, 16)->cluster, 1);
    EXPECT_EQ(schedule_of(65'536, 16)->cluster, 4);
    EXPECT_EQ(schedule_of(50'257, 16)->cluster, 7) << "13 blocks, two a thread block";
    EXPECT_EQ(schedule_of(262'144, 8)->cluster, 8);
    EXPECT_EQ(schedule_of(524'288, 16)->cluster, 16);
    EXPECT_FALSE(schedule_of(1 << 20, 8));
    EXPECT_EQ(schedule_of(1 << 20, 16)->cluster, 16);
    EXPECT_FALSE(schedule_of(1 << 21, 16));
    if (const std::string reason = gf::nvrtc::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    for (const char* target : {"sm_90", "sm_100", "sm_120"})
        EXPECT_FALSE(gf::nvrtc::compile(gf::cuda::emit_cuda(plan, SweepId(0), *schedule_of(524'288, 16)).source, target,
                                        gf::cuda::compiler_options(false))
                         .image.empty())
            << target;
}

} // namespace
