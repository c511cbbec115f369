// The CPU backend's own memory.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace gf::cpu {

inline constexpr std::size_t page_bytes = 4096;

/// The size of a cache line.
constexpr std::size_t line_bytes = 64;

/// The cache lines [begin, end) of share number `share` of `shares` of some bytes: prefetches are divided among calls,
/// because all at once would stall. (gcc 12 drops calls of a function object that only prefetches.)
struct Lines {
    std::size_t begin, end;
};
constexpr Lines lines_of_share(std::size_t bytes, std::size_t share, std::size_t shares) {
    return {bytes * share / shares / line_bytes, bytes * (share + 1) / shares / line_bytes};
}

/// Frees memory that begins `offset` bytes after its allocation.
struct AlignedDelete {
    std::size_t offset = 0;
    void operator()(char* memory) const noexcept { ::operator delete(memory - offset, std::align_val_t{page_bytes}); }
};

/// Uninitialised bytes, aligned to 64; null if there are none.
using Bytes = std::unique_ptr<char[], AlignedDelete>;

inline Bytes allocate(std::size_t size, std::size_t offset = 0) {
    if (size == 0) return {}; // leak checkers would report an allocation with only a pointer past its end
    return Bytes(static_cast<char*>(::operator new(size + offset, std::align_val_t{page_bytes})) + offset,
                 AlignedDelete{offset});
}

/// Bytes for elements that are stored while an array is read. Loads wait for earlier stores with the same low 12 bits
/// of the address. Arrays usually begin shortly after a page's boundary; these bytes begin shortly before one, so that
/// stores stay behind the loads.
inline Bytes allocate_for_stores(std::size_t size) { return allocate(size, page_bytes - 128); }

/// Bytes that only grow. Growing loses their contents.
class GrowingBytes {
public:
    char* get() const noexcept { return bytes_.get(); }
    /// An exception leaves them unchanged.
    void reserve(
        std::size_t size, Bytes (*allocate_bytes)(std::size_t) = [](std::size_t n) { return allocate(n); }) {
        if (bytes_ && size <= size_) return;
        bytes_ = allocate_bytes(size);
        size_ = size;
    }

private:
    Bytes bytes_;
    std::size_t size_ = 0;
};

} // namespace gf::cpu
