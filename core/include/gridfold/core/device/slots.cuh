// Where a sweep's workspace keeps what: one slot of 64 bits a word of a block's states. Compiled by the host, which
// allocates it, and by NVRTC. Depends on prelude.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The memory of a sweep between launches: the number of the last launch, then slots. A block's words are in pairs:
/// the first pairs of all blocks, then the second ones, so that a warp that reads neighbours reads whole lines.
struct Slots {
    static constexpr int header = 16; // slots before the first pair: a cache line

    /// Slots of one block. Even, so that they can be read in pairs; but a state of one word has one.
    GRIDFOLD_FN static constexpr int of_block(int words) { return words == 1 ? 1 : (words + 1) / 2 * 2; }
    /// Slots of a block that are side by side.
    GRIDFOLD_FN static constexpr int side_by_side(int words) { return of_block(words) < 2 ? of_block(words) : 2; }
    /// The place of a block's word number `word`, of `words`, where the grid has at most `most_blocks` blocks. Even
    /// numbers only, but for states of one word.
    GRIDFOLD_FN static constexpr i64 place(i64 block, int word, int words, int most_blocks) {
        return header + i64(word) * most_blocks + block * side_by_side(words); // defect: slot
    }
    /// All of them.
    GRIDFOLD_FN static constexpr i64 count(int words, int most_blocks) {
        return header + i64(of_block(words)) * most_blocks;
    }
};

} // namespace GRIDFOLD_NAMESPACE
