// See schedule.hpp: the schedules of rows by warps and of held rows.
#include <algorithm>
#include <bit>

#include <gridfold/core/device/prelude.cuh>

#include <gridfold/core/device/slots.cuh>

#include <gridfold/fusion/order.hpp>

#include "cuda/held_row_shares.hpp"
#include "cuda/parameters.hpp"
#include "cuda/phase_values.hpp"
#include "cuda/schedule.hpp"
#include "cuda/sweep_sizes.hpp"

namespace gf::cuda {

// As in sweep_sizes.hpp.
namespace tuned {
constexpr int most_words_of_pack = 64;    ///< of the lanes of a pack of rows by warps
constexpr int threads_of_warp_rows = 128; ///< 256: sums of 64 f32 4226 → 4147 GB/s, of 256 bf16 3688 → 3309
constexpr int bytes_of_warp_rows = 64;    ///< of a thread, in flight: sums of 1,024 f32 in 128 bytes 4541 → 4193 GB/s
constexpr int bytes_far_ahead = 8'192;    ///< what a thread block loads, at most; more is prefetched half as far ahead:
                                          ///< layer norm of 16K bf16 350 → 336 us, of 4,096 bf16 271 → 277 us
constexpr int most_bytes_of_functions = 16'384; ///< … that is prefetched if it computes functions of 4 bytes an element
                                                ///< or more: softmax of 64K f32 586 → 622 us
constexpr int rows_of_few_threads = 1 << 14;    ///< at least; fewer are not measured
constexpr int bytes_of_batch = 64;       ///< in 32 layer norm of 64 f32 0.97 → 0.88 of a copy, of bf16 0.98 → 0.92
constexpr int registers_of_batches = 92; ///< of several slabs: softmax of 16K f32 by 4 packs, not 2, 656 → 760 us
constexpr int registers_of_one_batch = 96; ///< … of all packs at once: softmax of 4,096 f32 by 4, not 2, 625 → 603 us
constexpr int most_counted_slabs = 4;      ///< unrolled: layer norm of 32,000 f32, with wide states, 684 → 767 us
constexpr int least_held_packs = 3;        ///< in registers: softmax of 768 bf16 by one at a time 376 us
constexpr int least_in_flight = 8;         ///< elements of a thread, in packs that rows fill
constexpr int spill_of_held = 40;        ///< bytes: layer norm of 64K f32 with 4 724 us, with fewer resident blocks 862
constexpr int spill_of_two_blocks = 160; ///< … instead of one resident: layer norm of 50,257 bf16 601 → 553 us
constexpr int threads_of_spills = 256;   ///< … of larger blocks alone: of 32,768 bf16 with 72 330 → 354 us
constexpr int spill_of_rows = 16;        ///< bytes; with 8, fewer resident blocks: five of 131,071 bf16 436 → 564 us
constexpr int spill_of_boxes = 192; ///< bytes, most outside the loop over slabs: five of 64 × 64 f32 2,356 → 1,762 us
constexpr int short_row = 512;      ///< elements; few longer rows are folded by thread blocks
constexpr int slabs_for_warps = 256;   ///< rows of one slab; on an H100 1,000 of 1,000 f32 940 → 1084 GB/s
constexpr int blocks_for_warps = 4096; ///< of longer rows; on an H100 1,000 of 10,000 f32 2755 → 2074 GB/s by warps
} // namespace tuned

namespace {

/// The packs of each of `threads` threads that have a row of `elements` elements; and true if it fills those of a warp.
int packs_of_thread(std::int64_t elements, int width, int threads = 32) {
    return int((elements + threads * width - 1) / (threads * width));
}
bool fill_packs(std::int64_t elements, int width) { return elements % (std::int64_t{32} * width) == 0; }

/// True if a warp would leave a quarter of its packs of `width` elements empty in such a short row. Wide packs are then
/// faster than aligned ones, and elements than windows: sums of rows of 129 f32 446 → 372 us, five
/// 1,054 → 604 (H100). Of `held` rows a warp has no more packs than it needs.
bool has_empty_packs(const RowFacts& rows, int width, bool held) {
    const std::int64_t filled = held ? std::int64_t{32} * width * packs_of_thread(rows.longest, width)
                                     : std::int64_t(std::bit_ceil(std::uint64_t(rows.longest)));
    return rows.longest > 4 * 32 && rows.longest <= tuned::short_row && 4 * rows.longest < 3 * filled;
}

/// The width of a pack of rows by warps: 16 bytes of the widest element, at least 4 of the narrowest, the least that a
/// load takes. Short rows are read in packs that they are aligned to, but for types of less than 4 bytes, whose windows
/// are faster than words.
int width_of_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep, bool held) {
    const int widest = widest_element(plan, sweep), narrowest = narrowest_load(plan, sweep), least = 4 / narrowest;
    int width = std::clamp(tuned::load_bytes / widest, least, tuned::most_width);
    const int aligned = std::min(rows.alignment, width);
    if (rows.alignment * narrowest >= 4 && rows.longest <= tuned::short_row && !has_empty_packs(rows, aligned, held))
        width = aligned;
    while (width > least && state_words(sweep, width) > tuned::most_words_of_pack) width /= 2;
    return width;
}

/// Sets the packs of a thread whose warp has whole held rows of one slab: no more than it needs, all in flight if they
/// are few, else a multiple of those in flight. Those of rows that fill their packs are as many as fill them, even if
/// fewer are in flight then.
void set_packs(Schedule& chosen, std::int64_t elements) {
    const int least = packs_of_thread(elements, chosen.width);
    if (std::has_single_bit(unsigned(least))) return;
    if (least <= std::max(chosen.in_flight, tuned::least_held_packs)) chosen.in_flight = least;
    const bool fill = fill_packs(elements, chosen.width);
    int dividing = chosen.in_flight;
    while (least % dividing != 0) dividing /= 2;
    if (fill && dividing * chosen.width >= tuned::least_in_flight) chosen.in_flight = dividing;
    chosen.row_packs = (least + chosen.in_flight - 1) / chosen.in_flight * chosen.in_flight;
}

/// The threads of a short row that leave the fewest of its packs empty: of rows of 96 bf16 four threads have three
/// packs each, where 16 would leave a quarter empty. Threads exchange the states of at most as many packs as they are.
/// `most`: the packs that a thread can hold in registers.
int threads_of_short_row(std::int64_t elements, int width, int most) {
    int best = std::min(int(std::bit_ceil(std::uint64_t(packs_of_thread(elements, width, 1)))), 32);
    for (const int threads : {16, 8, 4}) {
        const int packs = packs_of_thread(elements, width, threads);
        if (packs <= std::min(threads, most) && threads * packs < best * packs_of_thread(elements, width, best))
            best = threads;
    }
    return best;
}

/// True if users wrote a map or a monoid of the sweep.
bool has_users_functions(const Sweep& sweep) {
    return std::ranges::any_of(sweep.code,
                               [](const Instruction& i) { return i.opcode == Opcode::map && i.map->builtin < 0; }) ||
           std::ranges::any_of(sweep.folds, [](const Fold& f) { return f.monoid->builtin < 0; });
}

/// Sets what a kernel may rely on if arrays are aligned, and if all rows are whole packs, or fill those of their slabs;
/// its packs are set. Threads of such kernels map and fold whatever their registers hold where they have no pack:
/// users' functions may not end then.
void set_whole(Schedule& chosen, const RowFacts& rows, const Plan& plan, const Sweep& sweep) {
    const FoldOrder order = fold_order(rows.longest);
    const std::int64_t slab =
        std::int64_t{chosen.row_threads} * chosen.row_packs * chosen.slab_warps * chosen.width; // elements
    const bool alike = rows.longest == rows.shortest && chosen.problems == Problems::one;
    const bool aligned = rows.packs_aligned && std::min(rows.alignment, rows.stored_alignment) >= chosen.width;
    chosen.gathers_packs = rows.packs_aligned && by_coordinates(plan, sweep);
    const bool has_parts = rows.longest % chosen.width != 0;
    chosen.whole_packs = alike && aligned && !has_parts && !has_users_functions(sweep); // defect: whole packs
    chosen.whole_slabs = chosen.whole_packs && rows.longest % slab == 0;                // defect: whole slabs
    chosen.counts_slabs = chosen.whole_packs && !chosen.whole_slabs && chosen.several_slabs &&
                          rows.slabs <= tuned::most_counted_slabs && most_state_words(sweep, 1) <= 2;
    chosen.even_blocks = chosen.whole_slabs && rows.longest == slab * rows.slabs * order.blocks; // defect: even blocks
}

/// True if warps fold such rows faster than thread blocks do. `fast`: they are read in packs, or in windows of types of
/// less than 4 bytes.
bool suit_warps(const RowFacts& rows, bool fast) {
    if (rows.longest <= tuned::short_row) return true;
    const FoldOrder longest = fold_order(rows.longest);
    if (longest.slabs == 1) return rows.blocks >= tuned::slabs_for_warps;
    return fast && rows.blocks >= tuned::blocks_for_warps && longest.blocks <= tuned::most_warps_of_row;
}

/// The schedule of such rows, but for its one_turn.
Schedule course_of_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep, const Schedule& schedule,
                        const RowSharing& sharing) {
    const int widest = widest_element(plan, sweep), narrowest = narrowest_load(plan, sweep);
    const bool are_aligned = rows.alignment * widest >= tuned::load_bytes;
    if (schedule.course != Course::rows || rows.longest == 0) return schedule; // without elements any kernel serves
    if (const auto chosen = for_thread_rows(rows, plan, sweep, schedule.problems, sharing.shared_bytes)) return *chosen;
    if (const auto chosen = for_run_rows(rows, plan, sweep, schedule.problems, sharing)) return *chosen;
    if (!suit_warps(rows, are_aligned || narrowest < 4)) return schedule;
    const FoldOrder longest = fold_order(rows.longest);
    const int width = width_of_rows(rows, plan, sweep, false);
    Schedule chosen{.problems = schedule.problems,
                    .course = Course::warp_rows,
                    .threads = tuned::threads_of_warp_rows,
                    .width = width,
                    .strided = schedule.strided};
    chosen.by_elements = has_empty_packs(rows, width, false);
    chosen.several_slabs = longest.slabs > 1;
    chosen.several_blocks = longest.blocks > 1;
    if (chosen.several_blocks)
        chosen.threads = std::max(32 * int(std::bit_ceil(std::uint64_t(longest.blocks))), chosen.threads);
    const std::int64_t elements = longest.slabs > 1 ? slab_elements : longest.folded; // of a slab
    const auto packs = std::bit_ceil(unsigned((elements + width - 1) / width));
    chosen.row_threads = int(std::min(packs, 32U));
    chosen.row_packs = int(packs) / chosen.row_threads;
    if (chosen.row_packs > 32) return schedule; // threads exchange the states of as many packs as they are
    set_whole(chosen, rows, plan, sweep);
    chosen.whole_packs = chosen.whole_slabs; // what held rows gain by it, and by counted slabs, is not measured here
    chosen.counts_slabs = false;
    if (chosen.even_blocks) chosen.slabs = int(rows.slabs); // other kernels are of rows of any length
    const int bytes = std::max(loaded_bytes(plan, sweep) * width, 1);
    const int wanted = int(std::bit_floor(unsigned(std::max(tuned::bytes_of_warp_rows / bytes, 1))));
    chosen.packs = std::max(chosen.row_packs, chosen.several_slabs ? 1 : wanted);
    const int of_a_pack = words_in_flight(plan, sweep, width, true) + words_of_place;
    const int lanes = state_words(sweep, width);
    const int used = (2 + (chosen.several_blocks ? 1 : 0)) * tuned::own_registers +
                     state_words(sweep, 1) * std::bit_width(unsigned(chosen.packs)) + words_to_fold(sweep, width) +
                     (chosen.problems == Problems::many ? parameter_words(plan, sweep, chosen.course) : 0);
    const int of_threads = std::min(registers_of_multiprocessor / chosen.threads, registers_of_thread);
    if (chosen.several_blocks && of_threads < used + of_a_pack + lanes) return schedule; // it would spill
    const int room = std::clamp((of_threads - used) / (of_a_pack + lanes), 1, std::min(wanted, chosen.packs));
    chosen.in_flight = int(std::bit_floor(unsigned(room)));
    chosen.packs = std::max(chosen.row_packs, chosen.in_flight); // packs that are not in flight hide no latency
    chosen.windows_in_flight = std::max(chosen.in_flight / 2, 1);
    // As many resident blocks as the estimate allows. A kernel that spills is compiled for fewer (PlanLoader).
    const int registers = used + chosen.in_flight * (of_a_pack + lanes);
    if (!calls_functions(sweep))
        chosen.resident = std::clamp(registers_of_multiprocessor / (chosen.threads * registers), 1,
                                     tuned::threads_of_functions / chosen.threads);
    return chosen;
}

/// True if the grid has thread blocks for all rows at once: see grid() and count_blocks().
bool has_one_turn(const RowFacts& rows, const Schedule& schedule) {
    return has_whole_rows(schedule.course) && schedule.problems == Problems::one && !schedule.cooperates &&
           rows.blocks <= most_thread_blocks;
}

/// The bytes of an element in the arrays that rows are read from in order.
int bytes_in_order(const Plan& plan, const Sweep& sweep) {
    std::size_t bytes = 0;
    for (const ArrayId array : arrays_in_order(plan, sweep)) bytes += size_of(plan.arrays[array].type);
    return int(bytes);
}

/// Schedule::elements_ahead of held rows.
int prefetch_distance(const Schedule& schedule, const RowFacts& rows, const Plan& plan, const Sweep& sweep,
                      int bytes_ahead) {
    const int bytes = bytes_in_order(plan, sweep);
    if (bytes == 0 || schedule.cooperates) return 0;
    const std::int64_t of_block =
        (schedule.several_blocks ? 1 : schedule.rows_of_thread_block()) * rows.longest * bytes / schedule.cluster;
    if (calls_functions(sweep) && bytes >= 4 && of_block > tuned::most_bytes_of_functions) return 0;
    return bytes_ahead / bytes / (of_block > tuned::bytes_far_ahead ? 2 : 1);
}

/// The schedule of held rows, with or without the values of functions held, or of such rows of a few threads each.
std::optional<Schedule> schedule_of_held_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep,
                                              Problems problems, bool holds_values, bool by_few_threads,
                                              const RowSharing& sharing) {
    const int width = width_of_rows(rows, plan, sweep, true);
    const FoldOrder longest = fold_order(rows.longest);
    const std::int64_t elements = longest.slabs > 1 ? slab_elements : longest.folded; // of a slab
    const int packs = int(std::bit_ceil(std::uint64_t(packs_of_thread(elements, width, 1))));
    Schedule chosen{.problems = problems, .course = Course::held_rows, .width = width};
    chosen.strided = strided_arrays(plan, sweep);
    chosen.holds_values = holds_values;
    chosen.slabs = int(rows.slabs);
    chosen.several_blocks = longest.blocks > 1;
    chosen.several_slabs = rows.slabs > 1 || chosen.several_blocks;
    const int words_of_pack = held_layout(plan, sweep, chosen).bytes * width / 4;
    chosen.row_threads = by_few_threads
                             ? threads_of_short_row(elements, width, tuned::held_words / std::max(words_of_pack, 1))
                             : std::min(packs, 32);
    if (by_few_threads && chosen.row_threads == std::min(packs, 32)) return {};
    const int lane_packs = packs / chosen.row_threads;
    // Of a thread, if a warp has a block to itself. It has one if rows of one slab fill its packs then, and no others.
    const int least = packs_of_thread(elements, width, chosen.row_threads);
    const std::int64_t words = rows.slabs * least * words_of_pack;
    const bool fill = !chosen.several_slabs && fill_packs(elements, width);
    const bool alone =
        by_few_threads || (fill && !std::has_single_bit(unsigned(least)) && words <= tuned::most_held_words);
    // Many problems of one launch would need room for the thread blocks of all at a time.
    const RowSharing& allowed = problems == Problems::one
                                    ? sharing
                                    : RowSharing{.cluster = sharing.cluster, .shared_bytes = sharing.shared_bytes};
    const std::optional<Shares> found =
        shares_of_row(rows, rows.alignment < width, sweep, words, alone ? 1 : lane_packs, allowed);
    if (!found) return {};
    const Shares& shares = *found;
    const bool is_whole = kept_dims(sweep).empty();
    chosen.cooperates = shares.cooperate;
    chosen.slab_warps = shares.slab_warps;
    chosen.cluster = shares.cluster;
    chosen.row_packs = lane_packs / chosen.slab_warps;
    const int warps = shares.warps;
    if (warps > tuned::most_warps_of_row || chosen.row_packs > 32) return {}; // threads exchange as many packs' states
    const int rows_of_block = chosen.cluster > 1 ? 1 : std::max(4 / warps, 1);
    chosen.threads = warps == 1 ? tuned::threads_of_warp_rows : 32 * warps * rows_of_block;
    // A batch of packs is in registers; more are in shared memory.
    const int bytes_of_pack = width * std::max(bytes_in_order(plan, sweep), 1);
    const int batch = int(std::bit_floor(unsigned(std::max(tuned::bytes_of_batch / bytes_of_pack, 1))));
    const int lanes = most_state_words(sweep, width);
    const int used = (calls_functions(sweep) ? 5 : 3) * tuned::own_registers / 2;
    const auto lanes_with = [&](int in_flight) { return (chosen.several_slabs ? in_flight : 1) * lanes; };
    const auto registers_with = [&](int in_flight) {
        return used + in_flight * (words_of_pack + words_of_place) + lanes_with(in_flight) +
               most_state_words(sweep, 1) * int(std::bit_width(unsigned(chosen.row_packs))) +
               (problems == Problems::many ? parameter_words(plan, sweep, chosen.course) : 0);
    };
    const int of_threads = std::min(registers_of_multiprocessor / chosen.threads, registers_of_thread);
    chosen.in_flight = std::min(batch, chosen.several_slabs || warps > 1 ? chosen.row_packs : batch);
    const auto fits = [&](int in_flight) {
        const int wanted = registers_with(in_flight) + lanes_with(in_flight) / 2;
        const int limit = in_flight == chosen.row_packs ? tuned::registers_of_one_batch : tuned::registers_of_batches;
        return registers_with(in_flight) <= of_threads && (!chosen.several_slabs || wanted <= limit);
    };
    if (by_few_threads)
        chosen.row_packs = chosen.in_flight = least;
    else
        while (chosen.in_flight > 1 && !fits(chosen.in_flight)) chosen.in_flight /= 2;
    if (registers_with(chosen.in_flight) > of_threads) return {}; // it would spill
    if (!by_few_threads && !chosen.several_slabs && warps == 1 && chosen.row_packs > 1)
        set_packs(chosen, longest.folded);
    set_whole(chosen, rows, plan, sweep);
    const bool in_registers = chosen.row_packs <= chosen.in_flight && !chosen.several_slabs;
    // Without branches, ptxas loads packs of 16 bytes one after the other where wide states take the registers.
    const bool are_delayed = in_registers && loaded_bytes(plan, sweep) >= 4 && most_state_words(sweep, 1) > 2;
    if (are_delayed && !by_coordinates(plan, sweep))
        chosen.whole_packs = chosen.whole_slabs = chosen.even_blocks = false;
    chosen.packs = in_registers && warps == 1 ? chosen.in_flight : chosen.row_packs;
    chosen.windows_in_flight = std::max(chosen.in_flight / 2, 1);
    const std::int64_t held_bytes = 4 * words_of_pack * chosen.packs * rows.slabs * chosen.threads;
    if (!in_registers && held_bytes > tuned::most_shared_bytes) return {};
    chosen.shared_bytes = in_registers ? 0 : int(held_bytes);
    chosen.by_elements = !in_registers || (!by_few_threads && has_empty_packs(rows, width, true));
    chosen.stores_words = !in_registers && rows.stored_alignment < width;
    int of_shared = chosen.shared_bytes == 0 ? 32 : tuned::most_shared_bytes / chosen.shared_bytes;
    if (shares.fit_twice) of_shared = 2;
    // The estimate of registers is high. A kernel that spills is compiled for fewer resident blocks (PlanLoader).
    const int estimated = registers_of_multiprocessor / (chosen.threads * registers_with(chosen.in_flight));
    chosen.resident = std::clamp(std::min(std::max(estimated, tuned::threads_of_held / chosen.threads), of_shared), 1,
                                 tuned::threads_of_functions / chosen.threads);
    chosen.elements_ahead = prefetch_distance(chosen, rows, plan, sweep, allowed.bytes_ahead);
    if (chosen.even_blocks) chosen.length = rows.longest; // kernels of other rows serve many lengths
    if (chosen.cooperates) {
        const int needed = int(resident_of_grid(chosen.cluster, sharing));
        // A seventh is for states, and for what is reserved for each thread block.
        const int room = std::min(of_shared, sharing.shared_bytes * 6 / 7 / std::max(chosen.shared_bytes, 1));
        if (needed > room) return {};
        chosen.resident = is_whole ? needed : std::clamp(chosen.resident, needed, room);
    }
    return chosen;
}

/// True if rows by a few threads leave at most an eighth of their packs empty, and these have 16 bytes. Else a thread
/// for each row is faster: layer norm of 300 bf16 265, not 342 us, but of 300 f32 570, not 515 us.
bool fill_wide_packs(const Schedule& schedule, const RowFacts& rows, const Plan& plan, const Sweep& sweep) {
    const std::int64_t room = std::int64_t{schedule.row_threads} * schedule.row_packs * schedule.width;
    return 8 * (room - rows.longest) <= room && std::ranges::all_of(arrays_in_order(plan, sweep), [&](ArrayId array) {
               return schedule.width * int(size_of(plan.arrays[array].type)) >= tuned::load_bytes;
           });
}

/// The schedule of such rows, but for its one_turn.
std::optional<Schedule> course_of_held_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep,
                                            Problems problems, const RowSharing& sharing) {
    if (rows.shortest == 0) return {};
    const auto schedule = [&](bool by_few_threads) {
        std::optional<Schedule> chosen;
        if (may_hold_values(sweep))
            chosen = schedule_of_held_rows(rows, plan, sweep, problems, true, by_few_threads, sharing);
        if (!chosen) chosen = schedule_of_held_rows(rows, plan, sweep, problems, false, by_few_threads, sharing);
        return chosen;
    };
    std::optional<Schedule> by_few_threads;
    if (rows.longest <= tuned::short_row && rows.blocks >= tuned::rows_of_few_threads) by_few_threads = schedule(true);
    if (by_few_threads && fill_wide_packs(*by_few_threads, rows, plan, sweep)) return by_few_threads;
    if (auto by_thread = for_held_thread_rows(rows, plan, sweep, problems, sharing.shared_bytes)) return by_thread;
    return by_few_threads ? by_few_threads : schedule(false);
}

} // namespace

Schedule for_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep, const Schedule& schedule,
                  const RowSharing& sharing) {
    Schedule chosen = course_of_rows(rows, plan, sweep, schedule, sharing);
    chosen.one_turn = has_one_turn(rows, chosen);
    return chosen;
}

std::optional<Schedule> for_held_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep, Problems problems,
                                      const RowSharing& sharing) {
    std::optional<Schedule> chosen = course_of_held_rows(rows, plan, sweep, problems, sharing);
    if (chosen) chosen->one_turn = has_one_turn(rows, *chosen);
    return chosen;
}

int bytes_of_states(const Sweep& sweep, const Schedule& schedule) {
    constexpr int origin = 8, alignment = 16;
    const int warps = schedule.threads / 32;
    const bool is_cluster = schedule.cluster > 1 && !schedule.cooperates;
    int bytes = 0;
    for (const Fold& f : sweep.folds) {
        const int words = f.monoid->state_words(f.element, f.accumulator);
        bytes += 4 * words * (schedule.cooperates ? 2 * warps : warps) + origin * warps + 3 * alignment;
        if (is_cluster) bytes += 8 * device::Slots::of_block(words) * 2 * schedule.cluster; // of two rows
    }
    const auto count = [](const Table<ValueId, bool>& values) { return int(std::ranges::count(values, true)); };
    return bytes + warps * (8 * count(kept_values(sweep)) + 16 * count(divisors(sweep))) + alignment;
}

int spill_allowed(const Schedule& schedule) {
    if (packs_results(schedule.course)) return tuned::spill_of_boxes;
    if (schedule.course == Course::rows) return tuned::spill_of_rows;
    if (schedule.course != Course::held_rows || !schedule.several_slabs) return 0;
    const bool one_would_be_left = schedule.resident == 2 && schedule.threads > tuned::threads_of_spills;
    return one_would_be_left ? tuned::spill_of_two_blocks : tuned::spill_of_held * schedule.threads / 256;
}

} // namespace gf::cuda
