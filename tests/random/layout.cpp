// See layout.hpp.
#include "layout.hpp"

#include <array>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

namespace gf::oracle {

Layout draw_layout(const Extents& extents, Random& random) {
    const auto rank = static_cast<std::size_t>(extents.rank());
    std::vector<std::size_t> inner_first(rank);
    std::iota(inner_first.rbegin(), inner_first.rend(), std::size_t{0});
    if (random.chance(0.7)) // else slices, backwards or not
        for (std::size_t d = rank; d > 1; --d) std::swap(inner_first[d - 1], inner_first[random.below(d)]);
    const std::size_t with_gap = rank == 0 ? 0 : random.below(rank);
    Layout layout;
    layout.count = element_count(extents) == 0 ? 0 : 1;
    std::vector<std::int64_t> strides(rank);
    std::int64_t next = 1; // the least stride that no element inside reaches
    for (const std::size_t d : inner_first) {
        const std::int64_t extent = extents[static_cast<int>(d)];
        const std::int64_t stride = next * (d == with_gap ? random.between(1, 3) : 1);
        const bool backwards = random.chance(0.3);
        strides[d] = backwards ? -stride : stride;
        if (layout.count == 0 || extent == 1) continue; // the stride has no meaning
        const std::int64_t along = stride * (extent - 1);
        layout.count += static_cast<std::size_t>(along);
        if (backwards) layout.first += along;
        next = stride * extent;
    }
    layout.strides = Strides(strides);
    return layout;
}

void scatter(DType type, std::span<const Bits> elements, const Extents& extents, const Layout& layout,
             std::byte* memory) {
    const auto bytes = static_cast<std::int64_t>(size_of(type));
    std::array<std::int64_t, max_rank> at{};
    for (const Bits bits : elements) {
        std::int64_t offset = layout.first;
        for (int d = 0; d < extents.rank(); ++d) offset += at[static_cast<std::size_t>(d)] * layout.strides[d];
        std::memcpy(memory + offset * bytes, &bits, size_of(type)); // little-endian
        for (int d = extents.rank() - 1; d >= 0; --d) {
            std::int64_t& coordinate = at[static_cast<std::size_t>(d)];
            if (++coordinate < extents[d]) break;
            coordinate = 0;
        }
    }
}

} // namespace gf::oracle
