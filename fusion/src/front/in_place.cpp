#include "front/in_place.hpp"

#include <algorithm>

namespace gf::detail {
namespace {

using namespace plan;

bool loads(const Instruction& instruction, ArrayId array) {
    return instruction.opcode == Opcode::load && instruction.array == array;
}

bool loads(const Sweep& sweep, ArrayId array) {
    return std::ranges::any_of(sweep.code, [&](const Instruction& i) { return loads(i, array); });
}

/// True if the sweep does not read `input` after computing the value of `store`. The CPU reads arrays in place and
/// computes a stored value in its array.
bool is_read_before(const Sweep& sweep, ArrayId input, const Store& store) {
    const auto is_load = [&](ValueId value) { return value.valid() && loads(sweep.code[value], input); };
    for (ValueId v = store.value.next(); v < sweep.code.next(); v = v.next())
        if (is_load(v) || std::ranges::any_of(sweep.code[v].operands, is_load)) return false;
    return std::ranges::none_of(sweep.stores,
                                [&](const Store& other) { return other.array != store.array && is_load(other.value); });
}

bool can_be_in_place(const Plan& plan, SweepId id, ArrayId input, const Store& store) {
    const Sweep& sweep = plan.sweeps[id];
    const Array& from = plan.arrays[input];
    const Array& to = plan.arrays[store.array];
    if (size_of(from.type) != size_of(to.type) || !is_flat(from, sweep) || !is_flat(to, sweep)) return false;
    const auto reads_shifted = [&](const Instruction& i) { return loads(i, input) && !i.steps.empty(); };
    if (std::ranges::any_of(sweep.code, reads_shifted)) return false; // an element is read after its own is written
    if (!sweep.folds.empty() || !is_read_before(sweep, input, store)) return false; // defect: still read
    for (const SweepId other : plan.sweeps.ids())
        if (other != id && loads(plan.sweeps[other], input) &&
            std::ranges::find(sweep.after, other) == sweep.after.end())
            return false;
    return true;
}

} // namespace

std::vector<std::pair<ArrayId, ArrayId>> in_place_pairs(const Plan& plan) {
    std::vector<std::pair<ArrayId, ArrayId>> pairs;
    for (const SweepId s : plan.sweeps.ids())
        for (const Store& store : plan.sweeps[s].stores) {
            if (plan.arrays[store.array].role != ArrayRole::output) continue;
            for (const ArrayId input : plan.arrays.ids())
                if (plan.arrays[input].role == ArrayRole::input && can_be_in_place(plan, s, input, store))
                    pairs.emplace_back(input, store.array);
        }
    return pairs;
}

} // namespace gf::detail
