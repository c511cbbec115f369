// The reader of .npy files: any file is an array or an InvalidGraph; and an array's header is read back as it was.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include <gridfold/core/error.hpp>
#include <gridfold/npy/npy.hpp>

#include "npy_header.hpp"

namespace {

/// A file in memory that has a path.
class MemoryFile {
public:
    MemoryFile(const void* bytes, std::size_t count) : descriptor_(memfd_create("fuzz.npy", MFD_CLOEXEC)) {
        if (descriptor_ < 0 || write(descriptor_, bytes, count) != static_cast<ssize_t>(count)) std::abort();
    }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    ~MemoryFile() { close(descriptor_); }
    std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

private:
    int descriptor_;
};

void check(const gf::View& array, const std::uint8_t* file, std::size_t count) {
    std::size_t bytes = gf::size_of(array.type);
    for (const std::int64_t extent : array.extents) bytes *= static_cast<std::size_t>(extent);
    // The elements are the end of the file.
    if (bytes > count || (bytes > 0 && std::memcmp(array.address, file + count - bytes, bytes) != 0)) std::abort();
    if (reinterpret_cast<std::uintptr_t>(array.address) % gf::size_of(array.type) != 0) std::abort();
    const std::string text = gf::npy::header_text(array.type, array.extents);
    const gf::npy::Header header = gf::npy::parse_header("header", text);
    if (header.type != array.type || header.extents != array.extents || header.bytes != text.size()) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
    const MemoryFile file(bytes, count);
    try {
        const gf::npy::Array array = gf::npy::open(file.path());
        check(array.view(), bytes, count);
    } catch (const gf::InvalidGraph&) {}
    return 0;
}
