#include "plan/order_code.hpp"

#include <algorithm>
#include <utility>

namespace gf::plan {

std::vector<ValueId> used_values(const Sweep& sweep) {
    Table<ValueId, bool> used(sweep.code.size());
    const auto use = [&](ValueId value) {
        if (value.valid()) used[value] = true;
    };
    for (const Fold& fold : sweep.folds) std::ranges::for_each(fold.reads(), use);
    for (const Store& store : sweep.stores) use(store.value);
    for (const Yield& yield : sweep.yields) use(yield.value), use(yield.empty);
    std::vector<ValueId> values;
    for (std::size_t n = sweep.code.size(); n-- > 0;) {
        const ValueId value(n);
        if (!used[value]) continue;
        values.push_back(value);
        std::ranges::for_each(sweep.code[value].operands, use);
    }
    std::ranges::reverse(values);
    return values;
}

void keep_values(Sweep& sweep, std::vector<ValueId> values) {
    const auto key = [&](ValueId value) {
        const Instruction& instruction = sweep.code[value];
        return std::pair(instruction.phase, !instruction.domain.empty());
    };
    std::ranges::stable_sort(values, {}, key);
    Table<ValueId, Instruction> code;
    Table<ValueId, ValueId> place(sweep.code.size());
    for (const ValueId value : values) place[value] = code.add(std::move(sweep.code[value]));
    const auto rename = [&](ValueId& value) {
        if (value.valid()) value = place[value];
    };
    for (Instruction& instruction : code) std::ranges::for_each(instruction.operands, rename);
    for (Fold& fold : sweep.folds) {
        rename(fold.value), rename(fold.mask);
        std::ranges::for_each(fold.others, rename);
    }
    for (Store& store : sweep.stores) rename(store.value);
    for (Yield& yield : sweep.yields) rename(yield.value), rename(yield.empty);
    sweep.code = std::move(code);
}

} // namespace gf::plan
