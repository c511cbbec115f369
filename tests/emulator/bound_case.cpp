// See bound_case.hpp.
#include "bound_case.hpp"

#include <algorithm>

namespace gf::emulator {

namespace {

std::int64_t extent_of(const oracle::Case& test, const PlanDim& dim) {
    const auto dims = test.graph.dims();
    const auto named = std::ranges::find(dims, dim.name, &Graph::DimInfo::name);
    return named != dims.end() ? test.extents[static_cast<std::size_t>(named - dims.begin())] : dim.extent.value();
}

} // namespace

BoundCase::BoundCase(const Plan& plan, const oracle::Case& test, const oracle::Inputs& inputs) : plan_(plan) {
    oracle::Random random(test.seed);
    for (const PlanDim& dim : plan.dims) bound_.extents.push_back(extent_of(test, dim));
    for (const Array& array : plan.arrays) {
        std::size_t count = 1;
        for (int dim : array.dims) count *= static_cast<std::size_t>(bound_.extents[static_cast<std::size_t>(dim)]);
        if (array.role == ArrayRole::input)
            arrays_.emplace_back(array.type, inputs.at(array.name), random.below(4));
        else
            arrays_.emplace_back(array.type, array.role == ArrayRole::output ? count : 0, random.below(4));
        bound_.arrays.push_back(
            {array.role == ArrayRole::temporary ? nullptr : arrays_.back().address(), Memory::host});
    }
    for (const Parameter& parameter : plan.parameters) bound_.parameters.push_back(inputs.at(parameter.name).at(0));
}

std::vector<oracle::Result> BoundCase::results(std::span<const ScalarResult> scalars) const {
    std::vector<oracle::Result> results;
    for (const Output& output : plan_.outputs) {
        if (output.array >= 0) {
            const auto n = static_cast<std::size_t>(output.array);
            results.push_back({output.name, plan_.arrays[n].type, true, false, arrays_[n].elements()});
        } else {
            const auto n = static_cast<std::size_t>(output.scalar);
            const DType type = plan_.scalars[n].type;
            results.push_back({output.name, type, false, scalars[n].empty && !is_floating(type), {scalars[n].bits}});
        }
    }
    return results;
}

} // namespace gf::emulator
