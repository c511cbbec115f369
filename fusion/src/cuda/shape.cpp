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

    // What a multiprocessor must have in flight: 64 bytes a thread where two blocks or more share it. Wide states leave room
    // for one block: then as much as its 128 registers a thread hold beside states and addresses, up to three times that.
    const int spare_bytes = 4 * (128 - width * words);
    const int wanted = words > 8 ? std::clamp(spare_bytes, 128, 192) : 64;
    // What loads nothing waits for nothing: slabs in flight would only be more code.
    const int bytes = loaded_bytes(plan, sweep) * width;
    const int in_flight = sweep.folds.empty() || bytes == 0 ? 1 : std::clamp(wanted / bytes, 1, 12);
    return {int(slab_elements) / width, width, in_flight};
}

} // namespace gf::cuda
