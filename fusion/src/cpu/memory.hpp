// Memory of the CPU backend's own.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace gf::cpu {

inline constexpr std::size_t page_bytes = 4096;

/// Frees memory whose first byte lies `offset` bytes into what was allocated.
struct AlignedDelete {
    std::size_t offset = 0;
    void operator()(char* memory) const noexcept { ::operator delete(memory - offset, std::align_val_t{page_bytes}); }
};

/// Bytes on a boundary of 64, not initialised; null where there are none.
using Bytes = std::unique_ptr<char[], AlignedDelete>;

inline Bytes allocate(std::size_t size, std::size_t offset = 0) {
    if (size == 0) return {}; // an address behind an allocation would keep no leak checker from reporting it
    return Bytes(static_cast<char*>(::operator new(size + offset, std::align_val_t{page_bytes})) + offset,
                 AlignedDelete{offset});
}

/// Bytes for what is stored element by element while an array is read. Loads wait for earlier stores whose address has
/// the same low 12 bits. Arrays mostly begin a little past a page's boundary; these begin a little before one, so that
/// stores keep behind the loads.
inline Bytes allocate_for_stores(std::size_t size) { return allocate(size, page_bytes - 128); }

/// Bytes that only grow. What they hold is lost when they do.
class GrowingBytes {
public:
    char* get() const noexcept { return bytes_.get(); }
    /// On an exception they are as before.
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
