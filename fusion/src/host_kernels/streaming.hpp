// Stores that go around the caches. A plain store first reads the line that it changes.
#pragma once

#include <cstddef>

namespace gf::cpu {

/// Copies bytes around the caches, but for those before the first whole line and after the last. Other threads may
/// read them once this one has called fence_streams(). The memory does not overlap.
using StreamKernel = void (*)(void* to, const void* from, std::size_t bytes);

inline void fence_streams() {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}

} // namespace gf::cpu
