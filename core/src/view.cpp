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
        throw InvalidBinding(fmt::format("an array with {} extents", extents.size()),
                             fmt::format("an array has at most {} dims", max_rank),
                             "merge dims that are adjacent in memory");
    std::copy(extents.begin(), extents.end(), extents_.begin());
    rank_ = static_cast<int>(extents.size());
}

std::optional<std::int64_t> element_count(std::span<const std::int64_t> extents) noexcept {
    std::int64_t count = 1;
    bool fits = true;
    for (const std::int64_t extent : extents) {
        if (extent == 0) return 0;
        if (__builtin_mul_overflow(count, extent, &count)) fits = false;
    }
    if (!fits) return {};
    return count;
}

std::string to_text(const Extents& extents) {
    return fmt::format("[{}]", fmt::join(extents.begin(), extents.end(), ", "));
}

} // namespace gf
