// Conversion of arrays from Fortran order to C order.
#pragma once

#include <cstddef>

#include <gridfold/core/view.hpp>

namespace gf::npy {

/// Copies an array of at least two dims from Fortran order to C order. `from` may have any alignment. An element has 1,
/// 2, 4 or 8 bytes.
void copy_to_c_order(const char* from, char* to, const Extents& extents, std::size_t element_bytes);

} // namespace gf::npy
