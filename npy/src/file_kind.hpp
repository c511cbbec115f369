// Files that are often taken for .npy or raw ones.
#pragma once

#include <optional>
#include <string_view>

namespace gf::npy {

struct FileKind {
    std::string_view what; ///< "a Parquet file"
    std::string_view fix;  ///< what to do with it, as an imperative
};

/// What bytes that are not .npy look like, if that is known.
std::optional<FileKind> recognise(std::string_view bytes);

/// The same for bytes that should be raw elements: only what elements are not taken for by chance. Text may be elements
/// of one byte.
std::optional<FileKind> recognise_in_raw(std::string_view bytes, std::size_t element_bytes);

} // namespace gf::npy
