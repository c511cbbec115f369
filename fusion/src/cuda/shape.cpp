// How a sweep's slabs are shared out among threads. Figures: bench/NOTES.md.
#include <algorithm>

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

int loaded_bytes(const Plan& plan, const Sweep& sweep) {
    std::size_t bytes = 0;
    for (const Instruction& i : sweep.code)
        if (i.opcode == Opcode::load) bytes += size_of(plan.arrays[std::size_t(i.slot)].type);
    return int(bytes);
}

int state_words(const Sweep& sweep) {
    int words = 0;
    for (const Fold& f : sweep.folds) words += f.monoid->state_words(f.element, f.accumulator);
    return words;
}

} // namespace

Shape choose_shape(const Plan& plan, const Sweep& sweep) {
    const int words = state_words(sweep);
    // 16-byte loads of the widest element; at least two elements, so that no block has more than 1,024 threads.
    int width = std::max(16 / widest_element(plan, sweep), 2);
    // Every element a thread has in a slab is a lane with its own states. Many states want many registers a thread (few
    // threads), but no thread has more than 255.
    if (words > 6) width = std::max(width, 4);
    while (width > 4 && width * words > 128) width /= 2;

    // What a multiprocessor must have in flight: 64 bytes a thread where two blocks or more share it, twice that where wide
    // states leave room for one.
    const int bytes = std::max(loaded_bytes(plan, sweep) * width, 1);
    const int in_flight = sweep.folds.empty() ? 1 : std::clamp((words > 8 ? 128 : 64) / bytes, 1, 8);
    return {int(slab_elements) / width, width, in_flight};
}

} // namespace gf::cuda
