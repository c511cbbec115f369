// See schedule.hpp: the schedules of columns, and their strips.
#include <algorithm>
#include <bit>
#include <optional>

#include <gridfold/core/device/prelude.cuh>

#include <gridfold/core/device/slots.cuh>

#include <gridfold/core/device/places.cuh>

#include <gridfold/fusion/order.hpp>

#include "cuda/schedule.hpp"
#include "cuda/sweep_sizes.hpp"

namespace gf::cuda {

// As in sweep_sizes.hpp.
namespace tuned {
constexpr int bytes_of_wide_columns = 256;  ///< of a thread, in flight: five of bf16 columns 149 → 144
constexpr int packs_of_strip = 32;          ///< of many lanes; in 64 five of 4,096 bf16 columns 149 → 157, in 16 145
constexpr int threads_of_small_tiles = 128; ///< of few lanes: five of 64 rows of 3,136 f32 in 512 259 → 340
constexpr int lanes_of_small_tiles = 4;     ///< most, of a result in all blocks
constexpr int most_lanes_each = 8; ///< of a thread of short columns: sums of 64 × 64 f32 843 → 251, five 2,123 → 517
constexpr int words_of_lanes = 192; ///< … of the states that wait for others: five of 64 × 64 bf16 with 96 627 → 740
constexpr int words_of_short_columns = 32; ///< of a thread's states: with more, 64 registers would spill
constexpr int least_threads = 32;
constexpr int most_words_of_columns = 48;  ///< of a thread's states
constexpr std::int64_t strips_to_try = 16; ///< more than the fewest
constexpr int least_unaligned = 513;     ///< columns whose rows are no whole packs: a slab has at most three such rows
constexpr int columns_apart = 32;        ///< from a column of a thread to its next, in some of them: a warp
constexpr int bytes_apart = 128;         ///< … of registers, of a thread, in flight: sums of 2,049 f32 318 → 287
constexpr int most_staggered = 8;        ///< rows in flight, in the others: sums of 2,049 bf16 with four 181, 144
constexpr int width_of_wide = 4;         ///< … of wide states: five of 513 bf16 206 → 169
constexpr int least_staggered = 24;      ///< packs of a strip, where all lanes have room; not measured by itself
constexpr int registers_of_columns = 20; ///< besides states and rows in flight: with fewer their loop spills
constexpr int threads_of_narrow_columns = 1152; ///< resident, at most: sums of 131,071 bf16 with 1,024 159 → 132
constexpr int multiprocessors = 132;            ///< of an H200
constexpr double least_gain = 0.95;             ///< of other thread blocks than the first; not measured
} // namespace tuned

namespace {

/// States of a thread's columns, in words.
struct WordsOfThread {
    int all, widest;
    WordsOfThread(const Sweep& sweep, int width) {
        const StateWords of_column = words_of_states(sweep);
        all = of_column.all * width;
        widest = of_column.widest * width;
    }
};

/// The most resident thread blocks for their shared memory.
int resident_of_shared(const Schedule& schedule, int words) {
    const int shared = int(sizeof(std::uint32_t)) * std::min(words * schedule.threads, device::tile_words);
    return std::max(shared_bytes_of_multiprocessor / (shared + reserved_bytes), 1);
}

/// Has more bytes in flight for wide states, where neither registers nor long folds have kept for_boxes() from its own.
void widen_flight(Schedule& chosen, const Plan& plan, const Sweep& sweep, int words) {
    const int bytes = 2 * loaded_bytes(plan, sweep) * chosen.width * chosen.in_flight;
    if (words > tuned::words_of_resident_boxes && !folds_at_length(sweep) && bytes > tuned::bytes_of_boxes &&
        bytes <= tuned::bytes_of_wide_columns)
        chosen.in_flight *= 2;
}

void set_few_slabs(Schedule& chosen, std::int64_t slabs) {
    chosen.few_slabs = slabs <= chosen.in_flight;
    if (chosen.few_slabs) chosen.in_flight = int(std::bit_ceil(std::uint64_t(std::max<std::int64_t>(slabs, 1))));
}

/// The time that thread blocks take on all multiprocessors, as a multiple of what they would take if they were shared
/// out evenly. The last ones, which have the device for themselves, take at least as long as half as many as fit.
/// `needed`: the resident thread blocks that keep a multiprocessor busy.
double time_of(std::int64_t thread_blocks, int resident, double needed) {
    const std::int64_t at_once = std::int64_t{resident} * tuned::multiprocessors;
    const std::int64_t whole = thread_blocks / at_once, last = thread_blocks % at_once;
    double time = double((last + tuned::multiprocessors - 1) / tuned::multiprocessors); // of a multiprocessor
    if (whole > 0 && last > 0) time = std::max(time, resident / 2.0);
    time += double(whole * resident);
    return time * tuned::multiprocessors / double(thread_blocks) * std::max(needed / resident, 1.0);
}

/// Sets the threads of a thread block, and how many of these are resident: of few lanes the smallest, else the largest,
/// and the fewest, unless others take less time. False if the lanes of a result, or their states, have no room.
/// A thread has rows in flight in `flight` registers.
bool set_thread_blocks(Schedule& chosen, const ColumnFacts& columns, const Sweep& sweep, int flight) {
    const WordsOfThread words(sweep, chosen.width);
    const bool is_small = columns.most_lanes <= tuned::lanes_of_small_tiles;
    const std::int64_t packs = (columns.largest.extent[1] + chosen.width - 1) / chosen.width;
    const int largest = int(slab_elements) / chosen.width, smallest = tuned::threads_of_small_tiles;
    const int least_of_all =
        words.all <= tuned::words_of_resident_boxes ? tuned::threads_of_many : tuned::threads_of_many / 2;
    const int most_of_all = std::min(registers_of_multiprocessor / (words.all + flight + tuned::registers_of_columns),
                                     tuned::threads_of_narrow_columns);
    if (2 * words.all * tuned::packs_of_strip > device::tile_words) return false; // of two thread blocks that exchange
    if (words.all > tuned::most_words_of_columns && words.widest * largest > device::tile_words) return false;
    double best = 0;
    Schedule trial = chosen;
    for (int size = largest; size >= smallest; size /= 2) {
        trial.threads = is_small ? largest / size * smallest : size; // small ones first
        // Lanes combine in shared memory one fold at a time, and thread blocks at least two at a time.
        if (!chosen.one_lane && words.widest * trial.threads > device::tile_words) continue;
        const std::int64_t of_block = std::min<std::int64_t>(tuned::packs_of_strip, packs) * columns.largest.lanes;
        if (trial.threads < columns.most_of_slab) continue;
        if (of_block > trial.threads && trial.threads < largest) continue; // its strips would be narrow
        const std::int64_t all = strips_of(trial, columns.largest).thread_blocks(columns.largest.batch);
        const std::int64_t thread_blocks = std::max<std::int64_t>(all, 1);
        // Threads that read, of a thread block on average.
        const double reading = double(columns.largest.batch * packs * columns.largest.lanes * columns.largest.blocks) /
                               double(thread_blocks);
        int least = std::max(least_of_all / trial.threads, 1), most = std::max(most_of_all / trial.threads, least);
        if (!chosen.one_lane) { // they have states in shared memory
            const int of_shared = resident_of_shared(trial, words.all);
            least = std::min(least, of_shared);
            most = std::min(most, of_shared);
        }
        for (trial.resident = least; trial.resident <= most; ++trial.resident) {
            const double time = time_of(thread_blocks, trial.resident, least_of_all / reading);
            if (best > 0 && time > tuned::least_gain * best) continue;
            best = time;
            chosen = trial;
        }
    }
    return best > 0;
}

/// Long columns whose rows are whole packs.
std::optional<Schedule> for_long_columns(const ColumnFacts& columns, const Plan& plan, const Sweep& sweep,
                                         Schedule chosen) {
    if (WordsOfThread(sweep, chosen.width).all > tuned::most_words_of_columns) {
        chosen.in_flight *= chosen.width / tuned::least_width;
        chosen.width = tuned::least_width;
    }
    const int words = WordsOfThread(sweep, chosen.width).all;
    chosen.one_lane = columns.most_lanes == 1;
    const int flight = loaded_bytes(plan, sweep) * chosen.width * chosen.in_flight / 4;
    if (!set_thread_blocks(chosen, columns, sweep, flight)) return {};
    if (chosen.threads * chosen.resident <= tuned::threads_of_many / 2) widen_flight(chosen, plan, sweep, words);
    return chosen;
}

/// Short columns whose rows are whole packs.
std::optional<Schedule> for_short_columns(const RowFacts& parts, const Plan& plan, const Sweep& sweep,
                                          Schedule chosen) {
    const ColumnFacts& columns = parts.columns;
    const WordsOfThread words(sweep, chosen.width);
    const auto waiting = [&](int lanes) { return words.all * int(std::bit_width(unsigned(lanes))); };
    const auto may_have = [&](int lanes) { // a thread; a few lanes may be missing
        return lanes < 2 * columns.least_lanes && lanes <= tuned::most_lanes_each &&
               chosen.threads / lanes >= tuned::least_threads && waiting(lanes) <= tuned::words_of_lanes;
    };
    int each = 1;
    while (may_have(2 * each)) each *= 2;
    chosen.lanes_each = each;
    chosen.one_lane = columns.most_lanes == 1;
    chosen.threads /= each;
    if (columns.most_lanes <= tuned::lanes_of_small_tiles) chosen.threads = tuned::threads_of_small_tiles;
    while (!chosen.one_lane && words.widest * chosen.threads > device::tile_words) {
        chosen.lanes_each *= 2;
        chosen.threads /= 2;
    }
    if (waiting(chosen.lanes_each) > tuned::words_of_lanes || chosen.threads < tuned::least_threads ||
        2 * words.all * tuned::packs_of_strip > device::tile_words)
        return {};
    const bool fits = chosen.lanes_each == 1 && words.all <= tuned::words_of_short_columns;
    const int of_registers = tuned::threads_of_many / (fits ? 1 : 2) / chosen.threads;
    const int of_shared = chosen.one_lane ? of_registers : resident_of_shared(chosen, words.all);
    chosen.resident = std::max(std::min(of_registers, of_shared), 1);
    widen_flight(chosen, plan, sweep, words.all);
    set_few_slabs(chosen, parts.slabs);
    return chosen;
}

/// Columns whose rows are no whole packs, if they are many.
std::optional<Schedule> for_unaligned_columns(const RowFacts& parts, const Plan& plan, const Sweep& sweep,
                                              Schedule chosen) {
    const ColumnFacts& columns = parts.columns;
    if (columns.fewest < tuned::least_unaligned || !only_folds_in_order(plan, sweep)) return {};
    chosen.one_lane = columns.most_lanes == 1;
    const bool is_wide = words_of_states(sweep).all * chosen.width > tuned::words_of_resident_boxes;
    if (is_wide) chosen.width = tuned::width_of_wide;
    chosen.width = std::min(chosen.width, columns.step_alignment);
    chosen.staggered = chosen.width >= tuned::least_width;
    int bytes = loaded_bytes(plan, sweep); // of an element, in registers
    if (chosen.staggered) {
        chosen.in_flight = std::min(chosen.in_flight, tuned::most_staggered);
    } else {
        chosen.width = tuned::least_width;
        chosen.apart = tuned::columns_apart;
        bytes = 0;
        for (const ArrayId a : loaded_arrays(sweep)) bytes += std::max(int(size_of(plan.arrays[a].type)), 4);
        chosen.in_flight = int(std::bit_floor(unsigned(std::max(tuned::bytes_apart / (bytes * chosen.width), 1))));
    }
    if (!set_thread_blocks(chosen, columns, sweep, bytes * chosen.width * chosen.in_flight / 4)) return {};
    set_few_slabs(chosen, parts.slabs);
    return chosen;
}

} // namespace

void ColumnFacts::add(const FoldOrder& order) {
    // These are boxes: tiles may have as few as 128 elements, and a launch has at most 2^31.
    constexpr std::int64_t too_long = std::int64_t{1} << 38;
    if (order.slabs == 0 || order.rank != 2) return;
    const bool is_long = order.batch * order.batch_stride >= too_long;
    const std::int64_t lanes = order.lanes * order.blocks, columns = order.extent[1];
    least_lanes = most_lanes == 0 ? lanes : std::min(least_lanes, lanes);
    const std::int64_t most_columns = is_long ? 1 : columns;
    fewest = most_lanes == 0 ? most_columns : std::min(fewest, most_columns);
    most_lanes = std::max(most_lanes, lanes);
    most_of_slab = std::max(most_of_slab, order.lanes);
    if (largest.folded * largest.results < order.folded * order.results) largest = order;
    const auto lower = [](int& least, std::int64_t n) { least = std::min(least, alignment_of(std::uint64_t(n))); };
    lower(alignment, is_long ? 1 : columns);
    lower(slab_alignment, order.lanes * columns);
    if (order.batch > 1) lower(slab_alignment, order.batch_stride);
    // A lane has several rows.
    if (order.slabs > order.blocks) lower(step_alignment, lanes * columns);
}

void ColumnFacts::add_array(int of_array) {
    for (int* const of : {&alignment, &slab_alignment, &step_alignment}) *of = std::min(*of, of_array);
}

Schedule for_columns(const RowFacts& parts, const Plan& plan, const Sweep& sweep, Problems problems) {
    const Schedule boxes = for_boxes(parts.slabs, plan, sweep, problems);
    const ColumnFacts& columns = parts.columns;
    if (merged_dims(sweep) != 2 || columns.most_lanes == 0) return boxes;
    Schedule chosen = boxes;
    chosen.course = Course::columns;
    if (columns.alignment < boxes.width) {
        if (columns.slab_alignment >= boxes.width) return boxes; // which have whole packs
        return for_unaligned_columns(parts, plan, sweep, chosen).value_or(boxes);
    }
    if (parts.slabs <= tuned::slabs_of_short_boxes)
        return for_short_columns(parts, plan, sweep, chosen).value_or(boxes);
    return for_long_columns(columns, plan, sweep, chosen).value_or(boxes);
}

Strips strips_of(const Schedule& schedule, const FoldOrder& order) {
    if (order.slabs == 0) return {};
    const std::int64_t threads = schedule.threads, packs = (order.extent[1] + schedule.width - 1) / schedule.width;
    const auto blocks = std::int64_t(std::bit_ceil(std::uint64_t(order.blocks)));
    // The most packs of a strip for which a thread block that folds `together` blocks has enough threads.
    const auto most_packs = [&](std::int64_t together) {
        return threads / ((together * order.lanes + schedule.lanes_each - 1) / schedule.lanes_each);
    };
    const std::int64_t apart = schedule.apart, edge = schedule.staggered ? 1 : 0; // a pack that strips share
    const std::int64_t wanted = std::max<std::int64_t>(tuned::packs_of_strip, most_packs(blocks));
    const std::int64_t of_row = apart > 1 ? order.extent[1] / schedule.width : packs; // such strips overlap
    const std::int64_t most = std::min({most_packs(1), wanted, of_row}) / apart * apart - edge;
    const std::int64_t least = (packs + most - 1) / most; // strips
    Strips best;
    std::int64_t best_at_once = 0;
    // With the fewest thread blocks in all.
    for (std::int64_t count = least; count <= least + std::min(least, tuned::strips_to_try); ++count) {
        const std::int64_t of_strip = ((packs + count - 1) / count + edge + apart - 1) / apart * apart;
        if (schedule.staggered && best_at_once > 0 && of_strip < tuned::least_staggered) break;
        std::int64_t together = 1;
        while (together < blocks && of_strip <= most_packs(2 * together)) together *= 2;
        const std::int64_t strips = (packs + of_strip - edge - 1) / (of_strip - edge);
        const std::int64_t sharing = blocks == 1 && count == 1 && edge == 0 ? most_packs(1) / of_strip : 1;
        const std::int64_t at_once = together * sharing;
        if (best_at_once > 0 && at_once * best.count <= best_at_once * strips) continue;
        best_at_once = at_once;
        best = {of_strip, strips, together, (order.blocks + together - 1) / together, sharing};
    }
    return best;
}

} // namespace gf::cuda
