// The kernels of folds that keep dims inside folded ones: every position of a slab has a State of its own. Few
// includes, like host_kernels.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gf::cpu {

/// The elements of one call: x[i] of position i, i < n, where mask is null or mask[i] is true. The element has index
/// index + lane[i].
struct PositionInput {
    std::size_t n = 0;
    const void* x = nullptr;
    const bool* mask = nullptr;
    const std::int64_t* lane = nullptr;
    std::int64_t index = 0;
};

/// A monoid over an element and an accumulator type, built-in or a user's. States follow each other, state_bytes apart.
struct PositionKernels {
    std::size_t state_bytes;
    /// Sets the first n States to the identity.
    void (*identity)(void* states, std::size_t n);
    /// Accumulates the element of each position in its State.
    void (*fold)(void* states, const PositionInput& input);
    /// Combines others[i] into states[i], i < n.
    void (*combine)(void* states, const void* others, std::size_t n);
};

} // namespace gf::cpu
