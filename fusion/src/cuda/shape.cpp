// How a sweep's slabs are shared out among threads. Figures: bench/NOTES.md.
#include <algorithm>
#include <bit>

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

} // namespace

int loaded_bytes(const Plan& plan, const Sweep& sweep) {
    std::size_t bytes = 0;
    for (const Instruction& i : sweep.code)
        if (i.opcode == Opcode::load) bytes += size_of(plan.arrays[std::size_t(i.slot)].type);
    return int(bytes);
}

Shape choose_shape(const Plan& plan, const Sweep& sweep) {
    // 16-byte loads of the widest element, and blocks of at most 512 threads: of 1,024, fewer are resident, and more combine.
    // What touches no array has nothing to be wide for.
    int width = touches_arrays(sweep) ? std::max(16 / widest_element(plan, sweep), 4) : 4;
    // Every element a thread has in a slab is a lane with its own states, unless their order does not matter. No thread has more
    // than 255 registers.
    while (width > 4 && state_words(sweep, width) > 128) width /= 2;
    // What folds nothing is done soonest in many small blocks; its slabs are no part of any order.
    if (sweep.folds.empty()) return {256, width, 1};
    const int threads = int(slab_elements) / width;

    // What a block must have in flight: 32 KiB, where two blocks or more share a multiprocessor. Wide states leave room for one
    // block: then as much as its 128 registers a thread hold beside states, 64 to 192 bytes a thread.
    const int words = state_words(sweep, width);
    const bool wide = state_words(sweep, 1) > 8;
    const int wanted = wide ? std::clamp(4 * (112 - words), 64, 192) : 32768 / threads;
    // What loads nothing waits for nothing: slabs in flight would only be more code.
    const int bytes = loaded_bytes(plan, sweep) * width;
    if (bytes == 0) return {threads, width, 1};
    const unsigned in_flight = unsigned(std::clamp(wanted / bytes, 1, 16));
    return {threads, width, int(wide ? in_flight : std::bit_floor(in_flight))}; // what is left is taken by halves
}

} // namespace gf::cuda
