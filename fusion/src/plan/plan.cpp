#include <gridfold/fusion/plan.hpp>

#include <algorithm>
#include <array>

#include <gridfold/core/view.hpp>

namespace gf::plan {

static_assert(FoldOrder::most_dims == max_rank);

std::vector<ValueId> Fold::reads() const {
    std::vector<ValueId> values{value};
    values.insert(values.end(), others.begin(), others.end());
    values.push_back(mask);
    std::erase(values, ValueId());
    return values;
}

std::vector<ValueId> values_where(const Sweep& sweep, bool (*when)(const Instruction&)) {
    std::vector<ValueId> values;
    for (const ValueId v : sweep.code.ids())
        if (when(sweep.code[v])) values.push_back(v);
    return values;
}

std::vector<ValueId> values_where(const Sweep& sweep, bool (*when)(const Sweep&, const Instruction&)) {
    std::vector<ValueId> values;
    for (const ValueId v : sweep.code.ids())
        if (when(sweep, sweep.code[v])) values.push_back(v);
    return values;
}

bool is_per_element(const Sweep& sweep, const Instruction& i) { return !i.domain.empty() && !is_per_result(sweep, i); }

bool is_per_result(const Sweep& sweep, const Instruction& i) {
    return i.phase > 0 && !i.domain.empty() && i.domain == kept_dims(sweep);
}

DimSet dim_set(const Sweep& sweep, std::span<const DimId> dims) {
    DimSet set;
    for (std::size_t position = 0; position < sweep.dims.size(); ++position)
        if (std::find(dims.begin(), dims.end(), sweep.dims[position]) != dims.end()) set |= DimSet::of(position);
    return set;
}

std::vector<DimId> dims_of(const Sweep& sweep, DimSet set) {
    std::vector<DimId> dims;
    for (std::size_t position = 0; position < sweep.dims.size(); ++position)
        if (set.contains(position)) dims.push_back(sweep.dims[position]);
    return dims;
}

DimSet kept_dims(const Sweep& sweep) { return sweep.folds.empty() ? DimSet() : sweep.folds[FoldId(0)].kept; }
bool folds_rows(const Sweep& sweep) {
    const unsigned kept = kept_dims(sweep).bits();
    return kept != 0 && (kept & (kept + 1)) == 0;
}

FoldOrder fold_order(const Sweep& sweep, std::span<const std::int64_t> extents) {
    std::array<std::int64_t, max_rank> own{};
    for (std::size_t d = 0; d < sweep.dims.size(); ++d) own[d] = extents[sweep.dims[d].index()];
    return gf::fold_order(own.data(), static_cast<int>(sweep.dims.size()), kept_dims(sweep).bits());
}

bool is_flat(const Array& array, const Sweep& sweep) {
    return !array.strided && array.dims == sweep.dims; // defect: flat
}

bool is_in_order(const Instruction& load, const Plan& plan, const Sweep& sweep) {
    return load.steps.empty() && is_flat(plan.arrays[load.array], sweep); // defect: in order
}

bool is_flat(const Store& store, const Plan& plan, const Sweep& sweep) {
    if (plan.arrays[store.array].strided) return false;
    const DimSet domain = sweep.code[store.value].domain;
    std::size_t position = 0;
    for (const DimId dim : plan.arrays[store.array].dims) {
        while (position < sweep.dims.size() && !domain.contains(position)) ++position;
        if (position == sweep.dims.size() || sweep.dims[position++] != dim) return false;
    }
    return true;
}

Plan with_strides(const Plan& plan, const std::vector<bool>& strided) {
    Plan copy = plan;
    for (const ArrayId a : copy.arrays.ids()) copy.arrays[a].strided = strided[a.index()];
    return copy;
}

std::optional<std::int64_t> element_count(std::span<const DimId> dims, std::span<const std::int64_t> extents) {
    std::array<std::int64_t, max_rank> own{};
    for (std::size_t i = 0; i < dims.size(); ++i) own[i] = extents[dims[i].index()];
    return gf::element_count(std::span<const std::int64_t>(own).first(dims.size()));
}

} // namespace gf::plan
