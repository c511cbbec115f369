// The emitter: a kernel's text and shape, and its compilation for every architecture.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gridfold/core/nvrtc.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/fusion/order.hpp>
#include <gridfold/ops/text.hpp>

#include "cuda/emit_cuda.hpp"
#include "fusion/emitted.hpp"

namespace {

using gf::cuda::Problems;
using gf::test::cubes, gf::test::dozen, gf::test::emit, gf::test::holds, gf::test::kept, gf::test::schedule,
    gf::test::sweep_of;

TEST(EmitCuda, a_kernel_includes_nothing_and_holds_only_what_it_uses) {
    const std::string text = emit(cubes).source;
    EXPECT_FALSE(holds(text, "#include"));
    EXPECT_TRUE(holds(text, "struct Sum :"));
    EXPECT_TRUE(holds(text, "map_mul("));
    EXPECT_TRUE(holds(text, "finalize_sum("));
    EXPECT_FALSE(holds(text, "struct Moments {"));
    EXPECT_FALSE(holds(text, "map_add("));
    EXPECT_FALSE(holds(text, "defect:"));
    const std::string sweep = sweep_of(cubes);
    for (const char* unused : {"maybe_unused", "Stored", "gather", "prologue", "read_scalars", "shifts", "rank"})
        EXPECT_FALSE(holds(sweep, unused)) << unused;
    EXPECT_LE(std::ranges::count(sweep, '\n'), 50);
}

/// The sweeps of tests/golden/kernel. GRIDFOLD_WRITE_GOLDEN=1 rewrites them.
TEST(EmitCuda, golden_graphs_have_their_golden_sweeps) {
    const bool writes = std::getenv("GRIDFOLD_WRITE_GOLDEN") != nullptr;
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(GRIDFOLD_GOLDEN_KERNEL)) {
        std::stringstream content;
        content << std::ifstream(entry.path()).rdbuf();
        const std::string text = content.str(), rule = "=====\n", head = text.substr(0, text.find(rule)) + rule;
        const gf::Plan plan = gf::fuse(gf::parse(head.substr(0, head.size() - rule.size())));
        std::string expected = head;
        for (const gf::plan::SweepId sweep : plan.sweeps.ids())
            expected.append(sweep.number() > 0 ? "\n" : "").append(gf::cuda::sweep_text(plan, sweep));
        if (writes) std::ofstream(entry.path()) << expected;
        EXPECT_EQ(writes ? expected : text, expected) << entry.path() << ": if it is meant, GRIDFOLD_WRITE_GOLDEN=1";
        ++files;
    }
    EXPECT_EQ(files, 8);
}

TEST(EmitCuda, one_graph_is_one_text) { EXPECT_EQ(emit(dozen).source, emit(dozen).source); }

TEST(EmitCuda, an_array_used_twice_is_loaded_once) {
    const std::string text = sweep_of(cubes);
    const std::size_t first = text.find("visit(of.in_0");
    ASSERT_NE(first, std::string::npos);
    EXPECT_EQ(text.find("visit(of.", first + 1), std::string::npos);
}

TEST(EmitCuda, what_is_accessed_by_whole_words_must_be_aligned) {
    const std::string text =
        sweep_of("f(x: f16[i, j], y: f64[i, j], b: i8[i, j], w: f32[j]) -> s = sum(x), t = sum(y), u = b + w");
    // Arrays that are read in order or stored are visited, which checks their alignment.
    for (const char* visit : {"visit(of.in_0...)", "visit(of.in_1...)", "visit(of.in_2...)", "visit(of.out_0...)"})
        EXPECT_TRUE(holds(text, visit)) << visit;
    EXPECT_FALSE(holds(text, "visit(of.in_3"));
    for (const char* pack : {"Of<u16, width> in_0;", "Of<f64, width> in_1;", "Of<i8, width> in_2;",
                             "Pack<f32, width> in_3;", "Pack<f32, width> out_0;"})
        EXPECT_TRUE(holds(text, pack)) << pack;
}

TEST(EmitCuda, a_users_names_are_not_in_the_text) {
    const std::string_view named = "f(flight: f32[n], s: f32[n]) -> blocks = flight * sum(s)";
    EXPECT_EQ(emit(named, 1).source, emit("g(x: f32[m], y: f32[m]) -> z = x * sum(y)", 1).source);
    const std::string read = gf::cuda::sweep_text(gf::fuse(gf::parse(named)), gf::plan::SweepId(1));
    for (const char* words : {"// Sweep 1 of f over [n], after sweep 0", "in_0;", "// flight", "// blocks", " = mul %"})
        EXPECT_TRUE(holds(read, words)) << words << " in\n" << read;
}

TEST(EmitCuda, several_statistics_share_the_states_they_can) {
    // mean, variance and stddev are one Moments; the norm reads the sum of squares.
    EXPECT_EQ(emit(dozen).words, 1 + 1 + 8 + 1 + 1 + 2 + 1 + 1 + 1);
}

TEST(EmitCuda, a_thread_loads_sixteen_bytes_of_the_widest_input) {
    EXPECT_EQ(schedule("s(x: f32[n]) -> s = sum(x)").width, 4);
    EXPECT_EQ(schedule("s(x: f64[n]) -> s = sum(x)").width, 4); // or blocks of 1,024 threads
    EXPECT_EQ(schedule("s(x: i8[n]) -> s = sum(x)").width, 16);
    EXPECT_EQ(schedule("s(x: f32[n], m: bool[n]) -> s = sum(x where m)").width, 4);
}

TEST(EmitCuda, a_block_s_threads_cover_a_slab_and_fit_a_block) {
    for (const std::string_view graph :
         {cubes, dozen, std::string_view("s(x: bool[n]) -> s = any(x), m = argmax(x)")}) {
        const gf::cuda::Schedule s = schedule(graph);
        EXPECT_EQ(s.threads * s.width, gf::slab_elements);
        EXPECT_LE(s.threads, 1024);
        EXPECT_EQ(s.threads % 32, 0);
        EXPECT_GE(s.in_flight, 1);
    }
}

TEST(EmitCuda, a_threads_states_fit_its_registers) {
    // Sixteen elements of a byte each would be sixteen lanes of 4 words, or of 8 with a mask.
    EXPECT_EQ(schedule("s(x: i8[n]) -> s = sum(x)").width, 16);
    EXPECT_EQ(schedule("s(x: i8[n]) -> m = mean(x)").width, 16);
    EXPECT_EQ(schedule("s(x: i8[n]) -> m = mean(x), v = mean(x * 3), w = mean(x * 5)").width, 8);
    EXPECT_EQ(schedule("s(x: i8[n], b: bool[n]) -> m = mean(x where b)").width, 8);
    // Folds that are exact in any order have one state a thread.
    EXPECT_EQ(schedule("s(x: i8[n]) -> p = product(x), s = sum(x), n = count(x), at = argmin(x), up = argmax(x)").width,
              16);
    EXPECT_EQ(schedule("s(x: i8[n], y: i8[n], z: i8[n], b: bool[n]) -> m = mean(x where b), v = mean(y where b), w = "
                       "mean(z where b)")
                  .width,
              4);
}

TEST(EmitCuda, what_loads_nothing_has_one_slab_in_flight) {
    // Twelve copies of the body took NVRTC up to 17 s.
    EXPECT_EQ(schedule("s([n], a: i16) -> s = variance(index(n) + a)").in_flight, 1);
    EXPECT_EQ(schedule("s(a: i16) -> s = variance(a), l = logsumexp(a)").in_flight, 1);
    EXPECT_GT(schedule("s(x: i16[n]) -> s = variance(x)").in_flight, 1);
}

TEST(EmitCuda, slabs_in_flight_leave_registers_for_what_folding_takes) {
    const auto in_flight = [](std::string_view graph) { return schedule(graph).in_flight; };
    const int plain = in_flight("s(x: i8[n]) -> s = sum(f64(x) * f64(3))");
    EXPECT_LT(in_flight("s(x: i8[n]) -> s = sum(f64(x) / f64(3))"), plain);
    EXPECT_LT(in_flight("s(x: i8[n]) -> s = sum(exp(f64(x)))"), plain);
    EXPECT_LT(in_flight("s(x: i8[i, j], y: i8[j]) -> s = max(x - y)"),
              in_flight("s(x: i8[i, j], y: i8[i, j]) -> s = max(x - y)"));
    EXPECT_LT(in_flight("s(x: f32[n]) -> a = variance(x where x > f32(0)), b = variance(x + f32(1))"),
              in_flight("s(x: f32[n]) -> a = variance(x - f32(2)), b = variance(x + f32(1))"));
}

TEST(EmitCuda, of_many_problems_more_and_smaller_blocks_are_under_way) {
    EXPECT_EQ(schedule(cubes).threads, 512);
    EXPECT_EQ(schedule(cubes, Problems::many).threads, 256);
    EXPECT_TRUE(holds(emit(cubes, 0, Problems::many).source, "__launch_bounds__(256, 4)"));
    EXPECT_TRUE(holds(emit(cubes).source, "__launch_bounds__(512, 2)"));
    // Neither sweeps with wide states nor sweeps that fold nothing have small blocks.
    EXPECT_EQ(schedule(dozen, Problems::many).threads, 512);
    EXPECT_EQ(schedule("s(x: f64[n]) -> s = sum(x)", Problems::many).threads, 256);
    EXPECT_EQ(schedule("m(x: f32[n]) -> y = x * f32(2)", Problems::many).width, 4);
}

TEST(EmitCuda, the_schedule_of_many_problems_follows_from_the_number_of_their_blocks) {
    // In a large grid each thread has 64 bytes in flight, and 1,024 threads are wanted on a multiprocessor.
    const auto large = [](std::string_view graph) { return schedule(graph, Problems::many, 100'000); };
    for (const std::int64_t blocks : {0, 1, 1199})
        EXPECT_EQ(schedule(cubes, Problems::many, blocks), schedule(cubes, Problems::many)) << blocks;
    EXPECT_EQ(schedule(cubes, Problems::many, 1200), large(cubes));
    EXPECT_EQ(large(cubes).width, 16);
    EXPECT_EQ(large(cubes).in_flight, 1);
    EXPECT_EQ(large(cubes).resident, 8);
    EXPECT_EQ(large("s(x: f64[n]) -> s = sum(x)").width, 8);
    EXPECT_EQ(large("s(x: f64[n]) -> s = sum(x)").resident, 4);
    EXPECT_EQ(large("s(x: i8[n]) -> s = sum(x)").in_flight, 4);
    EXPECT_EQ(large(dozen), schedule(dozen, Problems::many)); // wide states
    EXPECT_EQ(schedule(cubes, Problems::one, 100'000), schedule(cubes));
}

TEST(EmitCuda, a_kernel_that_spills_is_tried_with_as_many_resident_blocks_as_its_registers_allow) {
    gf::cuda::Schedule tried = schedule(cubes, Problems::many, 1200);
    ASSERT_EQ(tried.threads, 128);
    tried = with_fewer_resident(tried, 64, 64); // 80 registers
    EXPECT_EQ(tried.resident, 6);
    tried = with_fewer_resident(tried, 80, 1);
    EXPECT_EQ(tried.resident, 5);
    EXPECT_EQ(with_fewer_resident(schedule(cubes, Problems::many, 1200), 82, 0).resident, 5); // 88 are allocated
    tried = with_fewer_resident(tried, 255, 4096);
    EXPECT_EQ(tried.resident, 1);
    EXPECT_TRUE(holds(gf::cuda::emit_cuda(gf::fuse(gf::parse(cubes)), gf::plan::SweepId(0), tried).source,
                      "__launch_bounds__(128, 1)"));
}

TEST(EmitCuda, the_tail_is_loaded_early_where_it_is_cheap) {
    EXPECT_TRUE(schedule(cubes).tail_early);
    EXPECT_TRUE(schedule("s(x: f32[n]) -> s = sum(x * f32(index(n)))").tail_early);
    EXPECT_FALSE(schedule(dozen).tail_early);                                          // wide states need the registers
    EXPECT_FALSE(schedule("s(x: f32[i, j], y: f32[j]) -> s = sum(x * y)").tail_early); // y is read by strides
    EXPECT_FALSE(schedule("s(x: f32[i, j]) -> s = sum(x * f32(index(j)))").tail_early);
    EXPECT_FALSE(
        schedule("s(a: f64[n], b: f64[n], c: f64[n], d: f64[n], e: f64[n], f: f64[n], g: f64[n], h: f64[n]) -> "
                 "s = sum(a * b * c * d * e * f * g * h)")
            .tail_early); // the slab leaves no registers
}

TEST(EmitCuda, few_words_of_all_blocks_are_collected_by_one_warp) {
    EXPECT_EQ(schedule(cubes).collects, 8);
    EXPECT_EQ(schedule("s(x: f32[n]) -> s = sum(x), p = product(x)").collects, 8);
    EXPECT_EQ(schedule("s(x: f32[n]) -> s = sum(x), p = product(x), low = min(x)").collects, 2);
    EXPECT_EQ(schedule(dozen).collects, 2);
    EXPECT_EQ(schedule("s(x: f32[n]) -> at = argmax(x)").collects, 1); // long code to combine two
    EXPECT_EQ(schedule("s(x: i8[n]) -> at = argmax(x)").collects, 2);  // 128 threads for 256 blocks
}

TEST(EmitCuda, what_is_prefetched_is_read_by_one_problem_that_folds_arrays) {
    const auto prefetches = [](std::string_view graph, Problems problems = Problems::one) {
        return holds(sweep_of(graph, 0, problems), "prefetches = true");
    };
    EXPECT_TRUE(prefetches(cubes));
    EXPECT_TRUE(prefetches(dozen));
    EXPECT_FALSE(prefetches(cubes, Problems::many));
    EXPECT_FALSE(prefetches("s([n]) -> s = sum(index(n))"));
    EXPECT_FALSE(prefetches("m(x: f32[n]) -> y = x * f32(2)"));
}

// Checked in the text, because emulated kernels never overlap.
TEST(EmitCuda, nothing_is_read_before_the_kernel_before_has_ended) {
    const std::string_view wait = "wait_for_previous_kernel();";
    const std::string text = emit("z(x: f32[n]) -> z = (x - mean(x)) / stddev(x)", 1).source;
    const std::size_t course = text.find("GRIDFOLD_FN void sweep(Kernel& kernel) {");
    ASSERT_NE(course, std::string::npos);
    std::size_t waits = 0;
    for (const std::string_view reads : {"kernel.read_scalars();", "last_tag(reads_tag)",
                                         "fold_slabs(kernel, edges, lanes)", "let_next_kernel_start();"})
        for (std::size_t at = text.find(reads, course); at != std::string::npos; at = text.find(reads, at + 1)) {
            EXPECT_LT(text.find(wait, course), at) << reads;
            ++waits;
        }
    EXPECT_EQ(waits, 6u);
    const std::size_t sweep = text.find("struct Sweep : "), read = text.find("void read_scalars() {", sweep);
    ASSERT_NE(read, std::string::npos);
    EXPECT_GT(text.find("scalars[", sweep), read);
    const std::string many = emit(cubes, 0, Problems::many).source;
    const std::size_t entry = many.find("extern \"C\" __global__");
    EXPECT_LT(many.find(wait, entry), many.find("nth_word(places", entry));
}

TEST(EmitCuda, what_any_order_serves_begins_at_the_first_whole_pack) {
    const auto shifts = [](std::string_view graph) { return holds(sweep_of(graph), "shifts = true"); };
    EXPECT_TRUE(shifts("s(x: i8[n]) -> s = sum(x), low = min(x where x > 3)"));
    EXPECT_TRUE(shifts("s(x: f32[i, j]) -> low = min(x), some = any(x)"));
    EXPECT_FALSE(shifts("s(x: f32[n]) -> s = sum(x)"));
    EXPECT_FALSE(shifts("s(x: i8[n]) -> at = argmin(x)"));
    EXPECT_FALSE(shifts("s(x: i8[n]) -> at = argmin(x where x > 3)"));
    EXPECT_FALSE(shifts("s(x: i8[n]) -> s = sum(x * index(n))"));
    EXPECT_FALSE(shifts("s(x: i8[n], y: i8[n]) -> s = sum(x * y)"));
    EXPECT_FALSE(shifts("s(x: i8[i, j], y: i8[j]) -> s = sum(x * y)"));
    EXPECT_FALSE(shifts("s(x: i8[n]) -> s = sum(x), y = -x"));
}

TEST(EmitCuda, nothing_is_contracted_flushed_or_approximated_unless_asked_for) {
    const std::vector<std::string> exact = gf::cuda::compiler_options(false), fast = gf::cuda::compiler_options(true);
    for (const char* option : {"--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"})
        EXPECT_EQ(std::ranges::count(exact, option), 1) << option;
    EXPECT_EQ(std::ranges::count(exact, "--use_fast_math"), 0);
    EXPECT_EQ(std::ranges::count(fast, "--use_fast_math"), 1);
}

TEST(EmitCuda, a_workspace_has_a_place_for_every_word_of_every_block) {
    const gf::cuda::Kernel three = emit("s(x: f32[n]) -> s = argmax(x)"), one = emit("s(x: f32[n]) -> s = sum(x)");
    EXPECT_EQ(three.words, 3);
    EXPECT_EQ(gf::cuda::workspace_bytes(three), 8u * (16 + 4 * gf::max_blocks)); // slots are in pairs
    EXPECT_EQ(gf::cuda::workspace_bytes(one), 8u * (16 + gf::max_blocks));
}

TEST(EmitCuda, constants_are_spelt_with_every_digit_that_they_need) {
    const std::string text =
        emit("c(x: f64[n]) -> y = x * 0.12345678901234566 + 16777217.0, z = f32(x) * f32(0.1)").source;
    EXPECT_TRUE(holds(text, " = 0.12345678901234566;"));
    EXPECT_TRUE(holds(text, " = 16777217.0;"));
    EXPECT_TRUE(holds(text, " = 0.1f;"));
    EXPECT_TRUE(holds(emit("c(x: f32[n]) -> y = x > f32(-inf)").source, " = -infinity<f32>();"));
}

TEST(EmitCuda, f64_is_rounded_to_halves_at_once) {
    EXPECT_TRUE(holds(emit("h(x: f64[n]) -> y = f16(x)").source, "= round_f16(v0);"));
    EXPECT_TRUE(holds(emit("h(x: f64[n]) -> y = bf16(x)").source, "= round_bf16(v0);"));
}

TEST(EmitCuda, a_sweep_that_only_stores_takes_a_block_a_slab) {
    const gf::cuda::Kernel maps = emit("m(x: f32[n]) -> y = x + 1");
    EXPECT_FALSE(maps.finishes);
    EXPECT_EQ(gf::cuda::grid(maps, 0), 1);
    EXPECT_EQ(gf::cuda::grid(maps, maps.schedule.slab() * 5000 + 1), 5001);
    EXPECT_EQ(gf::cuda::grid(emit(cubes), gf::slab_elements * 1000000), gf::max_blocks);
}

TEST(EmitCuda, a_sweep_that_computes_functions_takes_a_block_a_few_slabs_if_there_are_many) {
    const gf::cuda::Kernel maps = emit("m(x: f32[n]) -> y = log(x)");
    EXPECT_EQ(gf::cuda::grid(maps, maps.schedule.slab() * 2048), 2048);
    EXPECT_EQ(gf::cuda::grid(maps, maps.schedule.slab() * 8192 + 1), 2049);
}

TEST(EmitCuda, broadcast_inputs_are_read_by_their_strides) {
    const gf::cuda::Kernel kernel = emit("b(x: f32[i, j], w: f32[j], t: f32[j, i]) -> s = sum(x * w + t)");
    int strides = 0;
    for (const gf::cuda::KernelParameter& p : kernel.parameters) strides += p.kind == gf::cuda::ParameterKind::stride;
    EXPECT_EQ(strides, 1 + 2);
}

/// The kernel of the first sweep for inputs that have strides: bit n for Plan::arrays' number n.
gf::cuda::Kernel emit_strided(std::string_view graph, unsigned arrays) {
    const gf::Plan plan = gf::fuse(gf::parse(graph));
    std::vector<bool> strided;
    for (std::size_t a = 0; a < plan.arrays.size(); ++a) strided.push_back((arrays >> a & 1) != 0);
    const gf::Plan of_bound = gf::plan::with_strides(plan, strided);
    // The schedule says what the kernel reads by strides; the plan need not.
    return gf::cuda::emit_cuda(plan, gf::plan::SweepId(0), gf::cuda::choose_schedule(of_bound, of_bound.sweeps.at(0)));
}

TEST(EmitCuda, inputs_with_strides_are_read_by_coordinates) {
    constexpr std::string_view dot = "d(x: f32[i, j], y: f32[i, j]) -> s = sum(x * y)";
    const auto strides = [](const gf::cuda::Kernel& kernel) {
        return std::ranges::count(kernel.parameters, gf::cuda::ParameterKind::stride, &gf::cuda::KernelParameter::kind);
    };
    const gf::cuda::Kernel none = emit_strided(dot, 0), second = emit_strided(dot, 2), both = emit_strided(dot, 3);
    EXPECT_EQ(none.source, emit(dot).source);
    EXPECT_EQ(strides(none), 0);
    EXPECT_EQ(strides(second), 2);
    EXPECT_EQ(strides(both), 4);
    EXPECT_EQ(none.schedule.strided, 0u);
    EXPECT_EQ(second.schedule.strided, 2u);
    EXPECT_EQ(both.schedule.strided, 3u);
    EXPECT_TRUE(holds(second.source, "l.in_1[n] = in_1[at[0] * stride_in_1_0 + at[1] * stride_in_1_1];"));
    EXPECT_TRUE(holds(second.source, "Of<f32, width> in_0;"));
    EXPECT_FALSE(holds(both.source, "Of<f32, width> in_0;"));
    // Of one dim.
    EXPECT_TRUE(holds(emit_strided(cubes, 1).source, "l.in_0[n] = in_0[at[0] * stride_in_0_0];"));
}

TEST(EmitCuda, what_has_strides_anyway_needs_no_other_kernel_for_those_that_are_bound) {
    constexpr std::string_view broadcast = "b(x: f32[i, j], w: f32[j]) -> s = sum(x * w)";
    const gf::cuda::Kernel kernel = emit_strided(broadcast, 2);
    EXPECT_EQ(kernel.source, emit(broadcast).source);
    EXPECT_EQ(kernel.schedule.strided, 0u);
}

TEST(EmitCuda, kernels_compile_for_every_architecture) {
    if (const std::string reason = gf::nvrtc::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    for (const std::string_view graph :
         {cubes, dozen, std::string_view("z(x: f32[n]) -> z = (x - mean(x)) / stddev(x)"),
          std::string_view("m(x: f16[i, j], w: i8[j], a: bf16) -> s = sum(x * w where w > 1, accumulate = f64), "
                           "at = argmax(x * a), low = min(w where w > 2), y = f16(x * a), r = index(j) + w")}) {
        const gf::Plan plan = gf::fuse(gf::parse(graph));
        for (const gf::plan::SweepId sweep : plan.sweeps.ids()) {
            const gf::cuda::Kernel kernel = gf::cuda::emit_cuda(plan, sweep);
            for (const char* target : {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"})
                EXPECT_FALSE(gf::nvrtc::compile(kernel.source, target, gf::cuda::compiler_options(false)).image.empty())
                    << graph << " for " << target;
            EXPECT_FALSE(gf::nvrtc::compile(kernel.source, "sm_90", gf::cuda::compiler_options(true)).image.empty());
        }
    }
}

TEST(EmitCuda, kernels_that_read_by_strides_compile) {
    if (const std::string reason = gf::nvrtc::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    for (const std::string_view graph :
         {cubes, std::string_view("m(x: i8[i], y: f64[i]) -> z = f64(x) * y"), kept[1], kept[3], kept[4]}) {
        const gf::cuda::Kernel kernel = emit_strided(graph, ~0u);
        EXPECT_NE(kernel.schedule.strided, 0u) << graph;
        EXPECT_FALSE(gf::nvrtc::compile(kernel.source, "sm_90", gf::cuda::compiler_options(false)).image.empty())
            << graph;
    }
}

/// Sweeps that write out of order, or read shifted arrays, in all courses.
constexpr std::string_view out_of_order[] = {
    "t(x: f32[i, j]) -> y[j, i] = x",
    "t(x: f32[i, j], w: i8[j, i], v: f64[j]) -> y[j, i] = x + f32(w), z = f16(x) * f16(w), n[j, i] = w > i8(index(i)), "
    "k = v + x",
    "t(x: f64[a, b, c, d]) -> y[d, b, a, c] = x, z[a, c, b, d] = x * 2, w[c, d, a, b] = bf16(x)",
    "t(x: f32[i, j]) -> y[j, i] = x, s = sum(x)",
    "t(x: i32[a, b, c]) -> m[b, a] = min(x where x > 3 over [c]), y[c, b, a] = x",
    "t(x: f32[a, b, c]) -> m[c, a] = mean(x over [b]), y[c, a, b] = i8(x)",
    "s(x: f32[n]) -> y = x - shift(x, n, -1, edge = 0), s = sum(abs(x - shift(x, n, 2, edge = wrap)))",
    "s(x: bf16[i, j]) -> y[j, i] = x - shift(shift(x, i, -1, edge = clamp), j, 1, edge = wrap)",
    "s(x: f32[i, j]) -> s = sum(x * shift(x, j, 1, edge = clamp) * shift(x, i, 1, edge = wrap) over [j])",
    "s(x: f64[i, j]) -> s = max(shift(x, i, -1, edge = 0) over [i]), y = shift(x, j, 1, edge = wrap)"};

TEST(EmitCuda, kernels_that_write_out_of_order_or_read_shifted_compile_for_every_architecture) {
    if (const std::string reason = gf::nvrtc::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    for (const std::string_view graph : out_of_order)
        for (const Problems problems : {Problems::one, Problems::many})
            for (const char* target : {"sm_75", "sm_80", "sm_90", "sm_100"}) {
                if (problems == Problems::many && target != std::string_view("sm_90")) continue;
                const std::string source = emit(graph, 0, problems).source;
                EXPECT_FALSE(gf::nvrtc::compile(source, target, gf::cuda::compiler_options(false)).image.empty())
                    << graph << " for " << target;
            }
}

// PTX orders no load of the read-only path after griddepcontrol.wait, and ptxas does move some before it.
TEST(EmitCuda, kernels_do_not_read_arrays_by_the_read_only_path) {
    if (const std::string reason = gf::nvrtc::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    for (const std::string_view graph :
         {cubes, dozen, std::string_view("after(t: f64[n], u: bool[n]) -> s = max(t), y = u16(u)"), kept[1], kept[3],
          out_of_order[0], out_of_order[1]}) {
        const std::string source = emit(graph).source;
        const std::string ptx = gf::nvrtc::compile(source, "compute_90", gf::cuda::compiler_options(false)).image;
        EXPECT_TRUE(holds(ptx, "griddepcontrol.wait;")) << graph;
        EXPECT_TRUE(holds(ptx, "ld.global")) << graph;
        EXPECT_FALSE(holds(ptx, "ld.global.nc")) << graph;
    }
}

TEST(EmitCuda, what_folds_nothing_takes_tiles_where_an_array_runs_across_the_rows) {
    using gf::cuda::Course;
    const auto of = [](std::string_view graph) { return schedule(graph); };
    EXPECT_EQ(of("t(x: f32[i, j]) -> y = x").course, Course::flat);
    EXPECT_EQ(of("t(x: f32[i, j]) -> y[j, i] = x, s = sum(x)").course, Course::flat);
    EXPECT_EQ(of("t(x: f32[a, b, c]) -> y[b, a, c] = x").course, Course::flat); // rows stay rows
    const auto stored = of("t(x: f32[a, b, c]) -> y[a, c, b] = x"), read = of("t([a, b], x: f32[b, a]) -> y = x");
    EXPECT_EQ(stored.course, Course::tiles);
    EXPECT_EQ(stored.across, 1);
    EXPECT_EQ(stored.across_arrays, 0u);
    EXPECT_EQ(stored.side, 64);
    EXPECT_EQ(read.across, 0);
    EXPECT_EQ(read.across_arrays, 1u);
    EXPECT_EQ(of("t(x: f64[i, j]) -> y[j, i] = x").side, 32);
    // A broadcast column is no array across the rows.
    EXPECT_EQ(of("t(x: f32[i, j], w: f32[i]) -> y = x * w").course, Course::flat);
    // Stores decide first; what runs across another dim is accessed by coordinates.
    const auto both = of("t([a, b, c], x: f32[c, b, a], w: f32[a, c, b]) -> y[a, c, b] = x * w");
    EXPECT_EQ(both.across, 1);
    EXPECT_EQ(both.across_arrays, 2u);
}

} // namespace
