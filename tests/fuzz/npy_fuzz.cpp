// The reader of .npy files: any file is an array or an IoError, and writing and reading an array keeps its header.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <gridfold/core/error.hpp>
#include <gridfold/core/gather.hpp>
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

/// The position in the file of element number `i` of a view.
std::size_t position_in_file(const gf::Extents& extents, bool fortran_order, std::size_t i) {
    if (!fortran_order) return i;
    std::size_t stride = gf::element_count(extents), position = 0;
    for (int d = extents.rank() - 1; d >= 0; --d) {
        const auto extent = static_cast<std::size_t>(extents[d]);
        stride /= extent;
        position += i % extent * stride;
        i /= extent;
    }
    return position;
}

void check(const gf::View& array, const std::uint8_t* file, std::size_t count) {
    const std::size_t size = gf::size_of(array.type), elements = gf::element_count(array.extents);
    const bool fortran_order =
        gf::npy::parse_header("header", {reinterpret_cast<const char*>(file), count}).fortran_order;
    if (elements > count / size) std::abort();
    const std::uint8_t* const stored = file + count - elements * size; // elements are at the end of the file
    std::vector<char> in_order(elements * size);
    gf::gather(in_order.data(), array.address, size, gf::walk(array), 0, elements);
    for (std::size_t i = 0; i < elements; ++i)
        if (std::memcmp(in_order.data() + i * size, stored + position_in_file(array.extents, fortran_order, i) * size,
                        size) != 0)
            std::abort();
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
    } catch (const gf::IoError&) {}
    return 0;
}
