// Transposes the first and the last dim in square tiles, so that reads and writes both use whole cache lines.
#include "c_order.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace gf::npy {
namespace {

constexpr std::int64_t tile = 32;

/// to[row, column] = from[row, column]. Rows are contiguous in `from`, columns in `to`; the other dim has these
/// strides, in elements.
template <std::size_t bytes>
void transpose(const char* from, std::int64_t from_stride, char* to, std::int64_t to_stride, std::int64_t rows,
               std::int64_t columns) {
    for (std::int64_t r0 = 0; r0 < rows; r0 += tile)
        for (std::int64_t c0 = 0; c0 < columns; c0 += tile)
            for (std::int64_t r = r0; r < std::min(r0 + tile, rows); ++r)
                for (std::int64_t c = c0; c < std::min(c0 + tile, columns); ++c)
                    std::memcpy(to + static_cast<std::size_t>(r * to_stride + c) * bytes,
                                from + static_cast<std::size_t>(r + c * from_stride) * bytes, bytes);
}

template <std::size_t bytes> void copy(const char* from, char* to, const Extents& extents) {
    const int last = extents.rank() - 1;
    const std::int64_t rows = extents[0], columns = extents[last];
    std::int64_t between = 1; // the elements of the dims between the first and the last
    for (int d = 1; d < last; ++d) between *= extents[d];
    for (std::int64_t in_c_order = 0; in_c_order < between; ++in_c_order) {
        std::int64_t in_fortran_order = 0, rest = in_c_order, stride = between;
        for (int d = last - 1; d > 0; --d) {
            stride /= extents[d];
            in_fortran_order += rest % extents[d] * stride;
            rest /= extents[d];
        }
        transpose<bytes>(from + static_cast<std::size_t>(in_fortran_order * rows) * bytes, rows * between,
                         to + static_cast<std::size_t>(in_c_order * columns) * bytes, between * columns, rows, columns);
    }
}

} // namespace

void copy_to_c_order(const char* from, char* to, const Extents& extents, std::size_t element_bytes) {
    switch (element_bytes) {
    case 1: return copy<1>(from, to, extents);
    case 2: return copy<2>(from, to, extents);
    case 4: return copy<4>(from, to, extents);
    default: return copy<8>(from, to, extents);
    }
}

} // namespace gf::npy
