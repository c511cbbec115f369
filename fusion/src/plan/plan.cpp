#include <gridfold/fusion/plan.hpp>

#include <array>

#include <gridfold/core/view.hpp>

namespace gf::plan {

bool is_flat(const Array& array, const Sweep& sweep) { return array.dims == sweep.dims; }

std::optional<std::int64_t> element_count(std::span<const int> dims, std::span<const std::int64_t> extents) {
    std::array<std::int64_t, max_rank> own{};
    for (std::size_t i = 0; i < dims.size(); ++i) own[i] = extents[static_cast<std::size_t>(dims[i])];
    return gf::element_count(std::span<const std::int64_t>(own).first(dims.size()));
}

} // namespace gf::plan
