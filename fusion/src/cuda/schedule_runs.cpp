// See schedule.hpp: the schedules of rows whose threads fold runs of neighbouring lanes.
#include <algorithm>
#include <bit>

#include <gridfold/fusion/order.hpp>

#include "cuda/schedule.hpp"
#include "cuda/sweep_sizes.hpp"

namespace gf::cuda {

// As in sweep_sizes.hpp.
namespace tuned {
constexpr int elements_of_pack = 16;               ///< unrolled; in shared memory, so not by bytes
constexpr int words_of_runs = 128;                 ///< most of a thread's pack and states
constexpr int bank_bytes = 4, banks = 32;          ///< of shared memory
constexpr int most_conflicts = 4;                  ///< threads that access a bank; 8: sums of 64 f32 256 → 305 us
constexpr int tile_step = 32 * (128 + 4);          ///< bytes; four hold rows of 129 f32
constexpr int least_tile = 2, most_tile = 16;      ///< in steps
constexpr int tile_of_block = 8;                   ///< … of a thread block's warps, together, if more than one
constexpr std::int64_t rows_for_threads = 1 << 14; ///< a thread each: fewer leave multiprocessors idle
constexpr std::int64_t blocks_for_runs = 1024;     ///< thread blocks; rows of fewer are folded as before
constexpr int runs_of_block = 4;                   ///< warps; 1, 2, 8: five of 50,257 bf16 194 → 211, 202, 232 us
constexpr int bytes_of_runs = 76'000;              ///< of a thread block: three are resident
constexpr std::int64_t most_of_threads = 512; ///< elements; rows by runs are longer: sums of 300 f32 255 → 536 us
constexpr int wide_fold = 2;                  ///< more words: five of 16K bf16 209 → 140, sums 118 → 127
constexpr int slabs_of_aligned = 2;           ///< at most: five of 5,000 f32, with three, 296 → 312 us
} // namespace tuned

namespace {

/// True if the sweep reads its arrays in order, and only folds.
bool only_folds_in_order(const Plan& plan, const Sweep& sweep) {
    return !loaded_arrays(sweep).empty() && !by_coordinates(plan, sweep) && element_stores(sweep).empty() &&
           !folds_at_length(sweep);
}

/// Sets the elements of a pack and the packs of a run of so many lanes, so that registers hold a pack and its states.
/// False if they do not hold `least` elements.
bool set_run(Schedule& chosen, const Plan& plan, const Sweep& sweep, std::int64_t lanes, int least) {
    const auto run = std::bit_ceil(std::uint64_t(lanes));
    for (int width = int(std::min<std::uint64_t>(std::max(run, std::uint64_t(least)), tuned::elements_of_pack));
         width >= least; width /= 2) {
        chosen.width = width;
        chosen.packs = int(std::max(run / unsigned(width), std::uint64_t{1}));
        const int words = (loaded_bytes(plan, sweep) * width + 3) / 4 + state_words(sweep, width) +
                          state_words(sweep, std::bit_width(unsigned(chosen.packs)));
        if (words > tuned::words_of_runs) continue;
        const int registers = 2 * tuned::own_registers + words;
        const int of_shared = shared_bytes_of_multiprocessor / (chosen.shared_bytes + reserved_bytes);
        chosen.resident = std::clamp(registers_of_multiprocessor / (chosen.threads * registers), 1, of_shared);
        return true;
    }
    return false;
}

/// The threads of a warp that access one bank at a time, each a row behind the one before it.
int bank_conflicts(std::int64_t row_bytes, int access_bytes) {
    if (access_bytes < tuned::bank_bytes) return 1; // rows are an odd number of such accesses long
    return std::min(1 << std::countr_zero(std::uint64_t(row_bytes / access_bytes)),
                    tuned::banks * tuned::bank_bytes / access_bytes);
}

constexpr int apart = 16;       ///< bytes between runs
constexpr int beside_rows = 31; ///< bytes of an array's first piece and of its last that may be of other rows

/// The bytes of a row for each thread of a warp. An element has `bytes` bytes in all arrays.
std::int64_t bytes_of_tile(const Schedule& schedule, std::int64_t elements, int bytes, int arrays) {
    return 32 * (elements * bytes + (schedule.whole_packs ? apart * arrays : 0));
}

} // namespace

std::optional<Schedule> for_thread_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep, Problems problems,
                                        int most_shared) {
    if (!only_folds_in_order(plan, sweep) || rows.blocks < tuned::rows_for_threads) return {};
    if (rows.longest > tuned::most_of_threads) return {};
    Schedule chosen{.problems = problems, .course = Course::thread_rows};
    // Rows of a power of 2 of elements leave no thread of a warp without a pack: warps fold what is narrow.
    if (std::has_single_bit(std::uint64_t(rows.longest))) {
        chosen.whole_packs = rows.shortest == rows.longest && rows.alignment == 16 && problems == Problems::one;
        if (!chosen.whole_packs || state_words(sweep, 1) <= tuned::wide_fold) return {};
    }
    const int arrays = int(loaded_arrays(sweep).size()), widest = widest_element(plan, sweep);
    const std::int64_t bytes =
        bytes_of_tile(chosen, rows.longest, loaded_bytes(plan, sweep), arrays) + beside_rows * arrays;
    const int steps = int(std::max<std::int64_t>((bytes + tuned::tile_step - 1) / tuned::tile_step, tuned::least_tile));
    if (bytes > tuned::most_tile * tuned::tile_step) return {};
    chosen.tile_bytes = steps * tuned::tile_step;
    const int warps = std::clamp(tuned::tile_of_block / steps, 1, tuned::runs_of_block);
    chosen.threads = 32 * warps;
    chosen.shared_bytes = warps * chosen.tile_bytes;
    if (chosen.shared_bytes > most_shared || !set_run(chosen, plan, sweep, rows.longest, 1)) return {};
    chosen.unit = std::min({rows.alignment, chosen.width, std::max(tuned::load_bytes / widest, 1)});
    if (!chosen.whole_packs && bank_conflicts(rows.longest * widest, chosen.unit * widest) > tuned::most_conflicts)
        return {};
    return chosen;
}

std::int64_t rows_of_thread(const Schedule& schedule, std::int64_t elements, int bytes, int arrays) {
    const std::int64_t a_tile = bytes_of_tile(schedule, elements, bytes, arrays);
    return std::max<std::int64_t>((schedule.tile_bytes - beside_rows * arrays) / a_tile, 1);
}

std::optional<Schedule> for_run_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep, Problems problems,
                                     int most_shared) {
    if (!only_folds_in_order(plan, sweep) || rows.longest <= tuned::most_of_threads) return {};
    const int widest = widest_element(plan, sweep), narrowest = narrowest_load(plan, sweep);
    const FoldOrder longest = fold_order(rows.longest);
    const bool is_wide = state_words(sweep, 1) > tuned::wide_fold && rows.slabs <= tuned::slabs_of_aligned &&
                         (longest.slabs > 1 || widest == 8);
    if (rows.alignment * widest >= tuned::load_bytes && !is_wide) return {};
    Schedule chosen{.problems = problems, .course = Course::run_rows};
    const std::int64_t run = longest.slabs > 1 ? slab_elements / 32 : (rows.longest + 31) / 32;
    for (const ArrayId a : loaded_arrays(sweep))
        chosen.tile_bytes +=
            int(rows.slabs) *
            (32 * (int(std::bit_ceil(std::uint64_t(run))) * int(size_of(plan.arrays[a].type)) + apart) + apart);
    int warps = tuned::runs_of_block;
    while (warps > 1 && warps * chosen.tile_bytes > tuned::bytes_of_runs) warps /= 2;
    chosen.threads = 32 * warps;
    chosen.shared_bytes = warps * chosen.tile_bytes;
    const std::int64_t blocks = rows.blocks / (longest.blocks > 1 ? longest.blocks : warps); // thread blocks
    if (chosen.shared_bytes > tuned::bytes_of_runs || blocks < tuned::blocks_for_runs) return {};
    chosen.slabs = int(rows.slabs);
    chosen.row_blocks = int(std::bit_ceil(std::uint64_t(longest.blocks)));
    const int of_blocks = 4 * words_of_states(sweep).all * chosen.row_blocks + apart * int(sweep.folds.size());
    if (chosen.shared_bytes + of_blocks > most_shared) return {};
    if (!set_run(chosen, plan, sweep, run, tuned::load_bytes / narrowest)) return {};
    return chosen;
}

} // namespace gf::cuda
