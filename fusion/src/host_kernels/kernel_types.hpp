// The function types of the CPU backend's kernels. Depends on host_kernels.hpp and on constants of order.hpp alone: the
// files that are compiled once for each instruction set include it, and share no inline function with the rest of the
// library.
#pragma once

#include <gridfold/fusion/order.hpp>
#include <gridfold/ops/host_kernels.hpp>

namespace gf::cpu {

/// Lanes of a reduction's block.
constexpr std::size_t lane_count = slab_elements;

/// The most slabs of a block that one call folds: a lane's state is loaded and stored once for all of them.
constexpr std::size_t max_rows = 4;

/// The most bytes of a State that any order serves: one scalar.
constexpr std::size_t any_order_bytes = 8;

/// out[i] = the conversion of in[i]. The arrays do not overlap, except that out may equal `in` where the sizes do.
using ConvertKernel = void (*)(void* out, const void* in, std::size_t n);

/// What one call folds: for each row r in turn, elements x[r][i] of lanes first + i, i < n, where mask is null or
/// mask[r][i] is true. Rows are x_row and mask_row bytes apart; element (r, i) has index r * index_row + i + index. Row
/// 0 is number first_row of its block.
struct FoldInput {
    std::size_t first = 0, n = 0, rows = 0;
    const void* x = nullptr;
    std::size_t x_row = 0;
    const void* y = nullptr; ///< fold_product: the other factor
    std::size_t y_row = 0;
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

/// A built-in monoid over an element and an accumulator type. Its lanes are planar: the first field of the State of all
/// lane_count lanes, then the second field of all lanes, and so on; state_bytes * lane_count bytes, 64-byte aligned. Of
/// one that any order serves there is a single State in their place, whatever lanes a FoldInput names.
struct FoldKernels {
    std::size_t state_bytes;
    bool in_any_order; ///< then every `count` is 1
    /// Of the first `count` lanes, a power of two.
    void (*identity)(void* lanes, std::size_t count);
    /// With a mask, fold of a block's row 0 starts the lanes, which hold no States yet.
    bool starts_masked;
    void (*fold)(void* lanes, const FoldInput& input);
    /// Null, or folds map.def's mul of x and y: the same bits as fold of the products, which then need no memory.
    void (*fold_product)(void* lanes, const FoldInput& input);
    /// Null, or finish for lanes that were folded without a mask and hold no States yet (monoid.cuh: in three steps, or
    /// OfBlock).
    void (*finish_unmasked)(void* lanes, std::size_t count, const BlockRows& rows, void* state);
    /// Combines the first `count` lanes, a power of two, pairwise by index, lowest bit first, into one State at
    /// `state`: what all lanes would give if the others held the identity. Destroys the lanes.
    void (*finish)(void* lanes, std::size_t count, void* state);
    /// states[0] becomes the combination of states[0 … n), in MonoidKernels::pairwise's order.
    void (*pairwise)(void* states, std::size_t n);
};

/// Writes one R: what a reduction reads off a final State.
using FinalizeKernel = void (*)(const void* state, double ddof, void* out);

} // namespace gf::cpu
