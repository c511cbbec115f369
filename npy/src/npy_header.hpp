// The header of a .npy file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <gridfold/core/view.hpp>

namespace gf::npy {

inline constexpr std::string_view magic = "\x93NUMPY"; ///< the first bytes of a .npy file

struct Header {
    DType type;
    Extents extents;
    std::size_t bytes;  ///< the size of the header, after which the elements begin
    bool fortran_order; ///< the first index varies fastest; false if both orders are the same
};

/// Parses the header that `file` begins with. `name` is the file's, for messages. Throws IoError.
Header parse_header(std::string_view name, std::string_view file);

/// The header of an array, padded so that the elements begin at a multiple of 64.
std::string header_text(DType type, const Extents& extents);

/// "<f4"; "" if NumPy has no such type.
std::string_view descriptor(DType type);

} // namespace gf::npy
