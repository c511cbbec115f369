// See shape.hpp.
#include "cuda/shape.hpp"

#include <algorithm>
#include <bit>

#include <gridfold/fusion/order.hpp>

#include "cuda/parameters.hpp"

namespace gf::cuda {

namespace {

/// The tuning constants, each with the measurement that set it: µs on an H200, before → after (details in
/// bench/NOTES.md). None changes a bit.
namespace tuned {
constexpr int load_bytes = 16;   ///< bytes of a load: f32 sums at 2^30 B reach 0.99 of the read ceiling
constexpr int least_width = 4;   ///< f64 in blocks of 512 threads, not 1,024: 2^10 B 1.62 → 1.49, 2^26 19.3 → 18.7
constexpr int width_of_many = 8; ///< 1,000 problems in blocks of 256 threads: five 15.9 → 12.9, sums 14.4 → 11.3
constexpr int threads_of_maps = 256;   ///< z-score's map of 2^30 B 526 → 508; 128 threads the same
constexpr int narrow_words = 8;        ///< most words of a narrow lane; wide lanes leave room for one resident block
constexpr int most_state_words = 128;  ///< words of a thread's lanes: a thread has at most 255 registers
constexpr int bytes_in_flight = 32768; ///< of a block: f16 of 2^30 B in 8 slabs, not 4: 252 → 242; f32 gains nothing
constexpr int wide_bytes_in_flight = 192; ///< of a thread with wide lanes: a dozen of 2^28 in 12 slabs 262 → 252
constexpr int most_in_flight = 16;        ///< i8 sums of 2^30 B with 128 threads and 16 slabs: 254 → 242
constexpr int words_of_one_warp = 2;   ///< one warp collects up to 8 blocks a lane: 2^20 B 4.33 → 3.51 with the rest
constexpr int words_of_two_each = 8;   ///< … and two of 3 to 8 words: five of 2^20 B 2.94 → 2.47
constexpr int words_of_one_each = 32;  ///< states of two blocks with more words spill
constexpr int own_registers = 16;      ///< counters and addresses; an estimate: 15 → 3 of 300 random graphs spill
constexpr int record_registers = 8;    ///< a block's record in kernels for many problems: 12 → 4 of 100 graphs spill
constexpr int computed_parameters = 4; ///< 64-bit values computed from parameters; an estimate
constexpr int threads_of_many = 1024;  ///< resident threads wanted in kernels for many problems, which are short
} // namespace tuned

// A multiprocessor's registers, and a thread's.
constexpr int registers_of_multiprocessor = 65536;
constexpr int registers_of_thread = 255;

int widest_element(const Plan& plan, const Sweep& sweep) {
    std::size_t widest = 1;
    for (const Instruction& i : sweep.code)
        if (i.opcode == Opcode::load) widest = std::max(widest, size_of(plan.arrays[i.array].type));
    for (const Store& s : sweep.stores) widest = std::max(widest, size_of(plan.arrays[s.array].type));
    return int(widest);
}

bool touches_arrays(const Sweep& sweep) {
    return !sweep.stores.empty() ||
           std::ranges::any_of(sweep.code, [](const Instruction& i) { return i.opcode == Opcode::load; });
}

int flat_arrays(const Plan& plan, const Sweep& sweep) {
    return int(std::ranges::count_if(sweep.code, [&](const Instruction& i) {
        return i.opcode == Opcode::load && is_flat(plan.arrays[i.array], sweep);
    }));
}

/// Words of the parameters and of values computed from them, in kernels whose parameters are not in constant memory.
int parameter_words(const Plan& plan, const Sweep& sweep) {
    return 2 * (tuned::computed_parameters + int(kernel_parameters(plan, sweep).size()));
}

/// Words of a thread's states: `width` lanes for folds that are not exact in any order, else one.
int state_words(const Sweep& sweep, int width) {
    int words = 0;
    for (const Fold& f : sweep.folds)
        words += f.monoid->traits(f.element, f.accumulator, f.mask.valid()).thread_words(width);
    return words;
}

/// Words of a slab in flight: its elements (unpacked if many folds use them), the addresses of gathered elements,
/// coordinates, and values that are live during the subroutines of 64-bit quotients and exponentials.
int words_in_flight(const Plan& plan, const Sweep& sweep, int width, bool wide) {
    int bytes = 0, words = 0;
    for (const Instruction& i : sweep.code) {
        if (i.opcode == Opcode::load) {
            const Array& array = plan.arrays[i.array];
            bytes += width * std::max(int(size_of(array.type)), wide ? 4 : 1);
            if (!is_flat(array, sweep)) words += 2 * width;
        } else if (i.opcode == Opcode::index && sweep.dims.size() > 1) {
            words += 2 * width;
        }
    }
    const auto is_called = [](const Instruction& i) {
        if (!is_per_element(i) || i.opcode != Opcode::map || size_of(i.compute) < 8) return false;
        const bool divides = i.map == &map_op::divide || i.map == &map_op::floor_div || i.map == &map_op::remainder;
        return divides || !i.map->facts.exact;
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

/// True if the compiler can save a seventh of the estimated registers to make another block resident. With stores,
/// gathered arrays, masked folds and 64-bit arithmetic it spills instead.
bool yields_registers(const Plan& plan, const Sweep& sweep) {
    const auto is_wide = [](const Instruction& i) { return is_per_element(i) && size_of(i.compute) > 4; };
    const auto is_heavy = [](const Fold& f) { return f.mask.valid() || f.accumulator == DType::f64; };
    return sweep.stores.empty() && !by_coordinates(plan, sweep) && std::ranges::none_of(sweep.code, is_wide) &&
           std::ranges::none_of(sweep.folds, is_heavy);
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

Shape choose_shape(const Plan& plan, const Sweep& sweep, Problems problems) {
    const int widest = widest_element(plan, sweep);
    const bool wide = state_words(sweep, 1) > tuned::narrow_words;
    // 16-byte loads of the widest element, and blocks of at most 512 threads: blocks of 1,024 are less often resident
    // and combine more states. Many problems are usually short: with half the threads, more blocks are resident.
    const bool small_blocks = problems == Problems::many && !sweep.folds.empty() && !wide;
    const int least = small_blocks ? tuned::width_of_many : tuned::least_width;
    int width =
        touches_arrays(sweep) ? std::max(tuned::load_bytes / widest, least) : tuned::least_width; // defect: width
    // Each of a thread's elements in a slab is a lane with its own states, except in folds that are exact in any order.
    // The states must fit into a thread's 255 registers.
    while (width > tuned::least_width && state_words(sweep, width) > tuned::most_state_words)
        width /= 2; // defect: narrower
    // Sweeps that fold nothing are fastest in many small blocks; their slabs are not part of any order.
    if (sweep.folds.empty()) return {.threads = tuned::threads_of_maps, .width = width};
    const int threads = int(slab_elements) / width;

    // Sweeps that load nothing wait for nothing: slabs in flight would only add code.
    const int bytes = loaded_bytes(plan, sweep) * width;
    const int collects = blocks_to_collect(sweep, threads);
    if (bytes == 0) return {.threads = threads, .width = width, .collects = collects};
    // The bytes a block needs in flight: 32 KiB if two or more blocks share a multiprocessor. Wide states leave room
    // for one block, which needs more: 192 bytes a thread. Registers limit both: more would spill.
    const int wanted = (wide ? tuned::wide_bytes_in_flight : tuned::bytes_in_flight / threads) / bytes;
    const int used = tuned::own_registers + state_words(sweep, width) + words_to_fold(sweep, width) +
                     (problems == Problems::many ? parameter_words(plan, sweep) : 0);
    const int of_a_slab = words_in_flight(plan, sweep, width, wide);
    const int room = (std::min(registers_of_multiprocessor / threads, registers_of_thread) - used) / of_a_slab;
    const unsigned most = unsigned(std::clamp(std::min(wanted, room), 1, tuned::most_in_flight));
    const int in_flight = int(wide ? most : std::bit_floor(most)); // the remainder is folded in halves

    // Windows of unaligned arrays take more words than packs.
    const int windows = std::min(in_flight, std::max(in_flight / 2, 2));

    // The tail needs the registers of one more slab; without them it is loaded after the slabs.
    const bool tail_early = !wide && !by_coordinates(plan, sweep) && in_flight < room;
    const int registers = used + of_a_slab * int(tail_early) +
                          std::max(of_a_slab * in_flight, windows * (of_a_slab + 4 * flat_arrays(plan, sweep)));
    // A kernel for one problem has at most two blocks on a multiprocessor, which needs no limit of registers. A kernel
    // for many wants 1,024 resident threads, of 64 registers each; registers are allocated in units of eight.
    const int most_resident = wide || problems == Problems::one ? 1 : tuned::threads_of_many / threads;
    const int needed = yields_registers(plan, sweep) ? registers * 6 / 7 : registers + tuned::record_registers;
    int resident = 1;
    while (resident < most_resident && needed <= registers_of_multiprocessor / (threads * (resident + 1)) / 8 * 8)
        ++resident;
    return {.threads = threads,
            .width = width,
            .in_flight = in_flight,
            .windows_in_flight = windows,
            .resident = resident,
            .tail_early = tail_early,
            .collects = collects};
}

} // namespace gf::cuda
