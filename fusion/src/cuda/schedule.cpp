// See schedule.hpp.
#include "cuda/schedule.hpp"

#include <algorithm>
#include <bit>

#include <gridfold/fusion/order.hpp>

#include "cuda/parameters.hpp"
#include "cuda/sweep_sizes.hpp"

namespace gf::cuda {

// As in sweep_sizes.hpp.
namespace tuned {
constexpr int width_of_many = 8;  ///< 1,000 problems in blocks of 256 threads: five 15.9 → 12.9, sums 14.4 → 11.3
constexpr int bytes_of_many = 64; ///< of a thread, in flight, in a large grid: five of 2,500 blocks 17.3 → 13.8
constexpr int large_grid = 1200; ///< blocks; five of 1,000 in a large grid's blocks 13.1 → 14.8, of 1,280 15.6 → 15.4
constexpr int threads_of_maps = 256;     ///< z-score's map of 2^30 B 526 → 508; 128 threads the same
constexpr int slabs_of_functions = 4;    ///< of a block: log of 2^30 B 563 → 510, erf 726 → 588; 2x + 1 504 → 512
constexpr int threads_of_two_wide = 768; ///< … that compute two functions of f64: expm1 and atan2 take 71 registers
constexpr int bytes_in_flight = 32768; ///< of a block: f16 of 2^30 B in 8 slabs, not 4: 252 → 242; f32 gains nothing
constexpr int wide_bytes_in_flight = 192; ///< of a thread with wide lanes: a dozen of 2^28 in 12 slabs 262 → 252
constexpr int most_at_once = 8;           ///< slabs; f16 of 4·10^6 B 3.90 → 3.14, but 16 of i8: 2^16 B 1.69 → 1.87
constexpr int words_of_one_warp = 2;    ///< one warp collects up to 8 blocks a lane: 2^20 B 4.33 → 3.51 with the rest
constexpr int words_of_two_each = 8;    ///< … and two of 3 to 8 words: five of 2^20 B 2.94 → 2.47
constexpr int words_of_one_each = 32;   ///< states of two blocks with more words spill
constexpr int registers_to_store = 128; ///< with 64 in blocks of 512 threads 5 of 100 random graphs spill
constexpr int threads_of_rows = 768;    ///< resident threads wanted for rows: more spill; not measured yet
constexpr int small_tile = 32;          ///< elements of a tile's side: a warp
constexpr int large_tile = 64;          ///< with whole lines of 4-byte elements on both sides; not measured yet
constexpr int bytes_of_large_tile = 16; ///< most bytes of an element of all arrays: a thread has 16; not measured yet
} // namespace tuned

namespace {

/// The most blocks whose states one thread of the last block collects.
int blocks_to_collect(const Sweep& sweep, int threads) {
    const auto [words, largest] = words_of_states(sweep);
    // One warp collects states of up to two words from all blocks. Of wider states a thread collects two blocks', which
    // fit into registers besides the loop's values; only one block's if the sweep has one State of many words (argmax),
    // whose combine is long code, or if two would spill.
    const bool one = (words <= tuned::words_of_two_each && largest > 2) || words > tuned::words_of_one_each;
    const int wanted = words <= tuned::words_of_one_warp ? int(max_blocks) / 32 : one ? 1 : 2;
    return std::max(wanted, int(max_blocks) / threads); // each block has a thread
}

/// The flat schedule of a sweep that folds nothing. Such sweeps are fastest in many small blocks; their slabs are not
/// part of any order. With elementary functions, starting blocks takes a tenth of the time, so each block has several
/// slabs, and as many as possible are resident.
Schedule schedule_of_maps(const Plan& plan, const Sweep& sweep, Problems problems) {
    int width = tuned::least_width;
    if (touches_arrays(sweep))
        width = std::clamp(tuned::load_bytes / widest_element(plan, sweep), tuned::least_width, tuned::most_width);
    Schedule maps{.problems = problems, .threads = tuned::threads_of_maps, .width = width};
    if (calls_functions(sweep)) {
        const auto is_wide = [](const Instruction& i) { return is_elementary(i) && size_of(i.compute) == 8; };
        const bool two_wide = std::ranges::count_if(sweep.code, is_wide) >= 2;
        maps.resident = (two_wide ? tuned::threads_of_two_wide : tuned::threads_of_functions) / maps.threads;
        maps.slabs_of_map = tuned::slabs_of_functions;
    }
    maps.strided = strided_arrays(plan, sweep);
    return maps;
}

int stored_bytes(const Plan& plan, const Sweep& sweep) {
    std::size_t bytes = 0;
    for (const Store& s : element_stores(sweep)) bytes += size_of(plan.arrays[s.array].type);
    return int(bytes);
}

} // namespace

TileFacts tile_facts(const Plan& plan, const Sweep& sweep) {
    TileFacts facts;
    if (!sweep.folds.empty() || !sweep.yields.empty() || sweep.dims.size() < 2) return facts;
    const DimId along = sweep.dims.back();
    const auto look_at = [&](const Array& array) {
        if (facts.across < 0 && !array.strided && runs_across(array, array.dims.back(), along))
            facts.across = int(std::ranges::find(sweep.dims, array.dims.back()) - sweep.dims.begin());
    };
    for (const Store& s : element_stores(sweep)) look_at(plan.arrays[s.array]);
    const std::vector<ArrayId> loaded = loaded_arrays(sweep);
    for (const ArrayId a : loaded) look_at(plan.arrays[a]);
    for (std::size_t n = 0; n < loaded.size() && facts.across >= 0; ++n) {
        const Array& array = plan.arrays[loaded[n]];
        if (!array.strided && runs_across(array, sweep.dims[std::size_t(facts.across)], along))
            facts.across_arrays |= std::uint64_t{1} << n;
    }
    return facts;
}

Schedule for_tiles(const Plan& plan, const Sweep& sweep, const TileFacts& tiles, Problems problems) {
    Schedule chosen = schedule_of_maps(plan, sweep, problems);
    if (tiles.across < 0) return chosen;
    chosen.course = Course::tiles;
    const bool small = loaded_bytes(plan, sweep) + stored_bytes(plan, sweep) <= tuned::bytes_of_large_tile;
    chosen.side = small && widest_element(plan, sweep) < 8 ? tuned::large_tile : tuned::small_tile;
    chosen.width = chosen.side * chosen.side / chosen.threads;
    chosen.slabs_of_map = 1;
    chosen.across = tiles.across;
    chosen.across_arrays = tiles.across_arrays;
    return chosen;
}

Schedule choose_schedule(const Plan& plan, const Sweep& sweep, Problems problems, std::int64_t blocks) {
    if (merged_dims(sweep) > 1) return for_boxes(many_slabs, plan, sweep, problems);
    const Course course = kept_dims(sweep).empty() ? Course::flat : Course::rows;
    const int widest = widest_element(plan, sweep);
    const bool wide = state_words(sweep, 1) > tuned::narrow_words;
    // 16-byte loads of the widest element, and blocks of at most 512 threads: blocks of 1,024 are less often resident
    // and combine more states. Many problems are usually short: their blocks have half the threads, so that more of
    // them are resident. In a large grid resident blocks hide the latency, and a thread has 64 bytes in flight.
    // Rows are as many problems; few bytes of a thread are in flight, since the grid is large.
    const bool small_blocks = (problems == Problems::many || course == Course::rows) && !sweep.folds.empty() && !wide;
    const bool in_large_grid = small_blocks && course == Course::flat && blocks >= tuned::large_grid;
    const int least = small_blocks ? tuned::width_of_many : tuned::least_width;
    const int bytes_wanted = in_large_grid ? tuned::bytes_of_many : tuned::load_bytes;
    int width = tuned::least_width;
    if (touches_arrays(sweep)) width = std::clamp(bytes_wanted / widest, least, tuned::most_width); // defect: width
    // Each of a thread's elements in a slab is a lane with its own states, except in folds that are exact in any order.
    // The states must fit into a thread's 255 registers.
    while (width > tuned::least_width && state_words(sweep, width) > tuned::most_state_words)
        width /= 2; // defect: narrower
    if (sweep.folds.empty()) return for_tiles(plan, sweep, tile_facts(plan, sweep), problems);

    Schedule chosen{.problems = problems, .course = course, .threads = int(slab_elements) / width, .width = width};
    chosen.strided = strided_arrays(plan, sweep);
    chosen.collects = blocks_to_collect(sweep, chosen.threads);
    const int threads_wanted = course == Course::rows ? tuned::threads_of_rows : tuned::threads_of_many;
    if (small_blocks) chosen.resident = threads_wanted / chosen.threads;
    // Sweeps that load nothing wait for nothing: slabs in flight would only add code.
    const int bytes = loaded_bytes(plan, sweep) * width;
    if (bytes == 0) return chosen;
    // The bytes a block needs in flight: 32 KiB if two or more blocks share a multiprocessor. Wide states leave room
    // for one block, which needs more: 192 bytes a thread. Registers limit both: more would spill. (Of many problems
    // the compiler decides how many blocks fit, so this limit is for the slabs alone.)
    const int of_a_thread = wide                                      ? tuned::wide_bytes_in_flight
                            : in_large_grid || course == Course::rows ? tuned::bytes_of_many
                                                                      : tuned::bytes_in_flight / chosen.threads;
    const int used = tuned::own_registers + state_words(sweep, width) + words_to_fold(sweep, width) +
                     (problems == Problems::many ? parameter_words(plan, sweep, chosen.course) : 0);
    const int of_a_slab = words_in_flight(plan, sweep, width, wide);
    const int room = (std::min(registers_of_multiprocessor / chosen.threads, registers_of_thread) - used) / of_a_slab;
    const int of_folds = folds_at_length(sweep) ? tuned::most_of_long_folds / width : tuned::most_in_flight;
    const unsigned most =
        unsigned(std::clamp(std::min({of_a_thread / bytes, room, of_folds}), 1, tuned::most_in_flight));
    chosen.in_flight = int(wide ? most : std::bit_floor(most));
    chosen.rest_at_once = problems == Problems::one && !wide && !by_coordinates(plan, sweep) && chosen.in_flight > 1 &&
                          chosen.in_flight <= tuned::most_at_once;
    // On an H200 a kernel for one problem has at most two blocks on a multiprocessor. Where it would spill, it is
    // compiled twice (PlanLoader); so it is where it calls CUDA's functions, which have arrays in local memory, and
    // where it stores elements with few registers: the estimate counts none for them.
    const int of_two = registers_of_multiprocessor / (2 * chosen.threads);
    const bool stores_fit = element_stores(sweep).empty() || of_two >= tuned::registers_to_store;
    if (problems == Problems::one && !small_blocks && !wide && stores_fit && !calls_functions(sweep) &&
        used + chosen.in_flight * of_a_slab <= of_two)
        chosen.resident = 2;
    // Windows of unaligned arrays take more words than packs.
    chosen.windows_in_flight = std::min(chosen.in_flight, std::max(chosen.in_flight / 2, 2));
    // The tail needs the registers of one more slab; without them it is loaded after the slabs.
    chosen.tail_early = !wide && !by_coordinates(plan, sweep) && chosen.in_flight < room;
    return chosen;
}

Schedule for_unaligned(const Plan& plan, const Sweep& sweep, Schedule schedule) {
    if (schedule.whole_packs) return schedule; // its arrays are aligned
    // These read rows wherever they begin.
    if (schedule.course == Course::thread_rows || schedule.course == Course::held_thread_rows) return schedule;
    if (schedule.course == Course::columns) return schedule;
    const bool has_windows = has_whole_rows(schedule.course) ? !schedule.by_elements
                                                             : schedule.course == Course::boxes || !shifts(plan, sweep);
    schedule.realigns = reads_in_order(plan, sweep) && has_windows;
    return schedule;
}

Schedule with_fewer_resident(const Schedule& schedule, int registers, int spilled_bytes) {
    Schedule fewer = schedule;
    const int needed = (registers + spilled_bytes / 4 + 7) / 8 * 8; // registers are allocated in units of eight
    fewer.resident = std::clamp(registers_of_multiprocessor / (schedule.threads * needed), 1, schedule.resident - 1);
    return fewer;
}

} // namespace gf::cuda
