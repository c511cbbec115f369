// Recognises other file formats that users pass as .npy or raw files.
#pragma once

#include <optional>
#include <string_view>

namespace gf::npy {

struct FileKind {
    std::string_view what; ///< "a Parquet file"
    std::string_view fix;  ///< the advice, as an imperative
};

/// The format of bytes that are not .npy, if it is known.
std::optional<FileKind> recognise(std::string_view bytes);

/// The format of bytes that should be raw elements, if elements cannot look like it by chance. Text may be elements of
/// one byte.
std::optional<FileKind> recognise_in_raw(std::string_view bytes, std::size_t element_bytes);

} // namespace gf::npy
