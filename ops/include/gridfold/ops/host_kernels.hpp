// The function types of maps and monoids on the host. Few includes: the CPU backend's kernels for each instruction set
// include this file, and must not share any inline function with the rest of the library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gf {

/// Applies a map to n elements: out[i] = f(a[i], b[i], c[i]). Operands beyond the arity are ignored. The arrays have
/// the map's compute types (never f16 or bf16) and do not overlap, except that out may equal an operand of its size.
using MapKernel = void (*)(void* out, const void* a, const void* b, const void* c, std::size_t n);

/// One monoid instantiated for an element type E and an accumulator type A, as the CPU backend runs it.
/// An array of lanes holds one State a lane, `state_bytes` apart.
struct MonoidKernels {
    std::size_t state_bytes;
    void (*identity)(void* states, std::size_t n);
    /// states[i] = accumulate(states[i], x[i], index + i) for each i < n where mask is null or mask[i] is true.
    void (*fold)(void* states, const void* x, const bool* mask, std::int64_t index, std::size_t n);
    /// Combines states[0 … n) into states[0], pairwise by index, lowest bit first: (0,1), (2,3), … then (01, 23), …;
    /// the last state of an odd row has no partner and is unchanged.
    void (*pairwise)(void* states, std::size_t n);
};

} // namespace gf
