// Arithmetic of elements by the value of their row.
#pragma once

#include <cstddef>

namespace gf::cpu {

/// out[i] = in[i] op values[r], r being the row of element i of n: `in` begins at element `first` of row 0, and a row
/// has `length`. The arrays do not overlap, except that out may equal `in`.
using RowValueKernel = void (*)(void* out, const void* in, const void* values, std::size_t first, std::size_t length,
                                std::size_t n);

} // namespace gf::cpu
