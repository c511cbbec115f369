// Arrays in files.
#include <gridfold/npy/npy.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>
#include <gridfold/core/gather.hpp>

#include "file_kind.hpp"
#include "npy_header.hpp"

namespace gf::npy {
namespace {

/// The bytes of an array; empty if they do not fit 63 bits.
std::optional<std::int64_t> byte_count(DType type, const Extents& extents) {
    if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return 0;
    auto bytes = static_cast<std::int64_t>(size_of(type));
    for (const std::int64_t extent : extents)
        if (__builtin_mul_overflow(bytes, extent, &bytes)) return {};
    return bytes;
}

/// Checks that exactly the elements follow the header.
void check_size(const std::string& path, std::size_t available, DType type, const Extents& extents) {
    const auto bytes = byte_count(type, extents);
    if (bytes && static_cast<std::size_t>(*bytes) == available) return;
    throw IoError(
        fmt::format("file \"{}\" says that it holds {}{}, {} bytes, but {} bytes of elements are there: the two "
                    "must be equal; copy it again, whole, or correct the extents",
                    path, to_text(type), to_text(extents), bytes ? fmt::format("{}", *bytes) : "beyond 2^63",
                    available),
        path);
}

/// The strides of an array with elements in Fortran order; none where that is C order.
Strides strides_of(const Header& header) {
    if (!header.fortran_order) return {};
    std::array<std::int64_t, max_rank> strides{};
    std::int64_t inner = 1; // the elements of the dims that vary faster; they fit: the size has been checked
    const int rank = header.extents.rank();
    for (int d = 0; d < rank; inner *= header.extents[d++]) strides[static_cast<std::size_t>(d)] = inner;
    return Strides(std::span(strides).first(static_cast<std::size_t>(rank)));
}

/// Checks that bools are bytes of 0 or 1: operations would interpret others differently.
void check_booleans(const std::string& path, const View& view, std::size_t count) {
    const auto* const bytes = static_cast<const unsigned char*>(view.address);
    const auto* const wrong = std::find_if(bytes, bytes + count, [](unsigned char byte) { return byte > 1; });
    if (wrong == bytes + count) return;
    throw IoError(
        fmt::format("file \"{}\" holds a bool of {} at element {}: a bool is 0 or 1; write it again as array != 0",
                    path, *wrong, wrong - bytes),
        path);
}

/// Refuses files of other formats.
void check_raw(const FileBytes& file, DType type) {
    if (const auto kind = recognise_in_raw(file.bytes(), size_of(type)))
        throw IoError(fmt::format("file \"{}\" is {}, not raw elements of {}: a raw file holds elements and nothing "
                                  "else; {}",
                                  file.name(), kind->what, to_text(type), kind->fix),
                      file.name());
}

[[noreturn]] void cannot_write(const std::string& path, int error) {
    throw IoError(fmt::format("file \"{}\" can't be written: {}; name a file in a folder that can be written to", path,
                              std::strerror(error)),
                  path);
}

/// Returns 0 or an errno.
int write_bytes(int file, const char* bytes, std::size_t count) {
    while (count > 0) {
        const ssize_t written = ::write(file, bytes, count);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        bytes += written;
        count -= static_cast<std::size_t>(written);
    }
    return 0;
}

/// Writes the elements of a view in C order. Returns 0 or an errno.
int write_elements(int file, const View& view) {
    const std::size_t size = size_of(view.type), count = element_count(view.extents);
    if (view.is_contiguous()) return write_bytes(file, static_cast<const char*>(view.address), count * size);
    constexpr std::size_t at_once = 1 << 16;
    std::vector<char> some(std::min(at_once, count) * size);
    const Walk order = walk(view);
    int error = 0;
    for (std::size_t first = 0; first < count && error == 0; first += at_once) {
        const std::size_t n = std::min(at_once, count - first);
        gather(some.data(), view.address, size, order, static_cast<std::int64_t>(first), n);
        error = write_bytes(file, some.data(), n * size);
    }
    return error;
}

/// Writes a whole .npy file. Returns 0 or an errno.
int write_array(int file, DType type, const Extents& extents, std::span<const View> parts) {
    const std::string header = header_text(type, extents);
    int error = write_bytes(file, header.data(), header.size());
    for (const View& part : parts)
        if (error == 0) error = write_elements(file, part);
    return error;
}

} // namespace

/// Creates arrays from files after checking their elements.
class Opener {
public:
    static Array open(FileBytes file, const Header& header) {
        const std::size_t bytes = file.bytes().size() - header.bytes;
        check_size(file.name(), bytes, header.type, header.extents);
        Array array(std::move(file), header);
        if (header.type == DType::boolean) check_booleans(array.file_.name(), array.view(), bytes);
        return array;
    }
};

Array::Array(FileBytes file, const Header& header) : file_(std::move(file)) {
    const std::string_view stored = file_.bytes().substr(header.bytes);
    const char* elements = stored.empty() ? nullptr : stored.data();
    if (!stored.empty() && header.bytes % size_of(header.type) != 0) {
        copy_ = HostBuffer(stored.size());
        auto* const copy = static_cast<char*>(copy_.address());
        std::memcpy(copy, stored.data(), stored.size());
        elements = copy;
    }
    view_ = {const_cast<char*>(elements),
             header.type,
             header.extents,
             Memory::host,
             false,
             stored.empty() ? Strides() : strides_of(header)};
}

Array open(const std::string& path) { return open(FileBytes(path)); }

Array open(FileBytes file) {
    const Header header = parse_header(file.name(), file.bytes());
    return Opener::open(std::move(file), header);
}

Array open_raw(const std::string& path, DType type) { return open_raw(FileBytes(path), type); }

Array open_raw(FileBytes file, DType type) {
    const std::size_t bytes = file.bytes().size();
    check_raw(file, type);
    if (bytes % size_of(type) != 0)
        throw IoError(
            fmt::format("file \"{}\" has {} bytes, which is not a multiple of the {} of one {}: a raw file holds "
                        "elements and nothing else; name its true type",
                        file.name(), bytes, size_of(type), to_text(type)),
            file.name());
    return Opener::open(std::move(file), {type, {static_cast<std::int64_t>(bytes / size_of(type))}, 0, false});
}

Array open_raw(const std::string& path, DType type, const Extents& extents) {
    return open_raw(FileBytes(path), type, extents);
}

Array open_raw(FileBytes file, DType type, const Extents& extents) {
    check_raw(file, type);
    return Opener::open(std::move(file), {type, extents, 0, false});
}

std::string written_path(const std::string& path) {
    constexpr int most_links = 40; // Linux's limit
    std::filesystem::path at(path);
    std::error_code error;
    for (int i = 0; i < most_links && std::filesystem::is_symlink(at, error); ++i) {
        const std::filesystem::path target = std::filesystem::read_symlink(at, error);
        if (error) break;
        at = at.parent_path() / target; // an absolute target replaces the whole path
    }
    const std::filesystem::path canonical = std::filesystem::weakly_canonical(std::filesystem::absolute(at), error);
    return error ? at.string() : canonical.string();
}

void check_type(const std::string& name, DType type) {
    if (descriptor(type).empty())
        throw IoError(fmt::format("file \"{}\" can't hold {}: NumPy has no such type; cast to f32 in the graph", name,
                                  to_text(type)),
                      name);
}

void check_writable(const std::string& path, DType type) {
    check_type(path, type);
    struct stat status {};
    if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
        throw IoError(
            fmt::format("file \"{}\" can't be written: it is there, and is not a regular file; name another", path),
            path);
}

PendingFile::PendingFile(const std::string& path, DType type, const Extents& extents, std::span<const View> parts)
    : path_(written_path(path)), temporary_(fmt::format("{}.{}.tmp", path_, getpid())) {
    check_writable(path, type);
    const int file = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) cannot_write(path, errno);
    struct stat old {};
    if (stat(path_.c_str(), &old) == 0)
        static_cast<void>(fchmod(file, old.st_mode & 0777)); // the replaced file's permissions
    int error = write_array(file, type, extents, parts);
    if (::close(file) != 0 && error == 0) error = errno;
    if (error == 0) return;
    unlink(temporary_.c_str());
    cannot_write(path, error);
}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}

PendingFile::~PendingFile() {
    if (!temporary_.empty()) unlink(temporary_.c_str());
}

void PendingFile::commit() {
    if (rename(temporary_.c_str(), path_.c_str()) != 0) cannot_write(path_, errno);
    temporary_.clear();
}

void write(const std::string& path, const View& array) { PendingFile(path, array).commit(); }

void write(int descriptor, const std::string& name, DType type, const Extents& extents, std::span<const View> parts) {
    check_type(name, type);
    if (const int error = write_array(descriptor, type, extents, parts); error != 0)
        throw IoError(fmt::format("{} can't be written: {}; give it a reader that takes all of it, or a file", name,
                                  std::strerror(error)),
                      name);
}

} // namespace gf::npy
