// Files by mmap.
#include <gridfold/npy/file_bytes.hpp>

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>

namespace gf {
namespace {

[[noreturn]] void refuse(const std::string& path, int error) {
    throw InvalidGraph(fmt::format("file \"{}\" can't be read: {}; name a file that is there and readable", path,
                                   std::strerror(error)));
}

} // namespace

FileBytes::FileBytes(const std::string& path) {
    struct stat status {};
    // Without O_NONBLOCK, opening a pipe would wait for its writer.
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) refuse(path, errno);
    int error = fstat(file, &status) == 0 ? 0 : errno;
    const bool regular = error == 0 && S_ISREG(status.st_mode);
    if (regular && status.st_size > 0) {
        bytes_ = static_cast<std::size_t>(status.st_size);
        address_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
        if (address_ == MAP_FAILED) error = errno;
    }
    close(file);
    if (error != 0) refuse(path, error);
    if (!regular)
        throw InvalidGraph(
            fmt::format("file \"{}\" is no regular file: arrays are mapped into memory, which only regular "
                        "files can be; copy it to one",
                        path));
    if (address_ != nullptr) madvise(address_, bytes_, MADV_SEQUENTIAL); // a hint: failing changes nothing
}

FileBytes::~FileBytes() {
    if (address_ != nullptr) munmap(address_, bytes_);
}

} // namespace gf
