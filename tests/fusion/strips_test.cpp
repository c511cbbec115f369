// The strips of columns that thread blocks fold (device/columns.cuh), for columns of all shapes and lanes.
#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gridfold/core/device/prelude.cuh>

#include <gridfold/core/device/slots.cuh>

#include <gridfold/core/device/places.cuh>

#include <gridfold/fusion/fuse.hpp>
#include <gridfold/fusion/order.hpp>
#include <gridfold/ops/text.hpp>
#include <gtest/gtest.h>

#include "cuda/schedule.hpp"

namespace gf::cuda {
namespace {

/// The schedule of columns of these rows.
Schedule schedule_of(const gf::Plan& plan, const FoldOrder& order) {
    RowFacts parts{.slabs = (order.slabs + order.blocks - 1) / order.blocks};
    parts.columns.add(order);
    return for_columns(parts, plan, plan.sweeps[SweepId(0)], Problems::one);
}

/// All threads, lanes, blocks and columns have a place, and the states that thread blocks exchange fit into memory.
void expect_room(const Schedule& schedule, const FoldOrder& order, int words) {
    const Strips strips = strips_of(schedule, order);
    const std::int64_t packs = (order.extent[1] + schedule.width - 1) / schedule.width;
    const std::int64_t own = strips.packs - (schedule.staggered ? 1 : 0); // of the strip alone
    const std::int64_t lines =
        (strips.together * order.lanes + schedule.lanes_each - 1) / schedule.lanes_each; // threads of a pack
    EXPECT_LE(strips.packs * lines * strips.sharing, schedule.threads);
    EXPECT_GE(own * strips.count, packs);
    EXPECT_LT(own * (strips.count - 1), packs);
    EXPECT_TRUE(schedule.apart == 1 ||
                (strips.packs % schedule.apart == 0 && strips.packs * schedule.width <= order.extent[1]));
    EXPECT_GE(strips.together * strips.blocks, order.blocks);
    EXPECT_LT(strips.together * (strips.blocks - 1), order.blocks);
    EXPECT_EQ(strips.together & (strips.together - 1), 0);
    EXPECT_TRUE(strips.sharing == 1 || (strips.count == 1 && order.blocks == 1 && !schedule.staggered));
    EXPECT_TRUE(!schedule.one_lane || order.lanes * order.blocks == 1);
    const int room = std::min(words * schedule.threads * schedule.width, device::tile_words) / words; // states
    EXPECT_TRUE(strips.blocks == 1 || 2 * strips.packs * schedule.width <= room);
}

TEST(Strips, of_columns_of_every_shape) {
    const std::array<const char*, 4> graphs{"f(x: f32[i, j]) -> s = sum(x over [i])",
                                            "f(x: bf16[i, j]) -> s = sum(x over [i]), at = argmax(x over [i])",
                                            "f(x: f64[i, j]) -> v = variance(x over [i])",
                                            "f(x: f32[i, j]) -> s = sum(x over [i]), v = variance(f64(x) over [i]), "
                                            "at = argmin(x over [i]), top = argmax(x over [i])"};
    for (const char* graph : graphs) {
        const gf::Plan plan = gf::fuse(gf::parse(graph));
        int words = 0;
        for (const Fold& f : plan.sweeps[SweepId(0)].folds) words += f.monoid->state_words(f.element, f.accumulator);
        int of_packs = 0, staggered = 0, apart = 0;
        for (const std::int64_t rows : {1, 2, 3, 5, 7, 31, 64, 100, 1'000, 4'099, 65'536, 3'000'017})
            for (std::int64_t columns = 8; columns < 140'000;
                 columns = columns < 300 ? columns + 4 : columns * 17 / 16) {
                const std::int64_t extents[] = {rows, columns};
                const FoldOrder order = fold_order(extents, 2, 2);
                const Schedule schedule = schedule_of(plan, order);
                if (schedule.course != Course::columns) continue;
                SCOPED_TRACE(std::string(graph) + ": " + std::to_string(rows) + " x " + std::to_string(columns));
                expect_room(schedule, order, words);
                ++(schedule.staggered ? staggered : schedule.apart > 1 ? apart : of_packs);
            }
        EXPECT_GT(of_packs, 300) << graph;
        if (words > 12) continue; // boxes
        EXPECT_GT(staggered, 100) << graph;
        EXPECT_GT(apart, 50) << graph;
    }
}

/// Random problems, one or several of a launch, whose arrays may begin anywhere: their strips have room, too.
TEST(Strips, of_problems_of_a_launch) {
    const std::array<const char*, 4> graphs{
        "f(x: f32[b, i, j]) -> s = sum(x over [i])",
        "f(x: bf16[b, i, j]) -> s = sum(x over [i]), at = argmax(x over [i])",
        "f(x: u8[b, i, j]) -> v = variance(x over [i])",
        "f(x: u8[b, i, j], y: f64[b, i, j]) -> s = sum(f64(x) * y over [i]), n = count(x > 3 over [i])"};
    std::mt19937_64 random(7);
    const auto below = [&](std::int64_t most_bits) { // of any magnitude
        const std::int64_t magnitude = std::int64_t{1} << random() % std::uint64_t(most_bits + 1);
        return std::int64_t(random() % std::uint64_t(magnitude));
    };
    for (const char* graph : graphs) {
        const gf::Plan plan = gf::fuse(gf::parse(graph));
        const Sweep& sweep = plan.sweeps[SweepId(0)];
        int words = 0, of_packs = 0, staggered = 0, apart = 0;
        for (const Fold& f : sweep.folds) words += f.monoid->state_words(f.element, f.accumulator);
        for (int trial = 0; trial < 20'000; ++trial) {
            std::vector<FoldOrder> orders(1 + std::size_t(trial % 3));
            RowFacts parts;
            for (FoldOrder& order : orders) {
                const std::int64_t columns = random() % 2 == 0 ? 513 + below(11) : 1 + below(17);
                const std::int64_t extents[] = {1 + below(5), 1 + below(20), columns};
                order = fold_order(extents, 3, 5);
                parts.slabs = std::max(parts.slabs, (order.slabs + order.blocks - 1) / order.blocks);
                parts.columns.add(order);
                if (random() % 2 == 0) parts.columns.add_array(1 << random() % 4);
            }
            const Schedule schedule =
                for_columns(parts, plan, sweep, orders.size() == 1 ? Problems::one : Problems::many);
            if (schedule.course != Course::columns) continue;
            ++(schedule.staggered ? staggered : schedule.apart > 1 ? apart : of_packs);
            for (const FoldOrder& order : orders) {
                SCOPED_TRACE(std::string(graph) + ": " + std::to_string(order.batch) + " x " +
                             std::to_string(order.extent[0]) + " x " + std::to_string(order.extent[1]));
                ASSERT_LE(order.lanes, schedule.threads * schedule.lanes_each);
                expect_room(schedule, order, words);
                const std::int64_t step = order.lanes * order.blocks * order.extent[1];
                EXPECT_TRUE(!schedule.staggered || order.slabs <= order.blocks || step % schedule.width == 0);
                EXPECT_TRUE(!schedule.few_slabs || order.slabs <= order.blocks * schedule.in_flight);
                if (HasFailure()) return;
            }
        }
        EXPECT_GT(of_packs, 100) << graph;
        EXPECT_GT(staggered, 100) << graph;
        EXPECT_GT(apart, 100) << graph;
    }
}

} // namespace
} // namespace gf::cuda
