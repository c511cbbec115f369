// The emitter: kernels of folds that keep dims, their schedules, grids and workspaces.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gridfold/core/nvrtc.hpp>
#include <gridfold/fusion/order.hpp>

#include "fusion/emitted.hpp"

namespace {

using gf::cuda::Problems;
using gf::test::cubes, gf::test::emit, gf::test::holds, gf::test::kept, gf::test::schedule, gf::test::sweep_of;

/// The sweep's schedules: of rows of any length, of two a warp, of one a warp, of one a thread, of several warps a row,
/// and of runs; and with windows. Of two merged dims, of columns that are long, short and of one lane, and whose rows
/// begin anywhere.
std::vector<gf::cuda::Schedule> schedules_of(const gf::Plan& plan, gf::plan::SweepId id, Problems problems) {
    const gf::plan::Sweep& sweep = plan.sweeps[id];
    const gf::cuda::Schedule chosen = gf::cuda::choose_schedule(plan, sweep, problems, 5000);
    std::vector<gf::cuda::Schedule> all{chosen, gf::cuda::for_unaligned(plan, sweep, chosen)};
    for (const auto& [rows, columns] : {std::pair{9'000'000, 16}, {100, 64}, {2, 4096}, {600, 2051}, {200, 5001}}) {
        const std::int64_t extents[] = {rows, columns};
        const gf::FoldOrder order = gf::fold_order(extents, 2, 2);
        gf::cuda::RowFacts parts{.slabs = (order.slabs + order.blocks - 1) / order.blocks};
        parts.columns.add(order);
        if (chosen.course == gf::cuda::Course::boxes)
            if (const auto of = gf::cuda::for_columns(parts, plan, sweep, problems); of.course != chosen.course)
                all.push_back(of);
    }
    for (const gf::cuda::RowFacts& rows :
         {gf::cuda::RowFacts{40, 1, 16}, gf::cuda::RowFacts{1500, 300, 2}, gf::cuda::RowFacts{20'000, 5000, 16},
          gf::cuda::RowFacts{129, 1 << 20, 1}, gf::cuda::RowFacts{30'001, 1 << 20, 1, 1, 2}}) {
        const auto of_short = gf::cuda::for_rows(rows, plan, sweep, chosen);
        if (of_short == chosen) continue;
        all.push_back(of_short);
        all.push_back(gf::cuda::for_unaligned(plan, sweep, of_short));
    }
    return all;
}

// For sm_90 every schedule of one problem is tried; of many problems every second pair, with windows and without.
// Devices before it take turns. Devices after it see its text: they are tried with one schedule of each graph.
TEST(EmitCuda, kernels_of_folds_that_keep_dims_compile_for_every_architecture) {
    if (const std::string reason = gf::nvrtc::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    int turn = 0, with_windows = 0, without = 0; // of many problems
    for (const std::string_view graph : kept) {
        const gf::Plan plan = gf::fuse(gf::parse(graph));
        int number = 0;
        for (const gf::plan::SweepId sweep : plan.sweeps.ids())
            for (const Problems problems : {Problems::one, Problems::many})
                for (const gf::cuda::Schedule& schedule : schedules_of(plan, sweep, problems)) {
                    ++turn;
                    if (problems == Problems::many && turn / 2 % 2 == 0) continue;
                    if (problems == Problems::many) ++(schedule.realigns ? with_windows : without);
                    const std::string source = gf::cuda::emit_cuda(plan, sweep, schedule).source;
                    std::vector<const char*> targets{"sm_90"};
                    if (problems == Problems::one && turn % 3 != 0)
                        targets.push_back(turn % 3 == 1 ? "sm_75" : "sm_80");
                    if (number++ == 0) targets.insert(targets.end(), {"sm_80", "sm_100", "sm_120"});
                    for (const char* target : targets)
                        EXPECT_FALSE(
                            gf::nvrtc::compile(source, target, gf::cuda::compiler_options(false)).image.empty())
                            << graph << " for " << target;
                }
    }
    EXPECT_GT(with_windows, 5);
    EXPECT_GT(without, 5);
}

TEST(EmitCuda, folds_that_keep_dims_take_the_course_of_their_kept_dims) {
    using gf::cuda::Course;
    EXPECT_EQ(schedule(cubes).course, Course::flat);
    EXPECT_EQ(schedule(kept[0]).course, Course::rows);
    EXPECT_EQ(schedule(kept[3]).course, Course::boxes);
    EXPECT_TRUE(holds(emit(kept[0]).source, "sweep_rows(kernel);"));
    EXPECT_FALSE(holds(emit(kept[0]).source, "void sweep_boxes("));
    EXPECT_TRUE(holds(emit(kept[3]).source, "sweep_boxes(kernel);"));
    EXPECT_FALSE(holds(emit(kept[3]).source, "void sweep_rows("));
    EXPECT_FALSE(holds(emit(cubes).source, "sweep_boxes"));
    EXPECT_TRUE(holds(sweep_of("f(x: f32[a, b, c, d]) -> s = sum(x over [b, d])"), "dims = 3;")); // a is the batch
    EXPECT_TRUE(holds(sweep_of("f(x: f32[a, b, c, d]) -> s = sum(x over [a, b])"), "dims = 2;"));
}

TEST(EmitCuda, a_grid_of_folds_that_keep_dims_has_a_block_for_each_tile_and_block_of_the_order) {
    const auto grid = [](std::string_view graph, std::vector<std::int64_t> extents) {
        const gf::Plan plan = gf::fuse(gf::parse(graph));
        return gf::cuda::grid(gf::cuda::emit_cuda(plan, gf::plan::SweepId(0)),
                              gf::plan::fold_order(plan.sweeps[0], extents));
    };
    EXPECT_EQ(grid(kept[0], {1000, 4096}), 1000);
    EXPECT_EQ(grid(kept[0], {1000, 16384}), 4000); // four blocks a row
    EXPECT_EQ(grid(kept[0], {0, 100}), 1);
    EXPECT_EQ(grid(kept[3], {65536, 4096}), 256); // two parts of 128 blocks
    EXPECT_EQ(grid(kept[5], {1000, 10, 10}), 50); // twenty boxes of 100 elements a tile
    EXPECT_EQ(grid(kept[0], {std::int64_t{1} << 40, 1}), 0x7fffffff);
}

TEST(EmitCuda, a_workspace_of_parts_has_slots_for_each) {
    const gf::Plan plan = gf::fuse(gf::parse(kept[0]));
    const gf::cuda::Kernel kernel = gf::cuda::emit_cuda(plan, gf::plan::SweepId(0));
    const auto bytes = [&](std::vector<std::int64_t> extents) {
        return gf::cuda::workspace_bytes(kernel, gf::plan::fold_order(plan.sweeps[0], extents));
    };
    EXPECT_EQ(bytes({1000, 4096}), 0u);
    EXPECT_EQ(bytes({1000, 16384}), 1000u * 8 * (16 + 16)); // the number of launches, then a word of each block
}

/// The schedule of many rows, which begin anywhere, if a thread block may have `shared_bytes` of shared memory.
gf::cuda::Schedule of_many_rows(std::string_view graph, std::int64_t length, int shared_bytes) {
    const gf::Plan plan = gf::fuse(gf::parse(graph));
    const gf::plan::Sweep& sweep = plan.sweeps[gf::plan::SweepId(0)];
    const gf::FoldOrder order = gf::fold_order(length);
    const gf::cuda::RowFacts rows{
        .longest = length, .blocks = std::int64_t{1} << 20, .slabs = (order.slabs + order.blocks - 1) / order.blocks};
    return gf::cuda::for_rows(rows, plan, sweep, gf::cuda::choose_schedule(plan, sweep),
                              {.shared_bytes = shared_bytes});
}

TEST(EmitCuda, many_rows_are_folded_by_threads_or_runs_in_the_shared_memory_that_there_is) {
    using gf::cuda::Course;
    constexpr std::string_view sums = "f(x: f32[i, k]) -> s = sum(x over [k])";
    for (const int shared_bytes : {65'536, 101'376, 232'448})
        for (const std::int64_t length : {3, 129, 505, 513, 2'049, 4'001, 50'257, 300'001}) {
            const auto chosen = of_many_rows(sums, length, shared_bytes);
            EXPECT_TRUE(chosen.course == Course::thread_rows || chosen.course == Course::run_rows || length == 505)
                << length;
            EXPECT_LE(chosen.shared_bytes + 4 * chosen.most_blocks, shared_bytes) << length;
            EXPECT_GE(chosen.resident, 1) << length;
        }
    EXPECT_EQ(of_many_rows(sums, 505, 232'448).course, Course::thread_rows);
    EXPECT_NE(of_many_rows(sums, 505, 65'536).course, Course::thread_rows); // 32 rows have 64,640 bytes
    EXPECT_EQ(of_many_rows("f(x: u8[i, k]) -> s = sum(x over [k])", 110'000'000'001, 232'448).course, Course::rows);
    std::string wide = "f(x: f32[i, k]) -> ";
    for (int n = 0; n < 14; ++n)
        wide += fmt::format("{}a{} = argmax(x where x > {}.0 over [k])", n == 0 ? "" : ", ", n, n);
    EXPECT_EQ(of_many_rows(wide, 2'200'001, 232'448).course, Course::rows); // 57 KiB for the states of a row's blocks
}

} // namespace
