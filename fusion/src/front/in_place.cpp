#include "front/in_place.hpp"

#include <algorithm>

namespace gf::detail {
namespace {

using namespace plan;

bool loads(const Instruction& instruction, int array) {
    return instruction.opcode == Opcode::load && instruction.slot == array;
}

bool loads(const Sweep& sweep, int array) {
    return std::ranges::any_of(sweep.code, [&](const Instruction& i) { return loads(i, array); });
}

/// True if the sweep does not read `input` after computing the value of `store`. The CPU reads arrays in place and
/// computes a stored value in its array.
bool is_read_before(const Sweep& sweep, int input, const Store& store) {
    const auto is_load = [&](int value) {
        return value >= 0 && loads(sweep.code[static_cast<std::size_t>(value)], input);
    };
    for (int v = store.value + 1; v < static_cast<int>(sweep.code.size()); ++v)
        if (is_load(v) || std::ranges::any_of(sweep.code[static_cast<std::size_t>(v)].operands, is_load)) return false;
    return std::ranges::none_of(sweep.stores,
                                [&](const Store& other) { return other.array != store.array && is_load(other.value); });
}

bool can_be_in_place(const Plan& plan, std::size_t number, int input, const Store& store) {
    const Sweep& sweep = plan.sweeps[number];
    const Array& from = plan.arrays[static_cast<std::size_t>(input)];
    const Array& to = plan.arrays[static_cast<std::size_t>(store.array)];
    if (size_of(from.type) != size_of(to.type) || !is_flat(from, sweep) || !is_flat(to, sweep)) return false;
    if (!sweep.folds.empty() || !is_read_before(sweep, input, store)) return false;
    for (std::size_t other = 0; other < plan.sweeps.size(); ++other)
        if (other != number && loads(plan.sweeps[other], input) &&
            std::ranges::find(sweep.after, static_cast<int>(other)) == sweep.after.end())
            return false;
    return true;
}

} // namespace

std::vector<std::pair<int, int>> in_place_pairs(const Plan& plan) {
    std::vector<std::pair<int, int>> pairs;
    for (std::size_t s = 0; s < plan.sweeps.size(); ++s)
        for (const Store& store : plan.sweeps[s].stores) {
            if (plan.arrays[static_cast<std::size_t>(store.array)].role != ArrayRole::output) continue;
            for (int input = 0; input < static_cast<int>(plan.arrays.size()); ++input)
                if (plan.arrays[static_cast<std::size_t>(input)].role == ArrayRole::input &&
                    can_be_in_place(plan, s, input, store))
                    pairs.emplace_back(input, store.array);
        }
    return pairs;
}

} // namespace gf::detail
