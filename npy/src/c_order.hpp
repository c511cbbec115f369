// Arrays in Fortran order, as C order.
#pragma once

#include <cstddef>

#include <gridfold/core/view.hpp>

namespace gf::npy {

/// Copies an array of at least two dims whose first index varies fastest to one whose last does. `from` may have any
/// alignment. An element has 1, 2, 4 or 8 bytes.
void copy_to_c_order(const char* from, char* to, const Extents& extents, std::size_t element_bytes);

} // namespace gf::npy
