// The thread blocks that share a held row: how they pass each other the states of its blocks. Those of a cluster put
// tagged words into each other's shared memory. Those of a cooperative grid, which are more than a cluster has, publish
// tagged slots in device memory, as the blocks of a whole fold do (publish.cuh); each of them collects all. Depends on
// warp_rows.cuh and publish.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The value of another lane of the warp. All threads of the warp must call it.
template <class T> GRIDFOLD_FN T shuffle_from(const T& value, u32 lane) {
    return shuffle_xor(value, warp_lane() ^ lane);
}

/// In a cluster: the states of its thread blocks, of a row and of the next, as tagged words (publish.cuh).
template <class Fold, int cluster> struct ClusterSlots {
    using State = typename Fold::Monoid::State;
    static constexpr int words = sizeof(State) / 4, side_by_side = Slots::side_by_side(words),
                         all = 2 * cluster * Slots::of_block(words);
    using Memory = SharedSlots<all, (1 << 16) + Fold::word>;

    GRIDFOLD_FN static void clear() {
#pragma unroll 1
        for (u32 i = warp_lane(); i < u32(all); i += 32) Memory::clear(i); // defect: clear slots
    }
    /// Puts a state into a slot of thread block number `block`.
    GRIDFOLD_FN static void put_in(u32 block, u32 slot, u32 tag, const State& state) {
        WordsOf<State> of;
        of.value = state;
        const auto tagged = [&](int i) { return u64(tag) << 32 | of.word[i < words ? i : 0]; };
#pragma unroll
        for (int i = 0; i < words; i += 2)
            if constexpr (words == 1)
                Memory::template put_in<cluster>(block, place(slot, i), tagged(i));
            else
                Memory::template put_in<cluster>(block, place(slot, i), tagged(i), tagged(i + 1));
    }
    /// Reads this block's slot; returns 0 if all words have the tag.
    GRIDFOLD_FN static u32 get(u32 slot, u32 tag, State& state) {
        WordsOf<State> of;
        u32 missing = 0;
#pragma unroll
        for (int i = 0; i < words; i += side_by_side) {
            u64 pair[2];
            if constexpr (words == 1)
                Memory::get(place(slot, i), pair[0]);
            else
                Memory::get(place(slot, i), pair[0], pair[1]);
#pragma unroll
            for (int n = 0; n < side_by_side; ++n) {
                missing |= u32(pair[n] >> 32) ^ tag; // defect: missing of cluster
                if (i + n < words) of.word[i + n] = u32(pair[n]);
            }
        }
        state = of.value;
        return missing;
    }

private:
    GRIDFOLD_FN static u32 place(u32 slot, int word) {
        return u32(Slots::place(slot, word, words, 2 * cluster)) - Slots::header;
    }
};

/// Of one phase and one row. A thread block's first warp calls pass(); then all threads call combine().
template <class Phase, bool = Phase::cooperates> struct RowBlocks {
    using States = typename Phase::Folds::template States<1>;
    static constexpr int cluster = Phase::cluster;

    const Phase& kernel;
    u32 turn; ///< the number of rows before

    /// This thread block's number among those of the row.
    GRIDFOLD_FN u32 rank() const { return kernel.block % cluster; }

    /// Must come before the block arrives at the barrier of the cluster after which states are passed. The first warp
    /// clears the slots.
    GRIDFOLD_FN static void clear() {
        if (warp_index() != 0) return;
        Phase::Folds::each([](auto f) { ClusterSlots<decltype(f), cluster>::clear(); });
    }
    /// Gives the first lane's states to the row's thread blocks, the cluster's first `ranks`. All threads of the warp
    /// must call it.
    GRIDFOLD_FN void pass(States& states, i32 ranks) const {
        static_assert(cluster <= 32, "a lane passes states to a thread block");
        Phase::Folds::each([&](auto f) {
            using F = decltype(f);
            const auto own = shuffle_from(F::of(states)[0], 0);
            if (i32(warp_lane()) >= ranks) return; // defect: ended block
            ClusterSlots<F, cluster>::put_in(warp_lane(), slot(rank()), tag(), own);
        });
    }
    /// The states of the row, from those of its thread blocks, for the first lane of the first warp.
    GRIDFOLD_FN void combine(States& states, i32 ranks) const {
        if (warp_index() != 0) return;
        const i32 lane = i32(warp_lane());
        u32 missing;
        do {
            missing = 0;
            Phase::Folds::each([&](auto f) {
                using F = decltype(f);
                missing |= ClusterSlots<F, cluster>::get(slot(u32(smaller(lane, ranks - 1))), tag(), F::of(states)[0]);
            });
        } while (missing != 0); // defect: polling in cluster
        reconverge();
        Phase::Folds::each([&](auto f) {
            using F = decltype(f);
#pragma unroll
            for (int distance = 1; distance < cluster; distance *= 2)
                combine_lanes<typename F::Monoid>(F::of(states)[0], distance, lane + distance < ranks); // defect: ranks
        });
    }

private:
    /// Where the state of a thread block is. Neighbouring rows have different ones: a thread block may pass on the next
    /// row's state while another still polls for this row's. None is two rows ahead: it has the next row's state of
    /// every other.
    GRIDFOLD_FN u32 slot(u32 of_rank) const {
        return turn % 2 * cluster + of_rank; // defect: cluster slot
    }
    GRIDFOLD_FN u32 tag() const { return turn + 1; }
};

/// The same in a cooperative grid. All its thread blocks run at a time, so that polling ends.
template <class Phase> struct RowBlocks<Phase, true> {
    using States = typename Phase::Folds::template States<1>;
    /// States that a thread collects.
    static constexpr int each = Phase::most_blocks > Phase::threads ? Phase::most_blocks / Phase::threads : 1;

    const Phase& kernel;
    u32 turn; ///< …

    GRIDFOLD_FN u32 rank() const { return kernel.block % Phase::cluster; }

    GRIDFOLD_FN void pass(States& states, i32) const {
        if (warp_lane() == 0) publish_block<Phase>(states, slots(), rank(), tag());
    }
    GRIDFOLD_FN void combine(States& states, i32 ranks) const {
        typename Phase::Folds::template States<each> all;
        if (has_states(ranks, each)) collect_blocks<Phase, each>(all, slots(), tag(), ranks, each);
        reconverge();
        reduce<Phase, Phase::threads, false>(all, ranks, each); // defect: all ranks
        Phase::Folds::each([&](auto f) { f.of(states)[0] = f.of(all)[0]; });
    }

private:
    GRIDFOLD_FN u32 tag() const { return kernel.tag + turn; } // defect: tag of row
    GRIDFOLD_FN Workspace slots() const {
        return {group_memory(kernel) +
                RowSlots::place(tag(), Phase::number, Phase::state_words, Phase::most_blocks, Phase::phases)};
    }
};

/// The memory of this thread block's group.
template <class Kernel> GRIDFOLD_FN u64* group_memory(const Kernel& kernel) {
    return kernel.workspace +
           kernel.block / Kernel::cluster *
               RowSlots::of_group(Kernel::state_words, Kernel::most_blocks, Kernel::phases); // defect: group
}

/// Sets the tag of the first row, one more than the group's last: the rows of a cooperating group are numbered from
/// launch to launch. Whole arrays are one row a launch, so that their tags are those of what the kernel yields.
template <class Kernel> GRIDFOLD_FN void begin_rows(Kernel& kernel) {
    if constexpr (Kernel::cooperates) kernel.tag = Workspace{group_memory(kernel)}.last_tag(true) + 1;
}
/// Ends a launch that had `rows` rows of this group. All threads of the group have read the last tag: each block has
/// published states, and passed a barrier before. The slots need no zeroes at the last tag: each row rewrites those of
/// the last but one.
template <class Kernel> GRIDFOLD_FN void end_rows(const Kernel& kernel, u32 rows) {
    if constexpr (Kernel::cooperates)
        if (kernel.block % Kernel::cluster == 0 && thread_index() == 0) {
            const u32 last = kernel.tag + rows - 1; // defect: last row
            store_relaxed(group_memory(kernel), last == 0xffffffffu ? 0 : last);
        }
}

} // namespace GRIDFOLD_NAMESPACE
