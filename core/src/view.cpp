// Extents and strides: bounded lists of numbers, and the memory that they cover.
#include <gridfold/core/view.hpp>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <gridfold/core/error.hpp>

namespace gf {
namespace detail {

NumberOfDims::NumberOfDims(std::span<const std::int64_t> numbers, const char* what) {
    if (numbers.size() > static_cast<std::size_t>(max_rank))
        throw InvalidBinding(fmt::format("an array with {} {}", numbers.size(), what),
                             fmt::format("an array has at most {} dims", max_rank),
                             "merge dims that are adjacent in memory");
    std::copy(numbers.begin(), numbers.end(), numbers_.begin());
    rank_ = static_cast<int>(numbers.size());
}

} // namespace detail

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

std::string to_text(const Strides& strides) {
    return fmt::format("[{}]", fmt::join(strides.begin(), strides.end(), ", "));
}

bool View::is_contiguous() const noexcept {
    if (strides.rank() == 0) return true;
    const auto count = gf::element_count(std::span(extents.begin(), extents.end()));
    if (count == 0) return true;
    std::int64_t inner = 1; // the elements of the inner dims
    for (int d = extents.rank() - 1; d >= 0; --d) {
        if (extents[d] != 1 && strides[d] != inner) return false; // defect: contiguous
        if (__builtin_mul_overflow(inner, extents[d], &inner)) return false;
    }
    return true;
}

std::optional<ByteRange> byte_range(const Extents& extents, const Strides& strides, DType type) noexcept {
    // Twice this fits 63 bits, so that no sum of coordinates times strides overflows on its way (gather.hpp).
    constexpr std::int64_t most = (std::int64_t{1} << 62) - 1;
    const auto size = static_cast<std::int64_t>(size_of(type));
    const auto count = element_count(std::span(extents.begin(), extents.end()));
    if (count == 0) return ByteRange{};
    if (strides.rank() == 0) {
        ByteRange range;
        if (!count || __builtin_mul_overflow(*count, size, &range.end)) return {};
        return range;
    }
    ByteRange range{0, size};
    for (int d = 0; d < extents.rank(); ++d) {
        std::int64_t bytes = 0; // from the first to the last element along the dim
        if (extents[d] == 1) continue;
        if (__builtin_mul_overflow(strides[d], size, &bytes) || __builtin_mul_overflow(bytes, extents[d] - 1, &bytes))
            return {};
        if (bytes < -most || bytes > most) return {};
        (bytes < 0 ? range.begin : range.end) += bytes; // defect: range
        if (range.end > most || range.begin < range.end - most) return {};
    }
    return range;
}

} // namespace gf
