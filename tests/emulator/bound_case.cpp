// See bound_case.hpp.
#include "bound_case.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "cuda/launch.hpp"
#include "layout.hpp"

namespace gf::emulator {

namespace {

std::int64_t extent_of(const oracle::Case& test, const PlanDim& dim) {
    const auto dims = test.graph.dims();
    const auto named = std::ranges::find(dims, dim.name, &Graph::DimInfo::name);
    return named != dims.end() ? test.extents[static_cast<std::size_t>(named - dims.begin())] : dim.extent.value();
}

} // namespace

Snug draw_snug(oracle::Random& random) {
    return random.pick(std::array{Snug::at_end, Snug::at_end, Snug::exactly_at_end, Snug::at_begin});
}

BoundCase::BoundCase(const Plan& plan, const oracle::Case& test, const oracle::Inputs& inputs) : plan_(plan) {
    oracle::Random random(test.seed), of_layouts = oracle::random_of_layouts(test);
    for (const PlanDim& dim : plan.dims) bound_.extents.push_back(extent_of(test, dim));
    for (const Array& array : plan.arrays) {
        const std::size_t size = size_of(array.type);
        const auto bytes = static_cast<std::size_t>(cuda::elements_of(array.dims, bound_.extents)) * size;
        // In many cases all arrays are aligned: kernels use wide loads only then.
        const Snug snug = draw_snug(random);
        const std::size_t before = snug == Snug::at_begin ? random.below(4) * size : 0;
        if (array.role == ArrayRole::temporary) {
            arrays_.emplace_back();
            bound_.arrays.push_back({nullptr, Memory::host});
            continue;
        }
        if (array.strided) {
            std::vector<std::int64_t> own;
            for (const DimId dim : array.dims) own.push_back(bound_.extents[dim.index()]);
            const Extents extents{std::span(std::as_const(own))};
            const oracle::Layout layout = oracle::draw_layout(extents, of_layouts);
            arrays_.emplace_back(before + layout.count * size, snug);
            std::byte* const memory = arrays_.back().data() + before;
            oracle::scatter(array.type, inputs.at(array.name), extents, layout, memory);
            // Said to be in device memory, where kernels read it by its strides.
            bound_.arrays.push_back({memory + static_cast<std::size_t>(layout.first) * size, Memory::device});
            bound_.strides.resize(plan.arrays.size());
            bound_.strides[bound_.arrays.size() - 1] = layout.strides;
            continue;
        }
        arrays_.emplace_back(before + bytes, snug);
        std::byte* const address = arrays_.back().data() + before;
        if (array.role == ArrayRole::input)
            std::memcpy(address, oracle::HostArray(array.type, inputs.at(array.name), 0).address(), bytes);
        bound_.arrays.push_back({address, Memory::host});
    }
    for (const Parameter& parameter : plan.parameters)
        bound_.parameters.push_back(!parameter.dim.valid()
                                        ? inputs.at(parameter.name).at(0)
                                        : static_cast<std::uint64_t>(bound_.extents[parameter.dim.index()]));
}

std::vector<oracle::Result> BoundCase::results(std::span<const ScalarResult> scalars) const {
    for (const GuardedMemory& array : arrays_)
        if (!array.is_intact()) throw std::runtime_error("a kernel wrote beside an array");
    std::vector<oracle::Result> results;
    for (const Output& output : plan_.outputs) {
        if (output.array.valid()) {
            const auto view = [&](ArrayId id) {
                std::vector<std::int64_t> extents;
                for (const DimId dim : plan_.arrays[id].dims) extents.push_back(bound_.extents[dim.index()]);
                return View(bound_.arrays[id.index()].address, plan_.arrays[id].type, Extents(extents), Memory::host,
                            false);
            };
            const View values = view(output.array);
            results.push_back(
                {output.name, values.type, true, false, oracle::elements_of(values),
                 output.validity.valid() ? oracle::bools_of(view(output.validity)) : std::vector<bool>{}});
        } else {
            const ScalarResult& scalar = scalars[output.scalar.index()];
            const DType type = plan_.scalars[output.scalar].type;
            results.push_back({output.name, type, false, scalar.empty && !is_floating(type), {scalar.bits}});
        }
    }
    return results;
}

} // namespace gf::emulator
