// Combining the positions of a tile: the lanes of each result through a block's shared memory, pairwise by number,
// lowest bit first; then the blocks of a part through tagged slots, in the same way. Depends on tile_states.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// States on their way from one thread to another, in two halves of a block's shared memory that are used in turn.
template <class Kernel, class State> struct Passed {
    static constexpr int words = sizeof(State) / 4;
    static constexpr int half = smaller(tile_words / 2, Kernel::Folds::widest* int(slab_elements<Kernel>));
    static constexpr i32 capacity = half / words; ///< states
    using Memory = Shared<u32, 2 * half, 0>;

    GRIDFOLD_FN static void put(u32 turn, i32 slot, const State& state) {
        WordsOf<State> of;
        of.value = state;
#pragma unroll
        for (int i = 0; i < words; ++i) Memory::put(turn % 2 * half + u32(i * capacity + slot), of.word[i]);
    }
    GRIDFOLD_FN static State get(u32 turn, i32 slot) {
        WordsOf<State> of;
#pragma unroll
        for (int i = 0; i < words; ++i) of.word[i] = Memory::get(turn % 2 * half + u32(i * capacity + slot));
        return of.value;
    }
};

/// combine_lanes_of() where a tile's states do not fit into shared memory: level by level.
template <class Kernel>
GRIDFOLD_FN void combine_by_levels(States<Kernel, Kernel::width>& states, const Tile<Kernel>& tile,
                                   const PositionPlace (&places)[Kernel::width], i32 lanes, i32 each,
                                   i32 positions_end) {
    constexpr int width = Kernel::width;
    const i32 own = first_position<Kernel>(), slots = tile.slots();
    u32 turn = 0; // the uses of shared memory
#pragma unroll 1
    for (i32 distance = each; distance < lanes; distance *= 2) // defect: level
        Kernel::Folds::each([&](auto f) {
            using Monoid = typename decltype(f)::Monoid;
            using Passed = Passed<Kernel, typename Monoid::State>;
#pragma unroll 1
            for (i32 window = 0; window < slots; window += Passed::capacity, ++turn) { // defect: windows
                const auto is_inside = [&](i32 slot) {
                    return u32(slot - window) < u32(Passed::capacity); // defect: window
                };
#pragma unroll
                for (int n = 0; n < width; ++n) {
                    const PositionPlace& at = places[n];
                    const bool sends = (at.lane & (2 * distance - 1)) == distance && own + n < positions_end;
                    if (sends && is_inside(at.slot)) Passed::put(turn, at.slot - window, f.of(states)[n]);
                }
                barrier(); // defect: levels barrier
#pragma unroll
                for (int n = 0; n < width; ++n) {
                    const PositionPlace& at = places[n];
                    const i32 partner = at.slot + distance * tile.box_results; // defect: partner slot
                    const bool receives = (at.lane & (2 * distance - 1)) == 0 && at.lane + distance < lanes;
                    if (receives && own + n < positions_end && is_inside(partner))
                        Monoid::combine(f.of(states)[n], Passed::get(turn, partner - window));
                }
            }
        });
}

/// Combines the lanes of each result of a tile. All threads of the block must call it.
template <class Kernel>
GRIDFOLD_FN void combine_lanes_of(const Kernel& kernel, States<Kernel, Kernel::width>& states, const Tile<Kernel>& tile,
                                  const PositionPlace (&places)[Kernel::width], i32 lanes, OwnResults<Kernel>& own) {
    constexpr int width = Kernel::width;
    const i32 positions_end = lanes * tile.results, first = first_position<Kernel>();
#pragma unroll
    for (int n = 0; n < width; ++n) {
        const bool has_result = places[n].lane == 0 && first + n < positions_end;
        own.number[n] = has_result ? places[n].result : -1; // defect: has result
    }
    i32 each = 1;
    // Where a thread's positions are neighbouring lanes of one result, it combines them by itself.
    if constexpr (Kernel::dims % 2 == 1)
        if (kernel.boxes.box[Kernel::dims - 1] % width == 0) {
            const i32 count = smaller(lanes - places[0].lane, width); // defect: own lanes
            if (first < positions_end)
                Kernel::Folds::each([&](auto f) { reduce_thread<typename decltype(f)::Monoid>(f.of(states), count); });
            each = width; // defect: first distance
        }
    if (lanes <= each) return;
    if constexpr (TileStates<Kernel>::fit) {
        const TileStates<Kernel> memory(tile.results);
#pragma unroll
        for (int n = 0; n < width; ++n)
            if (first + n < positions_end && (places[n].lane & (each - 1)) == 0)
                Kernel::Folds::each(
                    [&](auto f) { memory.put(f, memory.slot(places[n].lane, places[n].result), f.of(states)[n]); });
        combine_in_memory(memory, lanes, each, states, own);
    } else {
        combine_by_levels(states, tile, places, lanes, each, positions_end);
    }
}

/// Combines the states of a part's blocks, pairwise by number, lowest bit first. The last block of each pair waits for
/// the other one, which started before it. Returns true in the part's last block, which then has all states.
template <class Kernel>
GRIDFOLD_FN bool combine_blocks(States<Kernel, Kernel::width>& states, const OwnResults<Kernel>& own, u32 block,
                                u32 blocks, const Exchange<Kernel>& exchange, u32 tag) {
    constexpr int width = Kernel::width;
    constexpr int together = Kernel::Folds::words * width <= 8 ? width : 1; // awaited together if registers hold them
#pragma unroll 1
    for (u32 distance = 1; distance < blocks; distance *= 2) {
        const u32 pair = block / distance;
        if (pair % 2 == 0) {
            if ((pair + 1) * distance >= blocks) continue; // nothing to combine with // defect: alone
#pragma unroll
            for (int n = 0; n < width; ++n)
                if (own.number[n] >= 0) exchange.publish(states, n, block, own.number[n], tag); // defect: publish part
            return false;
        }
#pragma unroll
        for (int begin = 0; begin < width; begin += together) {
            States<Kernel, together> left;
            u32 missing;
            do {
                missing = 0;
#pragma unroll
                for (int n = 0; n < together; ++n)
                    if (own.number[begin + n] >= 0)
                        missing |= exchange.collect(left, n, pair * distance - 1, own.number[begin + n],
                                                    tag); // defect: left
            } while (missing != 0);                       // defect: wait for left
            Kernel::Folds::each([&](auto f) {
#pragma unroll
                for (int n = 0; n < together; ++n)
                    if (own.number[begin + n] >= 0) {
                        decltype(f)::Monoid::combine(f.of(left)[n], f.of(states)[begin + n]);
                        f.of(states)[begin + n] = f.of(left)[n];
                    }
            });
        }
    }
    return true;
}

} // namespace GRIDFOLD_NAMESPACE
