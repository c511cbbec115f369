// How a sweep's slabs are shared out among threads. Figures: bench/NOTES.md.
#include <algorithm>
#include <bit>
#include <span>

#include <gridfold/fusion/order.hpp>

#include "emit_cuda.hpp"

namespace gf::cuda {

namespace {

int widest_element(const Plan& plan, const Sweep& sweep) {
    std::size_t widest = 1;
    for (const Instruction& i : sweep.code)
        if (i.opcode == Opcode::load) widest = std::max(widest, size_of(plan.arrays[std::size_t(i.slot)].type));
    for (const Store& s : sweep.stores) widest = std::max(widest, size_of(plan.arrays[std::size_t(s.array)].type));
    return int(widest);
}

bool touches_arrays(const Sweep& sweep) {
    return !sweep.stores.empty() ||
           std::ranges::any_of(sweep.code, [](const Instruction& i) { return i.opcode == Opcode::load; });
}

/// Words of a thread's states, of `width` lanes each where the order matters.
int state_words(const Sweep& sweep, int width) {
    int words = 0;
    for (const Fold& f : sweep.folds) words += f.monoid->thread_words(f.element, f.accumulator, f.mask >= 0, width);
    return words;
}

/// Words that a slab in flight takes: its elements, unpacked where many folds want them; of those that are gathered, their
/// addresses; coordinates; and what waits while a quotient of 64 bits is computed, or an exponential: subroutines.
int words_in_flight(const Plan& plan, const Sweep& sweep, int width, bool wide) {
    int bytes = 0, words = 0;
    for (const Instruction& i : sweep.code) {
        if (i.opcode == Opcode::load) {
            const Array& array = plan.arrays[std::size_t(i.slot)];
            bytes += width * std::max(int(size_of(array.type)), wide ? 4 : 1);
            if (!is_flat(array, sweep)) words += 2 * width;
        } else if (i.opcode == Opcode::index && sweep.dims.size() > 1) {
            words += 2 * width;
        }
    }
    const std::span body(sweep.code.data() + sweep.body, std::size_t(sweep.epilogue - sweep.body));
    const auto is_called = [](const Instruction& i) {
        if (i.opcode != Opcode::map || size_of(i.compute) < 8) return false;
        const bool divides = i.map == &map_row::divide || i.map == &map_row::floor_div || i.map == &map_row::remainder;
        return divides || !i.map->facts.exact;
    };
    return std::max(words + (bytes + 3) / 4 + 4 * width * int(std::ranges::count_if(body, is_called)), 1);
}

/// Words that folding takes beside states and slabs, for f64 whose order matters: elements as f64, masked states before
/// and after.
int words_to_fold(const Sweep& sweep, int width) {
    int words = 0;
    for (const Fold& f : sweep.folds) {
        if (f.accumulator != DType::f64 || f.monoid->exact_in_any_order(f.accumulator)) continue;
        words += width * (f.mask < 0 ? 2 : f.monoid->state_words(f.element, f.accumulator));
    }
    return words;
}

} // namespace

int loaded_bytes(const Plan& plan, const Sweep& sweep) {
    std::size_t bytes = 0;
    for (const Instruction& i : sweep.code)
        if (i.opcode == Opcode::load) bytes += size_of(plan.arrays[std::size_t(i.slot)].type);
    return int(bytes);
}

Shape choose_shape(const Plan& plan, const Sweep& sweep) {
    // 16-byte loads of the widest element, and blocks of at most 512 threads: of 1,024, fewer are resident, and more
    // combine. What touches no array has nothing to be wide for.
    int width = touches_arrays(sweep) ? std::max(16 / widest_element(plan, sweep), 4) : 4;
    // Every element a thread has in a slab is a lane with its own states, unless their order does not matter. No thread
    // has more than 255 registers.
    while (width > 4 && state_words(sweep, width) > 128) width /= 2;
    // What folds nothing is done soonest in many small blocks; its slabs are no part of any order.
    if (sweep.folds.empty()) return {256, width, 1};
    const int threads = int(slab_elements) / width;

    // What loads nothing waits for nothing: slabs in flight would only be more code.
    const int bytes = loaded_bytes(plan, sweep) * width;
    if (bytes == 0) return {threads, width, 1};
    // What a block must have in flight: 32 KiB, where two blocks or more share a multiprocessor; wide states leave room
    // for one, which then has more, 192 bytes a thread. But no more than registers hold, or they are spilled.
    const bool wide = state_words(sweep, 1) > 8;
    const int wanted = (wide ? 192 : 32768 / threads) / bytes;
    const int registers = std::min(65536 / threads, 255) - 16; // counters and pointers have those
    const int room = (registers - state_words(sweep, width) - words_to_fold(sweep, width)) /
                     words_in_flight(plan, sweep, width, wide);
    const unsigned in_flight = unsigned(std::clamp(std::min(wanted, room), 1, 16));
    return {threads, width, int(wide ? in_flight : std::bit_floor(in_flight))}; // what is left is taken by halves
}

} // namespace gf::cuda
