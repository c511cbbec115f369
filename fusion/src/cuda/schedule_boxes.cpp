// See schedule.hpp: the schedules of boxes and of columns.
#include <algorithm>
#include <bit>

#include <gridfold/core/device/prelude.cuh>

#include <gridfold/core/device/slots.cuh>

#include <gridfold/core/device/places.cuh>

#include <gridfold/fusion/order.hpp>

#include "cuda/schedule.hpp"
#include "cuda/sweep_sizes.hpp"

namespace gf::cuda {

// As in sweep_sizes.hpp.
namespace tuned {
constexpr int bytes_of_boxes = 128;         ///< of a thread, in flight: five of columns 305 → 293, of 3 302 → 265
constexpr int bytes_of_narrow_boxes = 64;   ///< … where several blocks are resident: sums of f32 columns 254 → 249
constexpr int box_windows_in_flight = 4;    ///< five of 2,049 × 131,071 bf16 569 → 473 with 4, not 2
constexpr int words_of_resident_boxes = 16; ///< of a thread's states: with more, boxes of 64 registers spill
constexpr int words_of_narrow_boxes = 4;    ///< of a thread's states
constexpr int slabs_of_short_boxes =
    int(least_slabs_of_box_block) - 1;      ///< of parts of one block: 64 × 64 f32 1,171 → 983
constexpr int bytes_of_wide_columns = 256;  ///< of a thread, in flight: five of bf16 columns 149 → 144
constexpr int packs_of_strip = 32;          ///< of many lanes; in 64 five of 4,096 bf16 columns 149 → 157, in 16 145
constexpr int threads_of_small_tiles = 128; ///< of few lanes: five of 64 rows of 3,136 f32 in 512 259 → 340
constexpr int lanes_of_small_tiles = 4;     ///< most, of a result in all blocks
constexpr int most_lanes_each = 8; ///< of a thread of short columns: sums of 64 × 64 f32 843 → 251, five 2,123 → 517
constexpr int words_of_lanes = 192; ///< … of the states that wait for others: five of 64 × 64 bf16 with 96 627 → 740
constexpr int words_of_short_columns = 32; ///< of a thread's states: with more, 64 registers would spill
constexpr int least_threads = 32;
constexpr std::int64_t strips_to_try = 16; ///< more than the fewest
} // namespace tuned

Schedule for_boxes(std::int64_t slabs, const Plan& plan, const Sweep& sweep, Problems problems) {
    const int words = words_of_states(sweep).all; // of a position
    const int widest = widest_element(plan, sweep);
    int width = std::clamp(tuned::load_bytes / widest, tuned::least_width, tuned::most_width);
    while (width > tuned::least_width && words * width > tuned::most_state_words) width /= 2;
    Schedule chosen{
        .problems = problems, .course = Course::boxes, .threads = int(slab_elements) / width, .width = width};
    chosen.strided = strided_arrays(plan, sweep);
    const int bytes = loaded_bytes(plan, sweep) * width;
    if (bytes == 0) return chosen;
    // As many resident blocks as a compilation without spills allows (PlanLoader), and the more bytes in flight the
    // fewer these are; short parts want blocks.
    const bool is_narrow = words * width <= tuned::words_of_narrow_boxes || slabs <= tuned::slabs_of_short_boxes;
    const int wanted = is_narrow ? tuned::bytes_of_narrow_boxes : tuned::bytes_of_boxes;
    const int room = (registers_of_thread / 2 - width * (words + words_of_place) - words_to_fold(sweep, width)) /
                     words_in_flight(plan, sweep, width, words > tuned::narrow_words);
    const int of_folds = folds_at_length(sweep) ? tuned::most_of_long_folds / width : tuned::most_in_flight;
    chosen.in_flight = int(std::bit_floor(unsigned(std::max(std::min({wanted / bytes, room, of_folds}), 1))));
    chosen.windows_in_flight = std::min(chosen.in_flight, tuned::box_windows_in_flight);
    const bool fits = words * width <= tuned::words_of_resident_boxes || slabs <= tuned::slabs_of_short_boxes;
    chosen.resident = std::max(tuned::threads_of_many / (fits ? 1 : 2) / chosen.threads, 1);
    return chosen;
}

Schedule for_columns(const RowFacts& parts, const Plan& plan, const Sweep& sweep, Problems problems) {
    const Schedule boxes = for_boxes(parts.slabs, plan, sweep, problems);
    const ColumnFacts& columns = parts.columns;
    if (merged_dims(sweep) != 2 || columns.alignment < boxes.width) return boxes;
    const StateWords of_position = words_of_states(sweep);
    const int words = of_position.all * boxes.width, widest = of_position.widest * boxes.width; // of a thread's
    const bool is_short = parts.slabs <= tuned::slabs_of_short_boxes;
    const auto waiting = [&](int lanes) { return words * int(std::bit_width(unsigned(lanes))); };
    const auto may_have = [&](int lanes) { // a thread of short columns; a few lanes may be missing
        return lanes < 2 * columns.least_lanes && lanes <= tuned::most_lanes_each &&
               boxes.threads / lanes >= tuned::least_threads && waiting(lanes) <= tuned::words_of_lanes;
    };
    Schedule chosen = boxes;
    chosen.course = Course::columns;
    while (is_short && may_have(2 * chosen.lanes_each)) chosen.lanes_each *= 2;
    chosen.one_lane = columns.most_lanes == 1;
    chosen.threads /= chosen.lanes_each;
    if (columns.most_lanes <= tuned::lanes_of_small_tiles) chosen.threads = tuned::threads_of_small_tiles;
    // Lanes combine in shared memory one fold at a time, and thread blocks at least two at a time. Long columns of
    // monoids with wide states, which threads would have to combine first, are boxes: not measured.
    while (!chosen.one_lane && widest * chosen.threads > device::tile_words) {
        chosen.lanes_each *= 2;
        chosen.threads /= 2;
    }
    const bool is_crowded = is_short ? waiting(chosen.lanes_each) > tuned::words_of_lanes : chosen.lanes_each > 1;
    if (is_crowded || chosen.threads < tuned::least_threads || 2 * words * tuned::packs_of_strip > device::tile_words)
        return boxes;
    const bool one_each = chosen.lanes_each == 1, is_wide = words > tuned::words_of_resident_boxes;
    const bool fits = one_each && (is_short ? words <= tuned::words_of_short_columns : !is_wide);
    const int shared = int(sizeof(std::uint32_t)) * std::min(words * chosen.threads, device::tile_words);
    const int of_registers = tuned::threads_of_many / (fits ? 1 : 2) / chosen.threads;
    const int of_shared = chosen.one_lane ? of_registers : shared_bytes_of_multiprocessor / (shared + reserved_bytes);
    chosen.resident = std::max(std::min(of_registers, of_shared), 1);
    // More bytes in flight where neither registers nor long folds have kept for_boxes() from its own.
    const int bytes = loaded_bytes(plan, sweep) * chosen.width * chosen.in_flight;
    if (is_wide && !folds_at_length(sweep) && 2 * bytes > tuned::bytes_of_boxes &&
        2 * bytes <= tuned::bytes_of_wide_columns)
        chosen.in_flight *= 2;
    chosen.few_slabs = is_short && parts.slabs <= chosen.in_flight;
    if (chosen.few_slabs) chosen.in_flight = int(std::bit_ceil(std::uint64_t(std::max<std::int64_t>(parts.slabs, 1))));
    return chosen;
}

Strips strips_of(const Schedule& schedule, const FoldOrder& order) {
    if (order.slabs == 0) return {};
    const std::int64_t packs = order.extent[1] / schedule.width, threads = schedule.threads;
    const auto blocks = std::int64_t(std::bit_ceil(std::uint64_t(order.blocks)));
    // The most packs of a strip for which a thread block that folds `together` blocks has enough threads.
    const auto most_packs = [&](std::int64_t together) {
        return threads / ((together * order.lanes + schedule.lanes_each - 1) / schedule.lanes_each);
    };
    const std::int64_t wanted = std::max<std::int64_t>(tuned::packs_of_strip, most_packs(blocks));
    const std::int64_t most = std::min(most_packs(1), wanted), least = (packs + most - 1) / most; // strips
    Strips best;
    std::int64_t best_count = 0, best_at_once = 0;
    // With the fewest thread blocks in all.
    for (std::int64_t count = least; count <= least + std::min(least, tuned::strips_to_try); ++count) {
        const std::int64_t of_strip = (packs + count - 1) / count;
        std::int64_t together = 1;
        while (together < blocks && of_strip <= most_packs(2 * together)) together *= 2;
        const std::int64_t sharing = blocks == 1 && count == 1 ? most_packs(1) / of_strip : 1;
        const std::int64_t at_once = together * sharing;
        if (best_count > 0 && at_once * best_count <= best_at_once * count) continue;
        best_count = count;
        best_at_once = at_once;
        best = {of_strip, (packs + of_strip - 1) / of_strip, together, (order.blocks + together - 1) / together,
                sharing};
    }
    return best;
}

} // namespace gf::cuda
