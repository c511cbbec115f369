#include "cuda/parameters.hpp"

#include <algorithm>

namespace gf::cuda {

bool reads_scalar(const Instruction& i) { return i.opcode == Opcode::read || i.opcode == Opcode::is_empty; }

bool finishes(const Sweep& sweep) { return !sweep.folds.empty() || !sweep.yields.empty(); }

std::vector<Store> element_stores(const Sweep& sweep) {
    std::vector<Store> stores;
    for (const Store& s : sweep.stores)
        if (is_per_element(sweep, sweep.code[s.value])) stores.push_back(s);
    return stores;
}

std::vector<Store> result_stores(const Sweep& sweep) {
    std::vector<Store> stores;
    for (const Store& s : sweep.stores)
        if (is_per_result(sweep, sweep.code[s.value])) stores.push_back(s);
    return stores;
}

std::size_t leading_kept_dims(const Sweep& sweep) {
    const DimSet kept = kept_dims(sweep);
    std::size_t count = 0;
    while (count < sweep.dims.size() && kept.contains(count)) ++count;
    return count;
}

int merged_dims(const Sweep& sweep) {
    const DimSet kept = kept_dims(sweep);
    int merged = 1;
    for (std::size_t d = leading_kept_dims(sweep) + 1; d < sweep.dims.size(); ++d)
        merged += kept.contains(d) != kept.contains(d - 1) ? 1 : 0; // defect: merged
    return merged;
}

std::vector<ArrayId> loaded_arrays(const Sweep& sweep) {
    std::vector<ArrayId> arrays;
    for (const Instruction& i : sweep.code)
        if (i.opcode == Opcode::load && std::ranges::find(arrays, i.array) == arrays.end()) // defect: loaded once
            arrays.push_back(i.array);
    return arrays;
}

std::uint64_t strided_arrays(const Plan& plan, const Sweep& sweep) {
    std::uint64_t strided = 0;
    std::uint64_t bit = 1; // a sweep loads at most 64 arrays
    for (const ArrayId a : loaded_arrays(sweep)) {
        if (plan.arrays[a].strided && plan.arrays[a].dims == sweep.dims) strided |= bit;
        bit <<= 1;
    }
    return strided;
}

bool scatters(const Plan& plan, const Sweep& sweep) {
    return std::ranges::any_of(element_stores(sweep), [&](const Store& s) { return !is_flat(s, plan, sweep); });
}

bool scatters_results(const Plan& plan, const Sweep& sweep) {
    return std::ranges::any_of(result_stores(sweep), [&](const Store& s) { return !is_flat(s, plan, sweep); });
}

bool runs_across(const Array& array, DimId across, DimId along) {
    return array.dims.back() == across && std::ranges::find(array.dims, along) != array.dims.end() && across != along;
}

bool by_coordinates(const Plan& plan, const Sweep& sweep) {
    if (scatters(plan, sweep)) return true;
    return std::ranges::any_of(sweep.code, [&](const Instruction& i) {
        return (i.opcode == Opcode::index && sweep.dims.size() > 1) ||
               (i.opcode == Opcode::load && !is_in_order(i, plan, sweep));
    });
}

bool reads_in_order(const Plan& plan, const Sweep& sweep) {
    return std::ranges::any_of(
        sweep.code, [&](const Instruction& i) { return i.opcode == Opcode::load && is_in_order(i, plan, sweep); });
}

bool reads_in_order(const Plan& plan, const Sweep& sweep, ArrayId array) {
    return std::ranges::any_of(sweep.code, [&](const Instruction& i) {
        return i.opcode == Opcode::load && i.array == array && is_in_order(i, plan, sweep);
    });
}

bool shares_origin(const Fold& fold) {
    return fold.monoid->traits(fold.element, fold.accumulator, fold.mask.valid()).of_block;
}

std::vector<ArrayId> arrays_in_order(const Plan& plan, const Sweep& sweep) {
    std::vector<ArrayId> arrays = loaded_arrays(sweep);
    std::erase_if(arrays, [&](ArrayId a) { return !reads_in_order(plan, sweep, a); });
    return arrays;
}

bool gathers(const Plan& plan, const Sweep& sweep, ArrayId array) {
    return std::ranges::any_of(sweep.code, [&](const Instruction& i) {
        return i.opcode == Opcode::load && i.array == array && !is_in_order(i, plan, sweep);
    });
}

bool has_packs(const Instruction& load, const Plan& plan, const Sweep& sweep) {
    const Array& array = plan.arrays[load.array];
    return !is_in_order(load, plan, sweep) && load.steps.empty() && !array.dims.empty() && // defect: has packs
           array.dims.back() == sweep.dims.back();                                         // defect: has packs
}

bool shifts(const Plan& plan, const Sweep& sweep) {
    const bool any_way = std::ranges::all_of(sweep.folds, [](const Fold& fold) {
        return fold.monoid->traits(fold.element, fold.accumulator, fold.mask.valid()).shifts;
    });
    const bool numbered =
        std::ranges::any_of(sweep.code, [](const Instruction& i) { return i.opcode == Opcode::index; });
    return any_way && !numbered && element_stores(sweep).empty() && loaded_arrays(sweep).size() == 1 &&
           reads_in_order(plan, sweep) && !by_coordinates(plan, sweep);
}

std::vector<KernelParameter> kernel_parameters(const Plan& plan, const Sweep& sweep, Course course, bool cooperates) {
    using enum ParameterKind;
    const std::vector<ArrayId> arrays = loaded_arrays(sweep);
    std::vector<KernelParameter> all;
    all.reserve(arrays.size() + sweep.stores.size());
    for (const ArrayId a : arrays) all.push_back({.kind = loaded, .array = a});
    for (const Store& s : sweep.stores) all.push_back({.kind = stored, .array = s.array});
    for (const ValueId v : sweep.code.ids())
        if (sweep.code[v].opcode == Opcode::parameter) all.push_back({.kind = parameter, .value = v});
    if (!packs_results(course)) all.push_back({.kind = elements});
    if (course == Course::boxes) {
        for (const ParameterKind kind : {parts, slabs, sharing}) all.push_back({.kind = kind});
        for (const ParameterKind kind : {box_extent, box_size, box_chunks})
            for (int d = 0; d < merged_dims(sweep); ++d) all.push_back({.kind = kind, .merged = d});
    }
    if (course == Course::columns)
        for (const ParameterKind kind :
             {rows, columns, slab_rows, strip_packs, strips, together, strip_blocks, sharing})
            all.push_back({.kind = kind});
    if (course == Course::thread_rows || course == Course::held_thread_rows) all.push_back({.kind = sharing});
    if (folds_parts(course))
        for (const ParameterKind kind : {results, part_blocks}) all.push_back({.kind = kind});
    if (by_coordinates(plan, sweep)) {
        const std::size_t of_row = course == Course::rows ? leading_kept_dims(sweep) : 0;
        for (std::size_t d = 0; d < sweep.dims.size(); ++d)
            all.push_back({.kind = d < of_row ? row_extent : extent, .dim = sweep.dims[d]});
        for (const ArrayId a : arrays)
            if (gathers(plan, sweep, a))
                for (const DimId d : plan.arrays[a].dims) all.push_back({.kind = stride, .array = a, .dim = d});
    }
    if (scatters_results(plan, sweep))
        for (const DimId d : dims_of(sweep, kept_dims(sweep))) all.push_back({.kind = result_extent, .dim = d});
    for (const Store& s : sweep.stores)
        if (!is_flat(s, plan, sweep))
            for (const DimId d : plan.arrays[s.array].dims) all.push_back({.kind = stride, .array = s.array, .dim = d});
    const bool yields = !sweep.yields.empty() || (course == Course::flat && finishes(sweep));
    if (yields || std::ranges::any_of(sweep.code, reads_scalar)) all.push_back({.kind = scalars});
    if (yields || cooperates || (finishes(sweep) && !has_whole_rows(course))) all.push_back({.kind = workspace});
    if (yields) all.push_back({.kind = host});
    return all;
}

} // namespace gf::cuda
