// The layout of a sweep's workspace: one 64-bit slot for each word of a block's states. Compiled by the host, which
// allocates it, and by NVRTC. Depends on prelude.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The memory of a sweep between launches: the number of the last launch, then slots. Words are stored in pairs: the
/// first pairs of all blocks, then all second pairs, so that a warp that reads neighbouring blocks reads whole lines.
struct Slots {
    static constexpr int header = 16; // slots before the first pair: a cache line

    /// Slots of one block: 1 for a state of one word, else even, so that they can be read in pairs.
    GRIDFOLD_FN static constexpr int of_block(int words) { return words == 1 ? 1 : (words + 1) / 2 * 2; }
    /// Neighbouring slots of one block.
    GRIDFOLD_FN static constexpr int side_by_side(int words) { return of_block(words) < 2 ? of_block(words) : 2; }
    /// The slot of word number `word` of a block's `words`, in a grid of at most `most_blocks` blocks. `word` is even.
    GRIDFOLD_FN static constexpr i64 place(i64 block, int word, int words, int most_blocks) {
        return header + i64(word) * most_blocks + block * side_by_side(words); // defect: slot
    }
    /// All slots, the header included.
    GRIDFOLD_FN static constexpr i64 count(int words, int most_blocks) {
        return header + i64(of_block(words)) * most_blocks;
    }
};

/// The layout where groups of thread blocks share rows: for each group the number of its last row, then Slots for each
/// phase of an even row and of an odd one. A block may publish the states of the next row while others still read this
/// row's. `words`: of all phases.
struct RowSlots {
    GRIDFOLD_FN static constexpr i64 of_group(int words, int most_blocks, int phases) {
        return Slots::header + i64(2 * phases) * Slots::count(words, most_blocks);
    }
    /// The first of a phase's Slots, in the group's.
    GRIDFOLD_FN static constexpr i64 place(u32 row, int phase, int words, int most_blocks, int phases) {
        return Slots::header + i64(i32(row % 2) * phases + phase) * Slots::count(words, most_blocks); // defect: row's
    }
};

} // namespace GRIDFOLD_NAMESPACE
