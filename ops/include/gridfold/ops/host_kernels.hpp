// The function types of maps and monoids on the host. Few includes: the CPU backend's kernels for each instruction set
// include this file, and must not share any inline function with the rest of the library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gf {

/// Applies a map to n elements: out[i] = f(a[i], b[i], c[i]). Operands beyond the arity are ignored. The arrays have
/// the map's compute types (never f16 or bf16) and do not overlap, except that out may equal an operand of its size.
using MapKernel = void (*)(void* out, const void* a, const void* b, const void* c, std::size_t n);

} // namespace gf

namespace gf::cpu {

/// baseline is what a file is compiled for: x86-64 without extensions, or another processor.
enum class InstructionSet : std::uint8_t { baseline, avx2, avx512 };

/// Lanes of a reduction's block: order.hpp's slab_elements.
inline constexpr std::size_t lane_count = 2048;

/// The most slabs of a block that one call folds: a lane's state is loaded and stored once for all of them.
inline constexpr std::size_t max_rows = 4;

/// The elements of one call: for each row r in turn, x[r][i] of lanes first + i, i < n, where mask is null or
/// mask[r][i] is true; y and z are the second and third operand. Rows are x_row, … and mask_row bytes apart; element
/// (r, i) has index r * index_row + i + index. Row 0 is number first_row of its block.
struct FoldInput {
    std::size_t first = 0, n = 0, rows = 0;
    const void* x = nullptr;
    std::size_t x_row = 0;
    const void* y = nullptr; ///< fold_product: the other factor
    std::size_t y_row = 0;
    const void* z = nullptr;
    std::size_t z_row = 0;
    const bool* mask = nullptr;
    std::size_t mask_row = 0;
    std::int64_t index = 0, index_row = 0;
    std::int64_t first_row = 0;
};

/// The elements of a block: lanes [0, longer) folded `rows` of them, the others one less; element r of lane i has index
/// index + i + r * index_row.
struct BlockRows {
    std::int64_t rows;
    std::size_t longer;
    std::int64_t index, index_row;
};

/// A monoid over an element and an accumulator type, built-in or a user's. It keeps `lanes` lanes, state_bytes each,
/// 64-byte aligned; their layout is in host/lanes.hpp.
struct FoldKernels {
    std::size_t state_bytes;
    /// lane_count, or fewer if the monoid is exact in any order: then elements are folded into any lanes, the lanes of
    /// a FoldInput are ignored, and every `count` is `lanes`.
    std::size_t lanes;
    /// Sets the first `count` lanes, a power of two, to the identity.
    void (*identity)(void* lanes, std::size_t count);
    /// With a mask, the fold of a block's row 0 initialises the lanes.
    bool starts_masked;
    void (*fold)(void* lanes, const FoldInput& input);
    /// Null, or folds map.def's mul of x and y: the same bits as fold() of the products, without storing them.
    void (*fold_product)(void* lanes, const FoldInput& input);
    /// Null, or finish() for lanes that were folded without a mask and are not States yet (monoid.cuh: in steps, or
    /// OfBlock).
    void (*finish_unmasked)(void* lanes, std::size_t count, const BlockRows& rows, void* state);
    /// Combines the first `count` lanes, a power of two, pairwise by index, lowest bit first, into one State at
    /// `state`, the same as all lanes if the others are identities. Destroys the lanes.
    void (*finish)(void* lanes, std::size_t count, void* state);
    /// Combines the consecutive states[0 … n) into states[0], pairwise by index, lowest bit first: (0,1), (2,3), … then
    /// (01, 23), …; the last state of an odd row has no partner and is unchanged.
    void (*pairwise)(void* states, std::size_t n);
};

} // namespace gf::cpu
