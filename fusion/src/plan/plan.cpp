#include <gridfold/fusion/plan.hpp>

#include <algorithm>
#include <array>

#include <gridfold/core/view.hpp>

namespace gf::plan {

std::vector<int> values_where(const Sweep& sweep, bool (*when)(const Instruction&)) {
    std::vector<int> values;
    for (std::size_t v = 0; v < sweep.code.size(); ++v)
        if (when(sweep.code[v])) values.push_back(static_cast<int>(v));
    return values;
}

DimSet dim_set(const Sweep& sweep, std::span<const int> dims) {
    DimSet set;
    for (std::size_t position = 0; position < sweep.dims.size(); ++position)
        if (std::find(dims.begin(), dims.end(), sweep.dims[position]) != dims.end()) set |= DimSet::of(position);
    return set;
}

bool is_flat(const Array& array, const Sweep& sweep) { return array.dims == sweep.dims; }

std::optional<std::int64_t> element_count(std::span<const int> dims, std::span<const std::int64_t> extents) {
    std::array<std::int64_t, max_rank> own{};
    for (std::size_t i = 0; i < dims.size(); ++i) own[i] = extents[static_cast<std::size_t>(dims[i])];
    return gf::element_count(std::span<const std::int64_t>(own).first(dims.size()));
}

} // namespace gf::plan
