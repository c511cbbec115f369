// Extents: a bounded list of numbers.
#include <gridfold/core/view.hpp>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <gridfold/core/error.hpp>

namespace gf {

Extents::Extents(std::initializer_list<std::int64_t> extents) : Extents(std::span(extents.begin(), extents.size())) {}

Extents::Extents(std::span<const std::int64_t> extents) {
    if (extents.size() > static_cast<std::size_t>(max_rank))
        throw InvalidGraph(fmt::format("an array with {} extents: an array has at most {} dims; merge dims that are "
                                       "adjacent in memory",
                                       extents.size(), max_rank));
    std::copy(extents.begin(), extents.end(), extents_.begin());
    rank_ = static_cast<int>(extents.size());
}

std::string to_text(const Extents& extents) {
    return fmt::format("[{}]", fmt::join(extents.begin(), extents.end(), ", "));
}

} // namespace gf
