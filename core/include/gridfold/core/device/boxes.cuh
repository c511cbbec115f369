// The course of boxes: folds that keep any dims. A thread block takes a tile at a time: a part, or several small ones
// side by side. Each thread keeps the states of `width` positions of the tile's boxes through all slabs of its block;
// then the positions of each result combine through shared memory, and blocks through tagged slots. Depends on
// exchange.cuh and positions.cuh.
//
// The generated text defines the Kernel (kernel.cuh), with these members besides:
//   dims                                 of Boxes; an odd number if the innermost dim is folded
//   Boxes<dims> boxes
//   i64 parts, slabs, part_blocks        of all batches; of a part; blocks that fold a part
//   i64 sharing                          the parts of a tile; 1 unless a part is one slab
//   i64 results                          of all parts
//   u64* workspace                       PartSlots of each part if part_blocks > 1
//   finish(states, result)               writes a result
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// Folds a block's slabs of a tile: block b of G folds the slabs s with s mod G = b. Returns the number of lanes of a
/// result that it has folded.
template <class Kernel>
GRIDFOLD_FN i32 fold_tile(const Kernel& kernel, Positions<Kernel>& positions, const Tile<Kernel>& tile, i64 block,
                          const PositionPlace (&places)[Kernel::width]) {
    constexpr int width = Kernel::width, in_flight = Kernel::in_flight;
    const i32 own = i32(thread_index()) * width; // the thread's first position
    i32 lanes = 0;
#pragma unroll 1
    for (i64 slab = block; slab < kernel.slabs; slab += in_flight * kernel.part_blocks) { // defect: next slabs
        i64 first[in_flight], index[in_flight];
        i32 count[in_flight];
        bool aligned = kernel.aligned;
#pragma unroll
        for (int u = 0; u < in_flight; ++u) {
            const i64 number = slab + u * kernel.part_blocks;
            first[u] = index[u] = count[u] = 0;
            if (number < kernel.slabs) {
                const auto at = kernel.boxes.slab(number);
                const i64 element = tile.element + at.element;
                first[u] = element + own;
                index[u] = at.index;
                count[u] = larger_of(smaller(at.lanes * tile.results - own, width), 0); // defect: count of slab
                aligned = aligned && element % width == 0;                              // defect: slab aligned
                lanes = larger_of(lanes, at.lanes);
            }
        }
        const auto fold_batch = [&](auto packs) {
            typename Kernel::Loads loads[in_flight];
#pragma unroll
            for (int u = 0; u < in_flight; ++u) {
                const bool whole = count[u] == width;
                if constexpr (packs()) load_if(whole, kernel, loads[u], first[u]);
                if (whole) {
                    if constexpr (packs())
                        gather<true>(kernel, loads[u], first[u], width);
                    else
                        load<false, true>(kernel, loads[u], first[u], width);
                }
            }
#pragma unroll
            for (int u = 0; u < in_flight; ++u) {
                if (count[u] == width) {
                    fold_positions<true>(kernel, positions, places, loads[u], first[u], index[u], width,
                                         packs() && kernel.stores_aligned);
                } else if (count[u] > 0) { // defect: rest of slab
                    load<false, false>(kernel, loads[u], first[u], count[u]);
                    fold_positions<false>(kernel, positions, places, loads[u], first[u], index[u], count[u], false);
                }
            }
        };
        if (aligned)
            fold_batch(Choice<true>{});
        else
            fold_batch(Choice<false>{});
    }
    return lanes;
}

/// States on their way from one thread to another, in two halves of a block's shared memory that are used in turn.
template <class Kernel, class State> struct Passed {
    static constexpr int words = sizeof(State) / 4;
    static constexpr int most = 12288; // words: 48 KiB
    static constexpr int half = smaller(most / 2, Kernel::Folds::widest* int(slab_elements<Kernel>));
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

/// Combines the lanes of each result of a tile, pairwise by number, lowest bit first; the position of lane 0 gets the
/// state. `turn` counts the uses of shared memory. All threads of the block must call it.
template <class Kernel>
GRIDFOLD_FN void combine_positions(const Kernel& kernel, Positions<Kernel>& positions, const Tile<Kernel>& tile,
                                   const PositionPlace (&places)[Kernel::width], i32 lanes, u32& turn) {
    constexpr int width = Kernel::width;
    const i32 own = i32(thread_index()) * width;
    const i32 slots = tile.slots(), positions_end = lanes * tile.results;
    i32 distance = 1;
    // Where a thread's positions are neighbouring lanes of one result, it combines them by itself.
    if constexpr (Kernel::dims % 2 == 1)
        if (kernel.boxes.box[Kernel::dims - 1] % width == 0) {
            const i32 count = smaller(lanes - places[0].lane, width); // defect: own lanes
            if (own < positions_end)
                Kernel::Folds::each(
                    [&](auto f) { reduce_thread<typename decltype(f)::Monoid>(f.of(positions), count); });
            distance = width; // defect: first distance
        }
#pragma unroll 1
    for (; distance < lanes; distance *= 2) // defect: level
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
                    if (sends && is_inside(at.slot)) Passed::put(turn, at.slot - window, f.of(positions)[n]);
                }
                barrier(); // defect: positions barrier
#pragma unroll
                for (int n = 0; n < width; ++n) {
                    const PositionPlace& at = places[n];
                    const i32 partner = at.slot + distance * tile.box_results; // defect: partner slot
                    const bool receives = (at.lane & (2 * distance - 1)) == 0 && at.lane + distance < lanes;
                    if (receives && own + n < positions_end && is_inside(partner))
                        Monoid::combine(f.of(positions)[n], Passed::get(turn, partner - window));
                }
            }
        });
}

/// Combines the states of a part's blocks, pairwise by number, lowest bit first. The last block of each pair waits for
/// the other one, which started before it. Returns true in the part's last block, which then has all states.
template <class Kernel>
GRIDFOLD_FN bool combine_blocks(Positions<Kernel>& states, const PositionPlace (&places)[Kernel::width],
                                const bool (&has_result)[Kernel::width], u32 block, u32 blocks,
                                const Exchange<Kernel>& exchange, u32 tag) {
    constexpr int width = Kernel::width;
    for (u32 distance = 1; distance < blocks; distance *= 2) {
        const u32 pair = block / distance;
        if (pair % 2 == 0) {
            if ((pair + 1) * distance >= blocks) continue; // nothing to combine with // defect: alone
#pragma unroll
            for (int n = 0; n < width; ++n)
                if (has_result[n]) exchange.publish(states, n, block, places[n].result, tag); // defect: publish part
            return false;
        }
        // The states of all results are awaited together if registers hold them.
        constexpr int together = Kernel::Folds::words * width <= 16 ? width : 1;
#pragma unroll
        for (int begin = 0; begin < width; begin += together) {
            States<Kernel, together> left;
            u32 missing;
            do {
                missing = 0;
#pragma unroll
                for (int n = 0; n < together; ++n)
                    if (has_result[begin + n])
                        missing |= exchange.collect(left, n, pair * distance - 1, places[begin + n].result,
                                                    tag); // defect: left
            } while (missing != 0);                       // defect: wait for left
            Kernel::Folds::each([&](auto f) {
#pragma unroll
                for (int n = 0; n < together; ++n)
                    if (has_result[begin + n]) {
                        decltype(f)::Monoid::combine(f.of(left)[n], f.of(states)[begin + n]);
                        f.of(states)[begin + n] = f.of(left)[n];
                    }
            });
        }
    }
    return true;
}

/// Folds a tile with the other blocks whose items are of this tile. `ends`: the block has no tile after it.
template <class Kernel> GRIDFOLD_FN void sweep_tile(const Kernel& kernel, i64 number, i64 block, bool ends, u32& turn) {
    constexpr int width = Kernel::width;
    const Tile<Kernel> tile(kernel, number);
    const Exchange<Kernel> exchange(kernel, number, tile.box_results);
    // Loaded early and used after the folds, so that its latency overlaps with them.
    const u32 last_tag = exchange.last_tag(kernel.part_blocks > 1);
    PositionPlace places[width];
    const auto find_places = [&] {
        u32 own = thread_index() * width;
        keep(own); // finds them again after the folds, instead of holding them in registers
#pragma unroll
        for (int n = 0; n < width; ++n) places[n] = tile.place(kernel, own + u32(n));
    };
    find_places();
    Positions<Kernel> positions;
    clear_positions<Kernel>(positions);
    const i32 lanes = fold_tile(kernel, positions, tile, block, places);
    if (ends) let_next_kernel_start();
    find_places();
    combine_positions(kernel, positions, tile, places, lanes, turn);

    bool has_result[width];
#pragma unroll
    for (int n = 0; n < width; ++n) {
        const i32 position = i32(thread_index()) * width + n;
        has_result[n] = places[n].lane == 0 && position < lanes * tile.results; // defect: has result
    }
    const u32 tag = last_tag + 1u; // defect: part's tag
    if (kernel.part_blocks > 1 &&
        !combine_blocks<Kernel>(positions, places, has_result, u32(block), u32(kernel.part_blocks), exchange, tag))
        return;
#pragma unroll
    for (int n = 0; n < width; ++n)
        if (has_result[n]) {
            States<Kernel, 1> one;
            Kernel::Folds::each([&](auto f) { f.of(one)[0] = f.of(positions)[n]; });
            kernel.finish(one, tile.result + places[n].result); // defect: finish result
        }
    if (kernel.part_blocks > 1) exchange.advance(tag);
}

/// The whole kernel. Block b takes the items b, b + blocks …; item i is block i mod G of tile i / G, so that a block
/// polls only blocks that started before it.
template <class Kernel> GRIDFOLD_FN void sweep_boxes(Kernel& kernel) {
    static_assert(is_kernel_of_parts<Kernel>());
    kernel.aligned = loads_are_aligned(kernel);
    kernel.stores_aligned = stores_are_aligned(kernel);
    kernel.prologue();
    wait_for_previous_kernel();
    kernel.read_scalars();
    if (kernel.slabs == 0) return finish_empty(kernel);
    const i64 tiles = (kernel.parts + kernel.sharing - 1) / kernel.sharing; // defect: tiles
    const i64 items = tiles * kernel.part_blocks;
    u32 turn = 0;
#pragma unroll 1
    for (i64 item = kernel.block; item < items; item += kernel.blocks) {
        i64 tile = item;
        const i64 block = take_digit(tile, kernel.part_blocks);
        sweep_tile(kernel, tile, block, item + kernel.blocks >= items, turn);
    }
}

} // namespace GRIDFOLD_NAMESPACE
