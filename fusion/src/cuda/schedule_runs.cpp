// See schedule.hpp: the schedules of rows whose threads fold runs of neighbouring lanes.
#include <algorithm>
#include <bit>

#include <gridfold/core/device/prelude.cuh>

#include <gridfold/core/device/slots.cuh>

#include <gridfold/core/device/places.cuh>

#include <gridfold/fusion/order.hpp>

#include "cuda/phase_values.hpp"
#include "cuda/schedule.hpp"
#include "cuda/sweep_sizes.hpp"
#include "plan/join_phases.hpp"

namespace gf::cuda {

// As in sweep_sizes.hpp.
namespace tuned {
constexpr int elements_of_pack = 16;               ///< unrolled; in shared memory, so not by bytes
constexpr int words_of_runs = 128;                 ///< most of a thread's pack and states
constexpr int bank_bytes = 4, banks = 32;          ///< of shared memory
constexpr int most_conflicts = 4;                  ///< threads that access a bank; 8: sums of 64 f32 256 → 305 us
constexpr int tile_step = 32 * (128 + 4);          ///< bytes; four hold rows of 129 f32
constexpr std::int64_t least_tile = 2;             ///< in steps
constexpr std::int64_t most_tile = 16;             ///< …
constexpr int tile_of_block = 8;                   ///< … of a thread block's warps, together, if more than one
constexpr int most_of_states = 8192;               ///< bytes of static shared memory, of a row's blocks
constexpr std::int64_t rows_for_threads = 1 << 14; ///< a thread each: fewer leave multiprocessors idle
constexpr int bytes_of_short_run = 256;            ///< five of 1,001 f32 in 512 bytes 313 → 331 us
constexpr int least_of_short_run = 64; ///< elements; five of 1,024 f64 in 32 513 → 573 us, of 1,001 709 → 774
constexpr int most_of_short_run = 128; ///< …; five of 1,024 bf16 in 256 158 → 177 us
constexpr std::int64_t blocks_for_runs = 1024; ///< thread blocks; rows of fewer are folded as before
constexpr int runs_of_block = 4;               ///< warps; 1, 2, 8: five of 50,257 bf16 194 → 211, 202, 232 us
constexpr int bytes_of_runs = 76'000;          ///< of a thread block: three are resident
constexpr std::int64_t most_of_threads = 512;  ///< elements; rows by runs are longer: sums of 300 f32 255 → 536 us
constexpr std::int64_t most_of_wide_threads = 160; ///< … of 8 bytes; five of 256 593 → 810 us, of 400 759 → 1066
constexpr int tile_of_held = 16'384;               ///< bytes of a thread block's tiles, if more than one
constexpr int most_held_tile = 36'000;             ///< … of a warp's; softmax of 300 bf16 in 58,000 524 → 797 us
constexpr int most_gathering_tile = 20'000; ///< … that reads by coordinates; layer norm of 200 f32, weighted, 548 → 687
constexpr int wide_fold = 2;                ///< more words: five of 16K bf16 209 → 140, sums 118 → 127
constexpr int slabs_of_aligned = 2;         ///< at most: five of 5,000 f32, with three, 296 → 312 us
constexpr std::int64_t most_blocks_of_warps = 32; ///< of a row in the course of rows by warps
constexpr std::int64_t slabs_of_long = 4; ///< … of a longer one: five of 256 rows of 2^20 f64 960 → 676, bf16 220 → 198
constexpr int warps_of_slab = 4;          ///< of 8 bytes: five of 131,071 f64 632 → 545 us, sums 543 → 491
constexpr int warps_of_aligned_slab = 2; ///< …: five of 16K f64 540 → 511 us, with four 535
} // namespace tuned

namespace {

bool is_wide(const Sweep& sweep) { return state_words(sweep, 1) > tuned::wide_fold; }
/// True if warps that fold short aligned rows take longer to pass on their states than to read. Five of 256 f32 take
/// 266 us by warps, 284 by threads, but of bf16 170 and 156; variance of f64 497 and 523, but five of 64 940 and 628.
bool is_slow_by_warps(const Plan& plan, const Sweep& sweep) {
    const int widest = widest_element(plan, sweep);
    return widest != 4 && 4 * state_words(sweep, 1) > 2 * widest;
}

/// The most elements of a row that a thread folds alone.
std::int64_t most_of_threads(int widest) { return widest > 4 ? tuned::most_of_wide_threads : tuned::most_of_threads; }

/// Sets the warps of a thread block, each with a tile of `tile` bytes, and the most resident blocks. The tiles of a
/// thread block have at most `of_block` bytes, its states `of_states`. False if the device has no room for one tile.
bool set_warps(Schedule& chosen, std::int64_t tile, int of_block, int of_states, int most_shared) {
    const std::int64_t most = std::min(of_block, most_shared - of_states);
    if (of_states > tuned::most_of_states || tile > most) return false;
    const int warps = int(std::bit_floor(std::uint64_t(std::min<std::int64_t>(most / tile, tuned::runs_of_block))));
    chosen.tile_bytes = int(tile);
    chosen.threads = 32 * warps;
    chosen.shared_bytes = warps * chosen.tile_bytes;
    chosen.resident = shared_bytes_of_multiprocessor / (chosen.shared_bytes + of_states + reserved_bytes);
    return true;
}

/// Sets the elements of a pack and the packs of a run of `lanes` lanes, so that registers hold a pack and its states.
/// False if registers do not hold a pack of `least` elements.
bool set_run(Schedule& chosen, const Plan& plan, const Sweep& sweep, std::int64_t lanes, int least) {
    const auto run = std::bit_ceil(std::uint64_t(lanes));
    for (int width = int(std::min<std::uint64_t>(std::max(run, std::uint64_t(least)), tuned::elements_of_pack));
         width >= least; width /= 2) {
        chosen.width = width;
        chosen.packs = int(std::max(run / unsigned(width), std::uint64_t{1}));
        const int words = (loaded_bytes(plan, sweep) * width + 3) / 4 + state_words(sweep, width) +
                          state_words(sweep, int(std::bit_width(unsigned(chosen.packs))));
        if (words > tuned::words_of_runs) continue;
        const int registers = 2 * tuned::own_registers + words;
        chosen.resident = std::clamp(registers_of_multiprocessor / (chosen.threads * registers), 1, chosen.resident);
        return true;
    }
    return false;
}

/// The threads of a warp that access one bank at a time, each a row behind the one before it.
int bank_conflicts(std::int64_t row_bytes, int access_bytes) {
    access_bytes = std::max(access_bytes, tuned::bank_bytes);
    if (row_bytes % access_bytes != 0) return 1;
    return std::min(1 << std::countr_zero(std::uint64_t(row_bytes / access_bytes)),
                    tuned::banks * tuned::bank_bytes / access_bytes);
}

using device::RunPlaces;

/// True if it gathers elements of rows: neighbouring threads would read a row apart.
bool gathers_rows(const Plan& plan, const Sweep& sweep) {
    return std::ranges::any_of(sweep.code, [&](const Instruction& i) {
        if (i.opcode != Opcode::load || is_in_order(i, plan, sweep)) return false;
        const auto& dims = plan.arrays[i.array].dims;
        const auto has = [&](DimId d) { return std::ranges::find(dims, d) != dims.end(); };
        return has(sweep.dims.back()) && std::ranges::any_of(dims_of(sweep, kept_dims(sweep)), has);
    });
}

/// The bytes of the narrowest value that is held, at most 4.
int narrowest_held(const Sweep& sweep) {
    const Table<ValueId, bool> held = held_values(sweep);
    int bytes = 4;
    for (const ValueId v : sweep.code.ids())
        if (held[v]) bytes = std::min(bytes, int(size_of(sweep.code[v].type)));
    return bytes;
}

/// Schedule::taken: an array with elements as large as those that the last phase stores, if nothing else is stored.
int taken_place(const Plan& plan, const Sweep& sweep, const std::vector<ArrayId>& loaded) {
    const std::vector<Store> stores = element_stores(sweep);
    if (stores.size() != 1 || element_stores(sweep, phase_count(sweep) - 1).size() != 1) return -1;
    const auto size = [&](ArrayId a) { return size_of(plan.arrays[a].type); };
    const auto found = std::ranges::find(loaded, size(stores[0].array), size);
    return found == loaded.end() ? -1 : int(found - loaded.begin());
}

/// The bytes of a row for each thread of a warp. An element has `bytes` bytes in all arrays.
std::int64_t bytes_of_tile(const Schedule& schedule, std::int64_t elements, int bytes, int arrays) {
    return 32 * (elements * bytes + (schedule.whole_packs ? RunPlaces::apart * arrays : 0));
}

} // namespace

std::optional<Schedule> for_thread_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep, Problems problems,
                                        int most_shared) {
    if (!only_folds_in_order(plan, sweep) || rows.blocks < tuned::rows_for_threads) return {};
    if (rows.longest > most_of_threads(widest_element(plan, sweep))) return {};
    Schedule chosen{.problems = problems, .course = Course::thread_rows};
    // Rows of a power of 2 of elements leave no thread of a warp without a pack: warps fold what is narrow.
    if (std::has_single_bit(std::uint64_t(rows.longest))) {
        chosen.whole_packs = rows.shortest == rows.longest && rows.alignment == 16 && problems == Problems::one;
        if (!chosen.whole_packs || !is_slow_by_warps(plan, sweep)) return {};
    }
    const int arrays = int(loaded_arrays(sweep).size()), widest = widest_element(plan, sweep);
    const std::int64_t bytes =
        bytes_of_tile(chosen, rows.longest, loaded_bytes(plan, sweep), arrays) + RunPlaces::beside * arrays;
    const std::int64_t steps = std::max((bytes + tuned::tile_step - 1) / tuned::tile_step, tuned::least_tile);
    if (steps > tuned::most_tile) return {};
    const int of_block = std::max(int(steps), tuned::tile_of_block);
    if (!set_warps(chosen, steps * tuned::tile_step, of_block * tuned::tile_step, 0, most_shared)) return {};
    if (!set_run(chosen, plan, sweep, rows.longest, 1)) return {};
    chosen.unit = std::min({rows.alignment, chosen.width, std::max(tuned::load_bytes / widest, 1)});
    if (!chosen.whole_packs && bank_conflicts(rows.longest * widest, chosen.unit * widest) > tuned::most_conflicts)
        return {};
    return chosen;
}

std::int64_t rows_of_thread(const Schedule& schedule, std::int64_t elements, int bytes, int arrays) {
    const std::int64_t a_tile = bytes_of_tile(schedule, elements, bytes, arrays);
    return std::max<std::int64_t>((schedule.tile_bytes - RunPlaces::beside * arrays) / a_tile, 1);
}

std::optional<Schedule> for_held_thread_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep,
                                             Problems problems, int most_shared) {
    const std::vector<ArrayId> loaded = arrays_in_order(plan, sweep);
    const bool is_whole = kept_dims(sweep).empty(), gathers = by_coordinates(plan, sweep);
    if (is_whole || loaded.empty() || rows.blocks < tuned::rows_for_threads) return {};
    if (rows.longest > tuned::most_of_threads) return {};
    if (gathers_rows(plan, sweep)) return {};
    Schedule chosen{.problems = problems, .course = Course::held_thread_rows};
    chosen.strided = strided_arrays(plan, sweep);
    chosen.gathers_packs = rows.packs_aligned && gathers;
    chosen.holds_values = may_hold_values(sweep);
    chosen.threads = 32; // so that the number of packs is known; the tiles decide
    const int least = chosen.holds_values ? 4 / narrowest_held(sweep) : 1; // packs of held values are whole words
    if (!set_run(chosen, plan, sweep, rows.longest, least)) return {};
    chosen.row_packs = int((rows.longest + chosen.width - 1) / chosen.width);
    const int widest = widest_element(plan, sweep), alignment = std::min(rows.alignment, rows.stored_alignment);
    chosen.unit = std::min({alignment, chosen.width, std::max(tuned::load_bytes / widest, 1)});
    if (bank_conflicts(rows.longest * widest, chosen.unit * widest) > tuned::most_conflicts) return {};
    chosen.taken = taken_place(plan, sweep, loaded);
    // Of whole packs, so that rows of other lengths with as many have the same kernel.
    const std::int64_t elements = std::int64_t{32} * chosen.row_packs * chosen.width;
    std::int64_t tile = elements * held_layout(plan, sweep, chosen).bytes;
    const auto add = [&](ArrayId a) {
        tile += (elements * std::int64_t(size_of(plan.arrays[a].type)) + RunPlaces::beside) / 16 * 16;
    };
    for (const ArrayId a : loaded) add(a);
    if (chosen.taken < 0)
        for (const Store& s : element_stores(sweep)) add(s.array);
    if (tile > (gathers ? tuned::most_gathering_tile : tuned::most_held_tile)) return {};
    if (!set_warps(chosen, tile, std::max(int(tile), tuned::tile_of_held), 0, most_shared)) return {};
    if (!set_run(chosen, plan, sweep, rows.longest, least)) return {}; // as many are resident as registers allow
    return chosen;
}

std::optional<Schedule> for_run_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep, Problems problems,
                                     const RowSharing& sharing) {
    const int widest = widest_element(plan, sweep), narrowest = narrowest_load(plan, sweep);
    if (!only_folds_in_order(plan, sweep) || rows.longest <= most_of_threads(widest)) return {};
    const FoldOrder longest = fold_order(rows.longest);
    const bool is_aligned = rows.alignment * widest >= tuned::load_bytes;
    // Rows by warps (warp_rows.cuh) have fewer blocks; a thread block for each would have little to fold.
    const bool is_long = longest.blocks > tuned::most_blocks_of_warps && rows.slabs <= tuned::slabs_of_long &&
                         (is_wide(sweep) || widest < 4);
    if (is_aligned) {
        const bool is_slow = longest.slabs == 1 ? is_slow_by_warps(plan, sweep) : is_wide(sweep);
        if (!is_long && (!is_slow || rows.slabs > tuned::slabs_of_aligned)) return {};
    }
    Schedule chosen{.problems = problems, .course = Course::run_rows};
    // Several rows of one slab are a warp's.
    const bool is_short = longest.slabs == 1;
    if (widest == 8 && !is_short && !is_long && std::ranges::none_of(sweep.folds, shares_origin)) {
        const int wanted = is_aligned ? tuned::warps_of_aligned_slab : tuned::warps_of_slab;
        if (longest.blocks * wanted >= tuned::runs_of_block) chosen.slab_warps = wanted;
    }
    const int run =
        is_short ? std::clamp(tuned::bytes_of_short_run / widest, tuned::least_of_short_run, tuned::most_of_short_run)
                 : int(slab_elements) / 32 / chosen.slab_warps;
    chosen.row_threads = is_short ? int(std::bit_ceil(std::uint64_t(rows.longest + run - 1) / run)) : 32;
    std::int64_t tile = 0;
    for (const ArrayId a : loaded_arrays(sweep))
        tile += rows.slabs * 32 / chosen.row_threads *
                RunPlaces::of_threads(chosen.row_threads, run * std::int64_t(size_of(plan.arrays[a].type)));
    chosen.most_blocks = int(std::bit_ceil(std::uint64_t(longest.blocks)));
    const std::int64_t parts = longest.blocks * chosen.slab_warps; // of a row, each a warp's
    const int of_blocks = 4 * words_of_states(sweep).all * chosen.most_blocks * chosen.slab_warps;
    if (!set_warps(chosen, tile, tuned::bytes_of_runs, of_blocks, sharing.shared_bytes)) return {};
    const std::int64_t warps = chosen.threads / 32;
    std::int64_t thread_blocks = rows.blocks * chosen.row_threads / chosen.threads;
    if (parts > 1) {
        const std::int64_t count = rows.blocks / longest.blocks;
        while (count * chosen.cluster < tuned::blocks_for_runs && 2 * chosen.cluster <= sharing.cluster &&
               2 * chosen.cluster * warps <= parts)
            chosen.cluster *= 2;
        thread_blocks = count * chosen.cluster;
    }
    if (thread_blocks < tuned::blocks_for_runs) return {};
    if (!set_run(chosen, plan, sweep, run, tuned::load_bytes / narrowest)) return {};
    chosen.slabs = int(rows.slabs);
    return chosen;
}

} // namespace gf::cuda
