// A strict parser of the dictionary in a .npy header: exactly the keys of the format, each once.
#include "npy_header.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>

#include "file_kind.hpp"

namespace gf::npy {
namespace {

constexpr std::size_t alignment = 64;

template <class... Args>
[[noreturn]] void refuse(std::string_view name, fmt::format_string<Args...> format, Args&&... args) {
    throw IoError(fmt::format("file \"{}\" {}", name, fmt::format(format, std::forward<Args>(args)...)),
                  std::string(name));
}

/// Reads the tokens of a Python literal.
class Reader {
public:
    Reader(std::string_view name, std::string_view text) : name_(name), text_(text) {}

    /// Skips `token` if it is next; returns whether it was.
    bool take(char token) {
        skip_blanks();
        if (at_ == text_.size() || text_[at_] != token) return false;
        ++at_;
        return true;
    }
    void expect(char token) {
        if (!take(token)) fail();
    }
    std::string_view string() {
        skip_blanks();
        if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) fail();
        const std::size_t end = text_.find(text_[at_], at_ + 1);
        if (end == std::string_view::npos) fail();
        const std::string_view content = text_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        return content;
    }
    bool boolean() {
        for (const auto& [word, value] : {std::pair(std::string_view("True"), true), {"False", false}})
            if (skip_blanks(), text_.substr(at_).starts_with(word)) {
                at_ += word.size();
                return value;
            }
        fail();
    }
    std::int64_t integer() {
        skip_blanks();
        std::int64_t value = 0;
        const char* const begin = text_.data() + at_;
        const auto [stop, error] = std::from_chars(begin, text_.data() + text_.size(), value);
        if (error == std::errc::result_out_of_range)
            refuse(name_, "has an extent beyond 64 bits in its header: {}; write it again from NumPy", text_);
        if (error != std::errc()) fail();
        at_ += static_cast<std::size_t>(stop - begin);
        return value;
    }
    bool at_end() {
        skip_blanks();
        return at_ == text_.size();
    }
    [[noreturn]] void fail() const {
        refuse(
            name_,
            "has a header that is not what the .npy format says, a dictionary of descr, fortran_order and shape: {}; "
            "write it again with numpy.save",
            text_.substr(0, 200));
    }

private:
    void skip_blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    }
    std::string_view name_, text_;
    std::size_t at_ = 0;
};

DType type_of(std::string_view name, std::string_view descr) {
    for (const DType type : all_dtypes()) {
        const std::string_view own = descriptor(type);
        if (own.empty()) continue;
        if (descr == own) return type;
        // Byte order is irrelevant for one byte.
        if (size_of(type) == 1 && descr.size() == 3 && descr.substr(1) == own.substr(1) &&
            (descr[0] == '<' || descr[0] == '>' || descr[0] == '='))
            return type;
        if (descr.starts_with('>') && descr.substr(1) == own.substr(1))
            refuse(name,
                   "holds big-endian elements ('{}'): gridfold reads little-endian ones; write it again as "
                   "array.astype('{}')",
                   descr, own);
    }
    if (descr.starts_with("|O"))
        refuse(name,
               "holds Python objects ('{}'): gridfold reads numbers and bool; write it again as "
               "array.astype('f8'), or the type that the numbers have",
               descr);
    refuse(name,
           "holds elements of type '{}': gridfold reads bool, 8- to 64-bit integers, and 16- to 64-bit floating types; "
           "write it again as array.astype('f8'), or another of these",
           descr);
}

Extents shape(std::string_view name, Reader& reader) {
    std::vector<std::int64_t> extents;
    reader.expect('(');
    while (!reader.take(')')) {
        extents.push_back(reader.integer());
        if (extents.back() < 0)
            refuse(name,
                   "has a negative extent in its header, {}: extents count elements; write it again with numpy.save",
                   extents.back());
        if (extents.size() > static_cast<std::size_t>(max_rank))
            refuse(name, "has more than {} dims: gridfold's arrays have at most {}; reshape it", max_rank, max_rank);
        if (reader.take(',')) continue;
        if (extents.size() == 1) reader.fail(); // "(3)" is an integer, "(3,)" a shape
        reader.expect(')');
        break;
    }
    return Extents(extents);
}

std::size_t little_endian(std::string_view bytes) {
    std::size_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
}

/// Refuses a file that is not .npy; the message names its format if it is known.
[[noreturn]] void refuse_content(std::string_view name, std::string_view file) {
    if (const auto kind = recognise(file))
        refuse(name, "is {}, not a .npy file: arrays are read from .npy files and raw elements; {}", kind->what,
               kind->fix);
    refuse(name,
           "{}: those begin with \\x93NUMPY; write it with numpy.save, or open it as raw elements (in the command "
           "raw:<type>:<path>)",
           file.empty() ? "is empty, and so is not a .npy file" : "is not a .npy file");
}

/// The text of the dictionary, and its end in the file.
std::pair<std::string_view, std::size_t> dictionary(std::string_view name, std::string_view file) {
    if (!file.starts_with(magic)) refuse_content(name, file);
    const std::size_t version_end = magic.size() + 2;
    if (file.size() < version_end) refuse(name, "ends within its header; copy it again, whole");
    const int major = static_cast<unsigned char>(file[magic.size()]),
              minor = static_cast<unsigned char>(file[magic.size() + 1]);
    if (major < 1 || major > 3 || minor != 0)
        refuse(name,
               "has version {}.{} of the .npy format: gridfold reads 1.0, 2.0 and 3.0; write it again with numpy.save",
               major, minor);
    const std::size_t begin = version_end + (major == 1 ? 2 : 4);
    if (file.size() < begin) refuse(name, "ends within its header; copy it again, whole");
    const std::size_t bytes = little_endian(file.substr(version_end, begin - version_end));
    if (file.size() - begin < bytes)
        refuse(name, "ends within its header, which says that it has {} bytes; copy it again, whole", bytes);
    return {file.substr(begin, bytes), begin + bytes};
}

} // namespace

std::string_view descriptor(DType type) {
    switch (type) {
#define GRIDFOLD_DTYPE(id, text, cpp, kind, npy) \
    case DType::id: return npy;
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    }
    return "";
}

Header parse_header(std::string_view name, std::string_view file) {
    const auto [text, bytes] = dictionary(name, file);
    Reader reader(name, text);
    std::optional<DType> type;
    std::optional<bool> fortran_order;
    std::optional<Extents> extents;
    reader.expect('{');
    while (!reader.take('}')) {
        const std::string_view key = reader.string();
        reader.expect(':');
        if (key == "descr" && !type) {
            if (reader.take('['))
                refuse(name, "holds records: gridfold reads arrays of one type; write each field as a file of its own");
            type = type_of(name, reader.string());
        } else if (key == "fortran_order" && !fortran_order) {
            fortran_order = reader.boolean();
        } else if (key == "shape" && !extents) {
            extents = shape(name, reader);
        } else {
            reader.fail();
        }
        if (reader.take(',')) continue;
        reader.expect('}');
        break;
    }
    if (!reader.at_end() || !type || !fortran_order || !extents) reader.fail();
    const auto wide_dims = std::count_if(extents->begin(), extents->end(), [](std::int64_t n) { return n > 1; });
    return {*type, *extents, bytes, *fortran_order && wide_dims > 1};
}

std::string header_text(DType type, const Extents& extents) {
    std::string shape;
    for (const std::int64_t extent : extents) shape += fmt::format("{},{}", extent, extents.rank() == 1 ? "" : " ");
    if (extents.rank() > 1) shape.resize(shape.size() - 2);
    std::string text =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descriptor(type), shape);
    const std::size_t fixed = magic.size() + 4; // with the version and the length
    const std::size_t total = (fixed + text.size() + 1 + alignment - 1) / alignment * alignment;
    text.resize(total - fixed - 1, ' ');
    text += '\n';
    const auto low = static_cast<char>(text.size() & 0xFF), high = static_cast<char>(text.size() >> 8);
    return std::string(magic) + '\x01' + '\0' + low + high + text;
}

} // namespace gf::npy
