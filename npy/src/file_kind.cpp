// Signatures of file formats, and text.
#include "file_kind.hpp"

#include <algorithm>

#include "npy_header.hpp"

namespace gf::npy {
namespace {

using namespace std::string_view_literals;

struct Signature {
    std::string_view begin; ///< the first bytes of files of the format
    std::string_view end;   ///< bytes at `from_end` before the end of such files
    std::size_t from_end;
    FileKind kind;
};

constexpr Signature signatures[] = {
    {"PAR1"sv,
     "PAR1"sv,
     4,
     {"a Parquet file", "write a column of it as numpy.save(\"x.npy\", pandas.read_parquet(path)[\"x\"].to_numpy())"}},
    {"PK\x03\x04"sv,
     "PK\x05\x06"sv,
     22,
     {"a zip archive, as numpy.savez writes (.npz)", "unpack it, and name one of the .npy files that it holds"}},
    {"\x89HDF\r\n\x1a\n"sv,
     ""sv,
     0,
     {"an HDF5 file", "write a data set of it as numpy.save(\"x.npy\", h5py.File(path)[\"x\"][:])"}},
    {"ARROW1"sv,
     "ARROW1"sv,
     6,
     {"an Arrow file (Feather)",
      "write a column of it as numpy.save(\"x.npy\", pandas.read_feather(path)[\"x\"].to_numpy())"}},
    {"\x1f\x8b\x08"sv, ""sv, 0, {"compressed by gzip", "decompress it with gunzip first"}},
};
constexpr FileKind text{"text, such as CSV",
                        "write it as numpy.save(\"x.npy\", numpy.loadtxt(path, delimiter=\",\")), with skiprows=1 "
                        "where the first line names the columns"};
constexpr FileKind json_array{"JSON",
                              "write an array of it as numpy.save(\"x.npy\", numpy.array(json.load(open(path))))"};
constexpr FileKind json_object{
    "JSON", "write an array of it as numpy.save(\"x.npy\", numpy.array(json.load(open(path))[\"name\"]))"};

/// The kind of bytes that are text.
FileKind kind_of_text(std::string_view bytes) {
    const std::size_t first = bytes.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return text;
    if (bytes[first] == '{') return json_object;
    if (bytes[first] != '[') return text;
    // The heads of INI and TOML files, [table] and [[table]], go on with a letter.
    const std::size_t inner = bytes.find_first_not_of(" \t\r\n[", first);
    constexpr std::string_view starts_of_items = "-0123456789\"{]";
    return inner != std::string_view::npos && starts_of_items.find(bytes[inner]) != std::string_view::npos ? json_array
                                                                                                           : text;
}

constexpr std::size_t text_sample = 4096;     ///< the bytes that are examined
constexpr std::size_t least_text_in_raw = 16; ///< fewer bytes may be elements that look like text

bool is_ascii_text(char c) { return (c >= ' ' && c <= '~') || c == '\t' || c == '\r' || c == '\n'; }
bool is_utf8_text(char c) { return is_ascii_text(c) || static_cast<unsigned char>(c) >= 0x80; }

} // namespace

std::optional<FileKind> recognise(std::string_view bytes) {
    for (const Signature& signature : signatures)
        if (bytes.starts_with(signature.begin)) return signature.kind;
    if (!bytes.empty() && std::ranges::all_of(bytes.substr(0, text_sample), is_utf8_text)) return kind_of_text(bytes);
    return {};
}

std::optional<FileKind> recognise_in_raw(std::string_view bytes, std::size_t element_bytes) {
    if (bytes.starts_with(magic))
        return FileKind{"a .npy file",
                        "open it as that (in the command x=path, without raw:), or its header is read as "
                        "elements"};
    for (const Signature& signature : signatures) {
        const bool is_long_enough = signature.begin.size() + signature.end.size() >= 8 &&
                                    bytes.size() >= signature.begin.size() + signature.from_end;
        if (is_long_enough && bytes.starts_with(signature.begin) &&
            bytes.substr(bytes.size() - signature.from_end).starts_with(signature.end))
            return signature.kind;
    }
    const std::string_view sample = bytes.substr(0, text_sample);
    if (element_bytes > 1 && sample.size() >= least_text_in_raw && std::ranges::all_of(sample, is_ascii_text) &&
        sample.find('\n') != std::string_view::npos)
        return kind_of_text(bytes);
    return {};
}

} // namespace gf::npy
