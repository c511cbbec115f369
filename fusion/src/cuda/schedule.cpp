// See schedule.hpp.
#include "cuda/schedule.hpp"

#include <algorithm>
#include <bit>

#include <gridfold/core/device_text.hpp>
#include <gridfold/fusion/order.hpp>

#include "cuda/parameters.hpp"
#include "cuda/phase_values.hpp"
#include "plan/join_phases.hpp"

namespace gf::cuda {

namespace {

/// The tuning constants, each with the measurement that set it: µs on an H200, before → after (details in
/// bench/NOTES.md). None changes a bit.
namespace tuned {
constexpr int load_bytes = 16;         ///< bytes of a load: f32 sums at 2^30 B reach 0.99 of the read ceiling
constexpr int most_width = 16;         ///< a slab of i8 in 128 threads
constexpr int most_words_of_pack = 64; ///< of the lanes of a pack of rows by warps
constexpr int least_width = 4;    ///< f64 in blocks of 512 threads, not 1,024: 2^10 B 1.62 → 1.49, 2^26 19.3 → 18.7
constexpr int width_of_many = 8;  ///< 1,000 problems in blocks of 256 threads: five 15.9 → 12.9, sums 14.4 → 11.3
constexpr int bytes_of_many = 64; ///< of a thread, in flight, in a large grid: five of 2,500 blocks 17.3 → 13.8
constexpr int large_grid = 1200; ///< blocks; five of 1,000 in a large grid's blocks 13.1 → 14.8, of 1,280 15.6 → 15.4
constexpr int threads_of_maps = 256;  ///< z-score's map of 2^30 B 526 → 508; 128 threads the same
constexpr int slabs_of_functions = 4; ///< of a block: log of 2^30 B 563 → 510, erf 726 → 588; 2x + 1 504 → 512
constexpr int threads_of_functions = 2048; ///< resident threads of such maps: log 631 → 563, erf 848 → 726
constexpr int threads_of_two_wide = 768;   ///< … that compute two functions of f64: expm1 and atan2 take 71 registers
constexpr int narrow_words = 8;        ///< most words of a narrow lane; wide lanes leave room for one resident block
constexpr int most_state_words = 128;  ///< words of a thread's lanes: a thread has at most 255 registers
constexpr int bytes_in_flight = 32768; ///< of a block: f16 of 2^30 B in 8 slabs, not 4: 252 → 242; f32 gains nothing
constexpr int wide_bytes_in_flight = 192; ///< of a thread with wide lanes: a dozen of 2^28 in 12 slabs 262 → 252
constexpr int most_of_long_folds = 48;    ///< elements in flight: NVRTC 13.0 fails on 192 times 16 insertions (top_k)
constexpr int long_state_words = 8;       ///< of a fold in any order, such as a list: folding an element is long code
constexpr int most_in_flight = 16;        ///< i8 sums of 2^30 B with 128 threads and 16 slabs: 254 → 242
constexpr int most_at_once = 8;           ///< slabs; f16 of 4·10^6 B 3.90 → 3.14, but 16 of i8: 2^16 B 1.69 → 1.87
constexpr int words_of_one_warp = 2;    ///< one warp collects up to 8 blocks a lane: 2^20 B 4.33 → 3.51 with the rest
constexpr int words_of_two_each = 8;    ///< … and two of 3 to 8 words: five of 2^20 B 2.94 → 2.47
constexpr int words_of_one_each = 32;   ///< states of two blocks with more words spill
constexpr int own_registers = 16;       ///< counters and addresses; an estimate: 15 → 3 of 300 random graphs spill
constexpr int registers_to_store = 128; ///< with 64 in blocks of 512 threads 5 of 100 random graphs spill
constexpr int computed_parameters = 4;  ///< 64-bit values computed from parameters; an estimate
constexpr int most_boxes_in_flight = 2; ///< slabs, so that two blocks are resident; not measured yet
constexpr int threads_of_rows = 768;    ///< resident threads wanted for rows: more spill; not measured yet
constexpr int threads_of_warp_rows = 128; ///< 256: sums of 64 f32 4226 → 4147 GB/s, of 256 bf16 3688 → 3309
constexpr int bytes_of_warp_rows = 64;    ///< of a thread, in flight: sums of 1,024 f32 in 128 bytes 4541 → 4193 GB/s
constexpr int held_words = 32;      ///< of a thread's row: layer norm of 4,096 f32 in 64 words 0.84 → 0.79 of a copy
constexpr int most_held_words = 64; ///< … of a longer row: of 16K f32 in 256 threads, not 512, 884 → 592 us
constexpr int warps_of_held = 8; ///< … of a row of so many warps or fewer; softmax of 8,192 f32 in 4 587 → 653 us
constexpr int threads_of_held = 1024; ///< resident, wanted for held rows: softmax of 64 f32 0.74 → 0.80 of a copy
constexpr int elements_of_batch = 16; ///< in 8 layer norm of 64 f32 0.97 → 0.88 of a copy
constexpr int registers_of_batches =
    92; ///< of packs of several slabs: softmax of 16K f32 by 4 packs, not 2, 656 → 760 us
constexpr int registers_of_one_batch = 96; ///< … of all packs at once: softmax of 4,096 f32 by 4, not 2, 625 → 603 us
constexpr int spill_of_held = 48; ///< bytes; layer norm of 64K f32 with 4, not with fewer resident blocks, 862 → 724 us
constexpr int bytes_of_block = 65536;      ///< of a longer row: softmax of 16K f32 by a cluster of two 667 → 691 us
constexpr int most_shared_bytes = 200'000; ///< of a multiprocessor with 227 KiB, the rest is for states
constexpr int short_row = 512;             ///< elements; few longer rows are folded by thread blocks
constexpr int slabs_for_warps = 256;       ///< rows of one slab; on an H100 1,000 of 1,000 f32 940 → 1084 GB/s
constexpr int blocks_for_warps = 4096;  ///< of longer rows; on an H100 1,000 of 10,000 f32 2755 → 2074 GB/s by warps
constexpr int most_warps_of_row = 32;   ///< a thread block's
constexpr int small_tile = 32;          ///< elements of a tile's side: a warp
constexpr int large_tile = 64;          ///< with whole lines of 4-byte elements on both sides; not measured yet
constexpr int bytes_of_large_tile = 16; ///< most bytes of an element of all arrays: a thread has 16; not measured yet
constexpr int threads_of_many = 1024;   ///< resident threads wanted for many problems: f64 sums of 1,000 61 → 39
} // namespace tuned

// A multiprocessor's registers, and a thread's.
constexpr int registers_of_multiprocessor = 65536;
constexpr int registers_of_thread = 255;

int widest_element(const Plan& plan, const Sweep& sweep) {
    std::size_t widest = 1;
    for (const Instruction& i : sweep.code)
        if (i.opcode == Opcode::load) widest = std::max(widest, size_of(plan.arrays[i.array].type));
    for (const Store& s : element_stores(sweep)) widest = std::max(widest, size_of(plan.arrays[s.array].type));
    return int(widest);
}

int narrowest_load(const Plan& plan, const Sweep& sweep) {
    std::size_t narrowest = 4;
    for (const Instruction& i : sweep.code)
        if (i.opcode == Opcode::load) narrowest = std::min(narrowest, size_of(plan.arrays[i.array].type));
    return int(narrowest);
}

bool touches_arrays(const Sweep& sweep) {
    return !element_stores(sweep).empty() ||
           std::ranges::any_of(sweep.code, [](const Instruction& i) { return i.opcode == Opcode::load; });
}

bool is_elementary(const Instruction& i) {
    return i.opcode == Opcode::map && detail::calls_functions(i.map->expression);
}

/// True if the kernel computes elementary functions.
bool calls_functions(const Sweep& sweep) { return std::ranges::any_of(sweep.code, is_elementary); }

/// Words of the parameters and of values computed from them, in kernels whose parameters are not in constant memory.
int parameter_words(const Plan& plan, const Sweep& sweep, Course course) {
    return 2 * (tuned::computed_parameters + int(kernel_parameters(plan, sweep, course).size()));
}

/// Words of a thread's states: `width` lanes for folds that are not exact in any order, else one.
int state_words(const Sweep& sweep, int width) {
    int words = 0;
    for (const Fold& f : sweep.folds)
        words += f.monoid->traits(f.element, f.accumulator, f.mask.valid()).thread_words(width);
    return words;
}

/// The same for the phase that has the most.
int most_state_words(const Sweep& sweep, int width) {
    std::vector<int> words(static_cast<std::size_t>(phase_count(sweep)));
    for (const Fold& f : sweep.folds)
        words[static_cast<std::size_t>(f.phase)] +=
            f.monoid->traits(f.element, f.accumulator, f.mask.valid()).thread_words(width);
    return *std::ranges::max_element(words);
}

/// True if folding one element is long code.
bool folds_at_length(const Sweep& sweep) {
    return std::ranges::any_of(sweep.folds, [](const Fold& f) {
        const FoldTraits traits = f.monoid->traits(f.element, f.accumulator, f.mask.valid());
        return traits.joins && traits.state_words > tuned::long_state_words;
    });
}

/// Words of a slab in flight: its elements (unpacked if many folds use them), the addresses of gathered elements,
/// coordinates, and values that are live during the subroutines of 64-bit quotients and exponentials.
int words_in_flight(const Plan& plan, const Sweep& sweep, int width, bool wide) {
    int bytes = 0, words = 0;
    for (const Instruction& i : sweep.code) {
        if (i.opcode == Opcode::load) {
            const Array& array = plan.arrays[i.array];
            bytes += width * std::max(int(size_of(array.type)), wide ? 4 : 1);
            if (!is_in_order(i, plan, sweep)) words += 2 * width;
        } else if (i.opcode == Opcode::index && sweep.dims.size() > 1) {
            words += 2 * width;
        }
    }
    const auto is_called = [&](const Instruction& i) {
        if (!is_per_element(sweep, i) || i.opcode != Opcode::map || size_of(i.compute) < 8) return false;
        const bool divides = i.map == &map_op::divide || i.map == &map_op::floor_div || i.map == &map_op::remainder;
        return divides || is_elementary(i);
    };
    return std::max(words + (bytes + 3) / 4 + 4 * width * int(std::ranges::count_if(sweep.code, is_called)), 1);
}

/// Words that folding needs besides states and slabs, for folds that are not exact in any order: masked states before
/// and after, and elements as f64.
int words_to_fold(const Sweep& sweep, int width) {
    int words = 0;
    for (const Fold& f : sweep.folds) {
        if (f.monoid->traits(f.element, f.accumulator, f.mask.valid()).joins) continue;
        if (f.mask.valid())
            words += width * f.monoid->state_words(f.element, f.accumulator);
        else if (f.accumulator == DType::f64)
            words += width * 2;
    }
    return words;
}

/// The most blocks whose states one thread of the last block collects.
int blocks_to_collect(const Sweep& sweep, int threads) {
    int words = 0, largest = 0;
    for (const Fold& f : sweep.folds) {
        const int of_fold = f.monoid->state_words(f.element, f.accumulator);
        words += of_fold;
        largest = std::max(largest, of_fold);
    }
    // One warp collects states of up to two words from all blocks. Of wider states a thread collects two blocks', which
    // fit into registers besides the loop's values; only one block's if the sweep has one State of many words (argmax),
    // whose combine is long code, or if two would spill.
    const bool one = (words <= tuned::words_of_two_each && largest > 2) || words > tuned::words_of_one_each;
    const int wanted = words <= tuned::words_of_one_warp ? int(max_blocks) / 32 : one ? 1 : 2;
    return std::max(wanted, int(max_blocks) / threads); // each block has a thread
}

} // namespace

int loaded_bytes(const Plan& plan, const Sweep& sweep) {
    std::size_t bytes = 0;
    for (const Instruction& i : sweep.code)
        if (i.opcode == Opcode::load) bytes += size_of(plan.arrays[i.array].type);
    return int(bytes);
}

namespace {

// Words of a position of a box, and of a slab or pack in flight, besides states and elements.
constexpr int words_of_place = 3;

/// The schedule of boxes. Each position has its own states.
Schedule schedule_of_boxes(const Plan& plan, const Sweep& sweep, Problems problems) {
    int words = 0; // of a position
    for (const Fold& f : sweep.folds) words += f.monoid->state_words(f.element, f.accumulator);
    const int widest = widest_element(plan, sweep);
    int width = std::clamp(tuned::load_bytes / widest, tuned::least_width, tuned::most_width);
    while (width > tuned::least_width && words * width > tuned::most_state_words) width /= 2;
    Schedule chosen{
        .problems = problems, .course = Course::boxes, .threads = int(slab_elements) / width, .width = width};
    chosen.strided = strided_arrays(plan, sweep);
    const int bytes = loaded_bytes(plan, sweep) * width;
    if (bytes == 0) return chosen;
    const int of_a_slab = words_in_flight(plan, sweep, width, words > tuned::narrow_words) + words_of_place;
    const int used = 2 * tuned::own_registers + width * (words + words_of_place) + words_to_fold(sweep, width) +
                     (problems == Problems::many ? parameter_words(plan, sweep, Course::boxes) : 0);
    const int room = (std::min(registers_of_multiprocessor / chosen.threads, registers_of_thread) - used) / of_a_slab;
    const int most = std::min({tuned::bytes_in_flight / chosen.threads / bytes, room, tuned::most_boxes_in_flight});
    chosen.in_flight = int(std::bit_floor(unsigned(std::max(most, 1))));
    // As many resident blocks as the estimate allows. A kernel that spills is compiled for fewer (PlanLoader).
    const int registers = used + chosen.in_flight * of_a_slab;
    if (!calls_functions(sweep) && element_stores(sweep).empty())
        chosen.resident = std::clamp(registers_of_multiprocessor / (chosen.threads * registers), 1,
                                     tuned::threads_of_many / chosen.threads);
    return chosen;
}

/// True if a warp would have several packs of such a short row, more than a quarter of them empty. Wide packs are then
/// faster than aligned ones, and elements than windows: sums of rows of 129 f32 446 → 372 us, five 1,054 → 604 (H100).
bool has_empty_packs(const RowFacts& rows) {
    return rows.longest > 4 * 32 && rows.longest <= tuned::short_row &&
           4 * rows.longest < 3 * std::int64_t(std::bit_ceil(std::uint64_t(rows.longest)));
}

/// The width of a pack of rows by warps: 16 bytes of the widest element, at least 4 of the narrowest, the least that a
/// load takes. Short rows are read in packs that they are aligned to, but for types of less than 4 bytes, whose windows
/// are faster than words.
int width_of_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep) {
    const int widest = widest_element(plan, sweep), narrowest = narrowest_load(plan, sweep), least = 4 / narrowest;
    int width = std::clamp(tuned::load_bytes / widest, least, tuned::most_width);
    if (rows.alignment * narrowest >= 4 && rows.longest <= tuned::short_row && !has_empty_packs(rows))
        width = std::min(rows.alignment, width);
    while (width > least && state_words(sweep, width) > tuned::most_words_of_pack) width /= 2;
    return width;
}

/// True if warps fold such rows faster than thread blocks do. `fast`: they are read in packs, or in windows of types of
/// less than 4 bytes.
bool suit_warps(const RowFacts& rows, bool fast) {
    if (rows.longest <= tuned::short_row) return true;
    const FoldOrder longest = fold_order(rows.longest);
    if (longest.slabs == 1) return rows.blocks >= tuned::slabs_for_warps;
    return fast && rows.blocks >= tuned::blocks_for_warps && longest.blocks <= tuned::most_warps_of_row;
}

} // namespace

Schedule for_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep, const Schedule& schedule) {
    const int widest = widest_element(plan, sweep), narrowest = narrowest_load(plan, sweep);
    const bool are_aligned = rows.alignment * widest >= tuned::load_bytes;
    if (schedule.course != Course::rows || rows.longest == 0) return schedule; // without elements any kernel serves
    if (!suit_warps(rows, are_aligned || narrowest < 4)) return schedule;
    const FoldOrder longest = fold_order(rows.longest);
    const int width = width_of_rows(rows, plan, sweep);
    Schedule chosen{.problems = schedule.problems,
                    .course = Course::warp_rows,
                    .threads = tuned::threads_of_warp_rows,
                    .width = width,
                    .strided = schedule.strided};
    chosen.by_elements = has_empty_packs(rows);
    chosen.several_slabs = longest.slabs > 1;
    chosen.several_blocks = longest.blocks > 1;
    if (chosen.several_blocks)
        chosen.threads = std::max(32 * int(std::bit_ceil(std::uint64_t(longest.blocks))), chosen.threads);
    const std::int64_t elements = longest.slabs > 1 ? slab_elements : longest.folded; // of a slab
    const auto packs = std::bit_ceil(unsigned((elements + width - 1) / width));
    chosen.row_threads = int(std::min(packs, 32U));
    chosen.row_packs = int(packs) / chosen.row_threads;
    if (chosen.row_packs > 32) return schedule; // threads exchange the states of as many packs as they are
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

namespace {

/// How warps share the slabs of a held row.
struct Shares {
    int slab_warps = 1;
    int warps = 1;   ///< of the row, in each thread block
    int cluster = 1; ///< thread blocks
};

/// The shares of a row in one thread block. It has `blocks` blocks; a thread would hold `words` if each had one warp.
Shares shares_of_block(std::int64_t blocks, int words, int most_slab_warps) {
    Shares shares;
    // Warps share a slab until each thread holds few words of it. Blocks of more than 512 threads have 64 registers a
    // thread: they spill, so their threads would rather hold more words.
    const auto is_worth = [&] {
        const int held = words / shares.slab_warps;
        const std::int64_t doubled = 2 * shares.slab_warps * blocks; // warps of a row
        return held > tuned::held_words && doubled <= tuned::most_warps_of_row &&
               (held > tuned::most_held_words || doubled <= tuned::warps_of_held);
    };
    while (shares.slab_warps < most_slab_warps && is_worth()) shares.slab_warps *= 2;
    shares.warps = int(shares.slab_warps * blocks);
    return shares;
}

/// The same in a cluster of at most `most` thread blocks.
Shares shares_of_cluster(std::int64_t blocks, int words, int most_slab_warps, int most) {
    Shares shares;
    std::int64_t own = 1; // blocks of the row in a thread block
    const auto cluster = [&] { return (blocks + own - 1) / own; };
    while (cluster() > most) own *= 2;
    while (shares.slab_warps < most_slab_warps && words / shares.slab_warps > tuned::most_held_words &&
           2 * shares.slab_warps * own <= 2 * tuned::warps_of_held)
        shares.slab_warps *= 2;
    // Each thread block has four warps, or eight if few of them are left without a block of the row.
    const auto wasted = [&](std::int64_t each) { return (blocks + each - 1) / each * each - blocks; };
    const auto has_room = [&] {
        const std::int64_t doubled = 2 * shares.slab_warps * own;
        return doubled <= tuned::warps_of_held / 2 ||
               (doubled <= tuned::warps_of_held && 8 * wasted(2 * own) <= blocks);
    };
    while (cluster() > 1 && has_room()) own *= 2;
    shares.cluster = int(cluster());
    shares.warps = int(shares.slab_warps * own);
    return shares;
}

/// The schedule of held rows, with or without the values of functions held.
std::optional<Schedule> schedule_of_held_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep,
                                              Problems problems, bool holds_values, int most_cluster) {
    const int width = width_of_rows(rows, plan, sweep);
    const FoldOrder longest = fold_order(rows.longest);
    const std::int64_t elements = longest.slabs > 1 ? slab_elements : longest.folded; // of a slab
    const int packs = int(std::bit_ceil(std::uint64_t((elements + width - 1) / width)));
    Schedule chosen{.problems = problems, .course = Course::held_rows, .width = width};
    chosen.strided = strided_arrays(plan, sweep);
    chosen.holds_values = holds_values;
    chosen.slabs = int(rows.slabs);
    chosen.several_blocks = longest.blocks > 1;
    chosen.several_slabs = rows.slabs > 1 || chosen.several_blocks;
    chosen.row_threads = std::min(packs, 32);
    const int lane_packs = packs / chosen.row_threads;
    const int words_of_pack = held_layout(plan, sweep, holds_values, width).bytes * width / 4;
    const int words = lane_packs * chosen.slabs * words_of_pack; // of a thread, if a warp has a block to itself
    Shares shares = shares_of_block(longest.blocks, words, lane_packs);
    if (most_cluster > 1 && longest.blocks > 1 && 128 * words * longest.blocks > tuned::bytes_of_block)
        shares = shares_of_cluster(longest.blocks, words, lane_packs, most_cluster);
    chosen.slab_warps = shares.slab_warps;
    chosen.cluster = shares.cluster;
    chosen.row_packs = lane_packs / chosen.slab_warps;
    const int warps = shares.warps;
    if (warps > tuned::most_warps_of_row || chosen.row_packs > 32) return {}; // threads exchange as many packs' states
    const int rows_of_block = chosen.cluster > 1 ? 1 : std::max(4 / warps, 1);
    chosen.threads = warps == 1 ? tuned::threads_of_warp_rows : 32 * warps * rows_of_block;
    // A batch of packs is in registers; more are in shared memory.
    const int batch = std::max(tuned::elements_of_batch / width, 1);
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
    while (chosen.in_flight > 1 && !fits(chosen.in_flight)) chosen.in_flight /= 2;
    if (registers_with(chosen.in_flight) > of_threads) return {}; // it would spill
    const bool in_registers = chosen.row_packs <= chosen.in_flight && !chosen.several_slabs;
    chosen.packs = in_registers && warps == 1 ? chosen.in_flight : chosen.row_packs;
    chosen.windows_in_flight = std::max(chosen.in_flight / 2, 1);
    chosen.shared_bytes = in_registers ? 0 : 4 * chosen.slabs * chosen.packs * words_of_pack * chosen.threads;
    if (chosen.shared_bytes > tuned::most_shared_bytes) return {};
    chosen.copies_elements = chosen.shared_bytes > 0 && narrowest_load(plan, sweep) == 4;
    chosen.by_elements = has_empty_packs(rows) || chosen.copies_elements;
    const int of_shared = chosen.shared_bytes == 0 ? 32 : tuned::most_shared_bytes / chosen.shared_bytes;
    // The estimate of registers is high. A kernel that spills is compiled for fewer resident blocks (PlanLoader).
    const int estimated = registers_of_multiprocessor / (chosen.threads * registers_with(chosen.in_flight));
    chosen.resident = std::clamp(std::min(std::max(estimated, tuned::threads_of_held / chosen.threads), of_shared), 1,
                                 tuned::threads_of_functions / chosen.threads);
    return chosen;
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

std::optional<Schedule> for_held_rows(const RowFacts& rows, const Plan& plan, const Sweep& sweep, Problems problems,
                                      int most_cluster) {
    if (rows.shortest == 0) return {};
    if (may_hold_values(sweep))
        if (auto chosen = schedule_of_held_rows(rows, plan, sweep, problems, true, most_cluster)) return chosen;
    return schedule_of_held_rows(rows, plan, sweep, problems, false, most_cluster);
}

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
    if (merged_dims(sweep) > 1) return schedule_of_boxes(plan, sweep, problems);
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
    const bool has_windows = is_of_warps(schedule.course) ? !schedule.by_elements // rows by warps never shift
                                                          : !shifts(plan, sweep);
    schedule.realigns = schedule.course != Course::boxes && reads_in_order(plan, sweep) && has_windows;
    return schedule;
}

int spill_allowed(const Schedule& schedule) {
    return schedule.course == Course::held_rows && schedule.several_slabs
               ? tuned::spill_of_held * schedule.threads / 256
               : 0;
}

Schedule with_fewer_resident(const Schedule& schedule, int registers, int spilled_bytes) {
    Schedule fewer = schedule;
    const int needed = (registers + spilled_bytes / 4 + 7) / 8 * 8; // registers are allocated in units of eight
    fewer.resident = std::clamp(registers_of_multiprocessor / (schedule.threads * needed), 1, schedule.resident - 1);
    return fewer;
}

} // namespace gf::cuda
