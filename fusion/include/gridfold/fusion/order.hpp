// The canonical order of a reduction. It depends only on the number of elements, so that every backend, device and plan
// gives the same bits.
//
// A slab is slab_elements consecutive elements; lane = element index mod slab_elements; slab s belongs to block s mod
// G. Each lane of a block folds its elements in increasing order; lanes, then blocks, combine pairwise by index, lowest
// bit first.
//
// This header defines every number of the order. Host kernels, which are compiled once for each instruction set and may
// share no function, use only its constants.
#pragma once

#include <cstdint>

namespace gf {

/// Incremented by every change of the order that changes the bits of any result. explain() prints it.
inline constexpr int order_version = 1;

/// The same for the elementary functions, whose text is in core/device/functions.
inline constexpr int function_version = 1;

/// The elements of a slab, and the lanes of a block.
inline constexpr std::int64_t slab_elements = 2048;

/// The most blocks of one reduction. On an H200, 256 blocks reach the bandwidth of any larger grid, and each block
/// costs time to combine (bench/NOTES.md).
inline constexpr std::int64_t max_blocks = 256;

constexpr std::int64_t slab_count(std::int64_t elements) { return (elements + slab_elements - 1) / slab_elements; }

/// The most slabs that one block folds alone.
inline constexpr std::int64_t one_block_slabs = 5;

/// G: the number of blocks that fold `elements` elements. Latency dominates small sums: one block up to
/// one_block_slabs, then two slabs a block. From 128 blocks on, a second block on a multiprocessor costs more to
/// combine than it saves, unless each block folds eight slabs.
constexpr std::int64_t block_count(std::int64_t elements) {
    const std::int64_t slabs = slab_count(elements);
    if (slabs <= one_block_slabs) return 1;
    const std::int64_t few = (slabs + 1) / 2, many = (slabs + 7) / 8;
    const std::int64_t wanted = few < max_blocks / 2 ? few : many < max_blocks / 2 ? max_blocks / 2 : many;
    return wanted < max_blocks ? wanted : max_blocks;
}

/// The division of a fold into lanes and blocks.
struct FoldOrder {
    std::int64_t lanes;  ///< partial results of a block; lanes without elements are not combined
    std::int64_t blocks; ///< G
    friend constexpr bool operator==(const FoldOrder&, const FoldOrder&) = default;
};
constexpr FoldOrder fold_order(std::int64_t elements) { return {slab_elements, block_count(elements)}; }

} // namespace gf
