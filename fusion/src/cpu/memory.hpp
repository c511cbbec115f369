// Memory of the CPU backend's own.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace gf::cpu {

inline constexpr std::size_t alignment = 64;

struct AlignedDelete {
    void operator()(char* memory) const noexcept { ::operator delete (memory, std::align_val_t{alignment}); }
};

/// Bytes on a boundary of 64, not initialised.
using Bytes = std::unique_ptr<char[], AlignedDelete>;

inline Bytes allocate(std::size_t size) {
    return Bytes(static_cast<char*>(::operator new (size, std::align_val_t{alignment})));
}

} // namespace gf::cpu
