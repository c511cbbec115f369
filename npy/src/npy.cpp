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

#include "npy_header.hpp"

namespace gf::npy {
namespace {

/// Bytes of an array; empty where they do not fit 63 bits.
std::optional<std::int64_t> byte_count(DType type, const Extents& extents) {
    if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return 0;
    auto bytes = static_cast<std::int64_t>(size_of(type));
    for (const std::int64_t extent : extents)
        if (__builtin_mul_overflow(bytes, extent, &bytes)) return {};
    return bytes;
}

/// Checks that what follows the header is the elements, all of them and nothing else.
void check_size(const std::string& path, std::size_t available, DType type, const Extents& extents) {
    const auto bytes = byte_count(type, extents);
    if (bytes && static_cast<std::size_t>(*bytes) == available) return;
    throw InvalidGraph(fmt::format(
        "file \"{}\" says that it holds {}{}, {} bytes, but {} bytes of elements are there: the two "
        "must be equal; copy it again, whole, or correct the extents",
        path, to_text(type), to_text(extents), bytes ? fmt::format("{}", *bytes) : "beyond 2^63", available));
}

/// A bool is a byte of 0 or 1; any other would mean something else in each operation.
void check_booleans(const std::string& path, const View& view, std::size_t count) {
    const auto* const bytes = static_cast<const unsigned char*>(view.address);
    const auto* const wrong = std::find_if(bytes, bytes + count, [](unsigned char byte) { return byte > 1; });
    if (wrong == bytes + count) return;
    throw InvalidGraph(
        fmt::format("file \"{}\" holds a bool of {} at element {}: a bool is 0 or 1; write it again as array != 0",
                    path, *wrong, wrong - bytes));
}

Array checked(const std::string& path, FileBytes file, std::size_t offset, DType type, const Extents& extents) {
    const std::size_t count = file.bytes() - offset;
    check_size(path, count, type, extents);
    Array array(std::move(file), offset, type, extents);
    if (type == DType::boolean) check_booleans(path, array.view(), count);
    return array;
}

[[noreturn]] void cannot_write(const std::string& path, int error) {
    throw InvalidGraph(fmt::format("file \"{}\" can't be written: {}; name a file in a folder that can be written to",
                                   path, std::strerror(error)));
}

/// 0, or the error that stopped it.
int write_all(int file, const char* bytes, std::size_t count) {
    while (count > 0) {
        const ssize_t written = ::write(file, bytes, count);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        bytes += written;
        count -= static_cast<std::size_t>(written);
    }
    return 0;
}

} // namespace

Array::Array(FileBytes file, std::size_t offset, DType type, const Extents& extents) : file_(std::move(file)) {
    const std::size_t bytes = file_.bytes() - offset;
    const char* elements = bytes == 0 ? nullptr : file_.address() + offset;
    if (offset % size_of(type) != 0 && bytes > 0) {
        aligned_ = HostBuffer(bytes);
        std::memcpy(aligned_.address(), elements, bytes);
        elements = static_cast<const char*>(aligned_.address());
    }
    view_ = {const_cast<char*>(elements), type, extents, Memory::host, false};
}

Array open(const std::string& path) {
    FileBytes file(path);
    const Header header = parse_header(path, {file.address(), file.bytes()});
    return checked(path, std::move(file), header.bytes, header.type, header.extents);
}

Array open_raw(const std::string& path, DType type) {
    FileBytes file(path);
    if (file.bytes() % size_of(type) != 0)
        throw InvalidGraph(
            fmt::format("file \"{}\" has {} bytes, which is no multiple of the {} of one {}: a raw file holds "
                        "elements and nothing else; name its true type",
                        path, file.bytes(), size_of(type), to_text(type)));
    const auto count = static_cast<std::int64_t>(file.bytes() / size_of(type));
    return checked(path, std::move(file), 0, type, {count});
}

Array open_raw(const std::string& path, DType type, const Extents& extents) {
    return checked(path, FileBytes(path), 0, type, extents);
}

std::string written_path(const std::string& path) {
    constexpr int most_links = 40; // as the kernel has it
    std::filesystem::path at(path);
    std::error_code error;
    for (int i = 0; i < most_links && std::filesystem::is_symlink(at, error); ++i) {
        const std::filesystem::path target = std::filesystem::read_symlink(at, error);
        if (error) break;
        at = at.parent_path() / target; // an absolute target replaces all of it
    }
    const std::filesystem::path canonical = std::filesystem::weakly_canonical(std::filesystem::absolute(at), error);
    return error ? at.string() : canonical.string();
}

void check_writable(const std::string& path, DType type) {
    if (descriptor(type).empty())
        throw InvalidGraph(fmt::format("file \"{}\" can't hold {}: NumPy has no such type; cast to f32 in the graph",
                                       path, to_text(type)));
    struct stat status {};
    if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
        throw InvalidGraph(
            fmt::format("file \"{}\" can't be written: it is there, and no regular file; name another", path));
}

PendingFile::PendingFile(const std::string& path, DType type, const Extents& extents, std::span<const View> parts)
    : path_(written_path(path)), temporary_(fmt::format("{}.{}.tmp", path_, getpid())) {
    check_writable(path, type);
    const std::string header = header_text(type, extents);
    const int file = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) cannot_write(path, errno);
    struct stat old {};
    if (stat(path_.c_str(), &old) == 0)
        static_cast<void>(fchmod(file, old.st_mode & 0777)); // who may read it, still may
    int error = write_all(file, header.data(), header.size());
    for (const View& part : parts)
        if (error == 0)
            error =
                write_all(file, static_cast<const char*>(part.address), element_count(part.extents) * size_of(type));
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

} // namespace gf::npy
