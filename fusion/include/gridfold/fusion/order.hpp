// The canonical order of a reduction: it follows from the number of elements alone, so that every
// backend, device and plan gives the same bits.
//
// A slab is slab_elements consecutive elements; lane = element index mod slab_elements; slab s belongs to block s mod
// G. Each lane of a block folds its elements in increasing order; lanes, then blocks, combine pairwise by index, lowest
// bit first.
//
// Backends and host kernels take every number of the order from here. Host kernels, which are compiled once for each
// instruction set and share no function, use its constants only.
#pragma once

#include <cstdint>

namespace gf {

/// Raised by every change of the order that changes the bits of some result. explain() prints it.
inline constexpr int order_version = 1;

/// The elements of a slab, which are the lanes of a block.
inline constexpr std::int64_t slab_elements = 2048;

/// The most blocks of one reduction. On an H200 256 blocks reach the bandwidth of any larger grid, and what a block
/// costs to combine is paid 256 times, not more (bench/NOTES.md).
inline constexpr std::int64_t max_blocks = 256;

constexpr std::int64_t slab_count(std::int64_t elements) { return (elements + slab_elements - 1) / slab_elements; }

/// As many slabs as one block folds alone.
inline constexpr std::int64_t one_block_slabs = 5;

/// G: the blocks that fold this many elements. Small sums are latency: one block as long as it reads memory once or
/// twice, then two slabs a block. From a hundred blocks on, a second block for each multiprocessor must be worth what
/// it costs to combine: eight slabs.
constexpr std::int64_t block_count(std::int64_t elements) {
    const std::int64_t slabs = slab_count(elements);
    if (slabs <= one_block_slabs) return 1;
    const std::int64_t few = (slabs + 1) / 2, many = (slabs + 7) / 8;
    const std::int64_t wanted = few < max_blocks / 2 ? few : many < max_blocks / 2 ? max_blocks / 2 : many;
    return wanted < max_blocks ? wanted : max_blocks;
}

/// How a fold of so many elements is divided.
struct FoldOrder {
    std::int64_t lanes;  ///< partial results of a block; those that no element reaches take no part
    std::int64_t blocks; ///< G
    friend constexpr bool operator==(const FoldOrder&, const FoldOrder&) = default;
};
constexpr FoldOrder fold_order(std::int64_t elements) { return {slab_elements, block_count(elements)}; }

} // namespace gf
