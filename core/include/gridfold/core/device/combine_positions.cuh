// Combining the positions of a tile: the lanes of each result through a block's shared memory, pairwise by number,
// lowest bit first; then the blocks of a part through tagged slots, in the same way. Depends on tile_states.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The lanes of a result that are left of `lanes` after `level` levels.
GRIDFOLD_FN i32 lanes_left(i32 lanes, i32 level) { return (lanes + (1 << level) - 1) >> level; }

/// Combines the lanes 0, 2^level, 2·2^level … of each result of a tile, of some folds: pairs of neighbours, whose even
/// one a thread has, until there are 2^fits between lanes; the rest in shared memory.
template <class Folds, class Kernel>
GRIDFOLD_FN void combine_lanes_of_folds(States<Kernel, Kernel::width>& states, const Tile<Kernel>& tile,
                                        const PositionPlace (&places)[Kernel::width], i32 lanes, i32 level, i32 fits,
                                        OwnResults<Kernel>& own) {
    constexpr int width = Kernel::width;
    const TileStates<Kernel, Folds> memory(tile.results);
    const i32 there = lanes * tile.results - first_position<Kernel>(); // of the thread's positions, if it has so many
    const auto slot = [&](int n) { return memory.slot(places[n].lane >> level, places[n].result); };
    const auto is_multiple = [&](int n) { return (places[n].lane & ((1 << level) - 1)) == 0; };
    while (!TileStates<Kernel>::fit && level < fits) {
        const i32 distance = 1 << level;
        ++level;
        const u32 slots = u32(lanes_left(lanes, level) * tile.results);
#pragma unroll 1
        for (u32 window = 0; window < slots; window += memory.room) { // defect: windows
            const auto is_inside = [&](int n) { return n < there && slot(n) - window < memory.room; }; // defect: window
            barrier(); // defect: windows barrier
#pragma unroll
            for (int n = 0; n < width; ++n)
                if ((places[n].lane & (2 * distance - 1)) == distance && is_inside(n))
                    Folds::each([&](auto f) { memory.put(f, slot(n) - window, f.of(states)[n]); });
            barrier(); // defect: pairs barrier
#pragma unroll
            for (int n = 0; n < width; ++n)
                if (is_multiple(n) && places[n].lane + distance < lanes && is_inside(n)) // defect: has partner
                    Folds::each([&](auto f) {
                        decltype(f)::Monoid::combine(f.of(states)[n], memory.get(f, slot(n) - window));
                    });
        }
    }
    if (lanes <= 1 << level) return;
    // Where pairs have combined, each thread puts into slots that it alone has read.
    if constexpr (Folds::words < Kernel::Folds::words)
        barrier(); // the fold before uses the same memory // defect: reuse
#pragma unroll
    for (int n = 0; n < width; ++n)
        if (is_multiple(n) && n < there) Folds::each([&](auto f) { memory.put(f, slot(n), f.of(states)[n]); });
    combine_in_memory(memory, lanes_left(lanes, level), states, own); // defect: lanes in memory
}

/// Combines the lanes of each result of a tile: all folds at once, if shared memory has room for half of their states.
/// All threads of the block must call it.
template <class Kernel>
GRIDFOLD_FN void combine_lanes_of(const Kernel& kernel, States<Kernel, Kernel::width>& states, const Tile<Kernel>& tile,
                                  const PositionPlace (&places)[Kernel::width], i32 lanes, OwnResults<Kernel>& own) {
    using Folds = typename Kernel::Folds;
    constexpr int width = Kernel::width;
    const i32 positions_end = lanes * tile.results, first = first_position<Kernel>();
#pragma unroll
    for (int n = 0; n < width; ++n) {
        const bool has_result = places[n].lane == 0 && first + n < positions_end;
        own.number[n] = has_result ? places[n].result : -1; // defect: has result
    }
    i32 level = 0;
    // Where a thread's positions are neighbouring lanes of one result, it combines them by itself.
    if constexpr (Kernel::dims % 2 == 1)
        if (kernel.boxes.box[Kernel::dims - 1] % width == 0) {
            const i32 count = smaller(lanes - places[0].lane, width); // defect: own lanes
            if (first < positions_end)
                Folds::each([&](auto f) { reduce_thread<typename decltype(f)::Monoid>(f.of(states), count); });
            level = log2_of(width); // defect: first level
        }
    constexpr bool together = Folds::words * int(slab_elements<Kernel>) <= 2 * tile_words;
    constexpr i32 room = TileStates<Kernel>::memory_words / (together ? Folds::words : Folds::widest);
    i32 fits = level;
    while (!TileStates<Kernel>::fit && 1 << fits < lanes && lanes_left(lanes, fits) * tile.results > room) ++fits;
    if constexpr (together)
        combine_lanes_of_folds<Folds>(states, tile, places, lanes, level, fits, own);
    else
        Folds::each([&](auto f) {
            combine_lanes_of_folds<FoldList<decltype(f)>>(states, tile, places, lanes, level, fits, own);
        });
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
