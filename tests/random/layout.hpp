// Random places in memory for the elements of an array: dims in any order, gaps between elements, backwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <gridfold/core/view.hpp>

#include "case.hpp"

namespace gf::oracle {

/// The strides of an array, and the memory that its elements fill, gaps included.
struct Layout {
    Strides strides;
    std::int64_t first = 0; ///< the elements of memory before the one whose coordinates are all 0
    std::size_t count = 0;  ///< the elements of memory
};

Layout draw_layout(const Extents& extents, Random& random);

/// Random numbers for a case's layouts, apart from all others that its seed determines.
inline Random random_of_layouts(const Case& test) { return Random(test.seed ^ 0x7374726964657321); }

/// Writes elements of the type, given in row-major order, where the layout has them, from `memory` on.
void scatter(DType type, std::span<const Bits> elements, const Extents& extents, const Layout& layout,
             std::byte* memory);

} // namespace gf::oracle
