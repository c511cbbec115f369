// Files by mmap; pipes into anonymous memory that grows in place.
#include <gridfold/npy/file_bytes.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>

namespace gf::npy {
namespace {

constexpr std::size_t first_bytes = std::size_t{1} << 20; ///< the initial memory for reading a pipe

[[noreturn]] void refuse(const std::string& name, int error) {
    throw IoError(fmt::format("file \"{}\" can't be read: {}; name a file that is there and readable", name,
                              std::strerror(error)),
                  name);
}

} // namespace

FileBytes::FileBytes(const std::string& path) : FileBytes() {
    name_ = path;
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) refuse(path, errno);
    if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
        throw IoError(fmt::format("file \"{}\" is {}: arrays are read from regular files and from pipes; name one "
                                  "of these",
                                  path, S_ISDIR(status.st_mode) ? "a folder" : "a device or a socket"),
                      path);
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) refuse(path, errno);
    try {
        take(descriptor);
    } catch (...) {
        close(descriptor);
        throw;
    }
    close(descriptor);
}

FileBytes::FileBytes(int descriptor, std::string name) : FileBytes() {
    name_ = std::move(name);
    take(descriptor);
}

FileBytes::~FileBytes() {
    if (address_ != nullptr) munmap(address_, mapped_);
}

void FileBytes::take(int descriptor) {
    struct stat status {};
    if (fstat(descriptor, &status) != 0) refuse(name_, errno);
    const bool is_whole_file = S_ISREG(status.st_mode) && lseek(descriptor, 0, SEEK_CUR) == 0;
    if (is_whole_file && status.st_size > 0)
        map(descriptor, static_cast<std::size_t>(status.st_size));
    else
        read_to_end(descriptor);
}

void FileBytes::map(int descriptor, std::size_t count) {
    void* const address = mmap(nullptr, count, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) refuse(name_, errno);
    address_ = address;
    count_ = mapped_ = count;
    madvise(address_, count_, MADV_SEQUENTIAL); // a hint, which may fail
}

void FileBytes::read_to_end(int descriptor) {
    while (true) {
        if (count_ == mapped_) resize(std::max(first_bytes, 2 * mapped_));
        const ssize_t count = read(descriptor, static_cast<char*>(address_) + count_, mapped_ - count_);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) refuse(name_, errno);
        if (count == 0) break;
        count_ += static_cast<std::size_t>(count);
    }
    resize(count_);
}

/// Resizes the memory and keeps the bytes read so far.
void FileBytes::resize(std::size_t bytes) {
    if (bytes == 0) {
        munmap(address_, mapped_);
        address_ = nullptr;
    } else {
        void* const address = address_ == nullptr
                                  ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                  : mremap(address_, mapped_, bytes, MREMAP_MAYMOVE);
        if (address == MAP_FAILED) throw std::bad_alloc();
        address_ = address;
    }
    mapped_ = bytes;
}

} // namespace gf::npy
