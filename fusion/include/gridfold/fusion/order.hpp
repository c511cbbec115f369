// The canonical order of a reduction: it follows from the number of elements alone, so that every
// backend, device and plan gives the same bits.
//
// A slab is 2,048 consecutive elements; lane = element index mod 2,048; slab s belongs to block s mod G. Each lane of
// a block folds its elements in increasing order; lanes, then blocks, combine pairwise by index, lowest bit first.
#pragma once

#include <cstdint>

namespace gf {

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

} // namespace gf
