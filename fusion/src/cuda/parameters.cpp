#include "cuda/parameters.hpp"

#include <algorithm>

namespace gf::cuda {

bool reads_scalar(const Instruction& i) { return i.opcode == Opcode::read || i.opcode == Opcode::is_empty; }

bool finishes(const Sweep& sweep) { return !sweep.folds.empty() || !sweep.yields.empty(); }

std::vector<ArrayId> loaded_arrays(const Sweep& sweep) {
    std::vector<ArrayId> arrays;
    for (const Instruction& i : sweep.code)
        if (i.opcode == Opcode::load && std::ranges::find(arrays, i.array) == arrays.end()) // defect: loaded once
            arrays.push_back(i.array);
    return arrays;
}

bool by_coordinates(const Plan& plan, const Sweep& sweep) {
    return std::ranges::any_of(sweep.code, [&](const Instruction& i) {
        return (i.opcode == Opcode::index && sweep.dims.size() > 1) ||
               (i.opcode == Opcode::load && !is_flat(plan.arrays[i.array], sweep));
    });
}

bool reads_in_order(const Plan& plan, const Sweep& sweep) {
    return std::ranges::any_of(sweep.code, [&](const Instruction& i) {
        return i.opcode == Opcode::load && is_flat(plan.arrays[i.array], sweep);
    });
}

bool shifts(const Plan& plan, const Sweep& sweep) {
    const bool any_way = std::ranges::all_of(sweep.folds, [](const Fold& fold) {
        return fold.monoid->traits(fold.element, fold.accumulator, fold.mask.valid()).shifts;
    });
    const bool numbered =
        std::ranges::any_of(sweep.code, [](const Instruction& i) { return i.opcode == Opcode::index; });
    return any_way && !numbered && sweep.stores.empty() && loaded_arrays(sweep).size() == 1 &&
           reads_in_order(plan, sweep);
}

std::vector<KernelParameter> kernel_parameters(const Plan& plan, const Sweep& sweep) {
    using enum ParameterKind;
    const std::vector<ArrayId> arrays = loaded_arrays(sweep);
    std::vector<KernelParameter> all;
    all.reserve(arrays.size() + sweep.stores.size());
    for (const ArrayId a : arrays) all.push_back({.kind = loaded, .array = a});
    for (const Store& s : sweep.stores) all.push_back({.kind = stored, .array = s.array});
    for (const ValueId v : sweep.code.ids())
        if (sweep.code[v].opcode == Opcode::parameter) all.push_back({.kind = parameter, .value = v});
    all.push_back({.kind = elements});
    if (by_coordinates(plan, sweep)) {
        for (const DimId d : sweep.dims) all.push_back({.kind = extent, .dim = d});
        for (const ArrayId a : arrays)
            if (!is_flat(plan.arrays[a], sweep))
                for (const DimId d : plan.arrays[a].dims) all.push_back({.kind = stride, .array = a, .dim = d});
    }
    if (finishes(sweep) || std::ranges::any_of(sweep.code, reads_scalar)) all.push_back({.kind = scalars});
    if (finishes(sweep)) {
        all.push_back({.kind = workspace});
        all.push_back({.kind = host});
    }
    return all;
}

} // namespace gf::cuda
