// The course of columns: folds down the columns of arrays. A thread block takes a tile: a strip of neighbouring columns
// of one batch and some neighbouring blocks of the order; or, where a strip is all columns of a batch, the strips of
// several batches. Each thread folds `width` columns through the rows of its lanes. The lanes of neighbouring blocks
// have neighbouring numbers: they combine in registers and through shared memory; then the thread blocks of a strip
// combine through tagged slots. Depends on tile_states.cuh.
//
// The columns of a thread are a pack, where rows are whole packs. Other rows begin anywhere in a pack. If all rows of
// a lane begin at the same place, a kernel is `staggered`: a thread's columns are a pack of memory, and lie elsewhere
// in each lane. Else its columns are `apart` from each other, so that the threads of a warp read neighbours.
//
// The generated text defines the Kernel (kernel.cuh), with these members besides:
//   one_lane, lanes_each, few_slabs, staggered, apart   (kernel.cuh)
//   i64 rows, columns         the extents of the folded and of the kept dim; columns is a multiple of `width`, unless
//                             staggered or apart; if apart, as many as a strip has, or more
//   i64 slab_rows             lanes: the rows of a slab
//   i64 part_blocks           blocks of the order
//   i64 strip_packs, strips   packs of a row in a strip, each with a thread: a multiple of `apart`; if staggered, one
//                             more than the strip's columns fill; strips of a row
//   i64 together              blocks of the order that a thread block folds
//   i64 strip_blocks          thread blocks that fold a strip
//   i64 sharing               strips of a tile; 1 if staggered, or unless `strips` and strip_blocks are 1
//   i64 results               of all strips
//   u64* workspace            PartSlots of each strip if strip_blocks > 1
//   Results, each_result(), finish()   as in boxes.cuh
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// A thread block's tile, and what this thread folds of it.
template <class Kernel> struct TileOfColumns {
    i64 result;       ///< the number of its first; the others follow
    i32 results;      ///< of all its strips
    i32 lines;        ///< the threads that fold lanes of a result, of all blocks of the order that are together
    i32 line, own;    ///< this thread's number among them; number(0)
    i32 lanes;        ///< of this thread; fewer than `lanes_each` at the end
    bool takes_part;  ///< false if the thread has no elements
    i64 row, element; ///< the thread's first

    /// `group`: the thread block's number among those of the strip.
    GRIDFOLD_FN TileOfColumns(const Kernel& kernel, i64 tile, u32 group) {
        constexpr int width = Kernel::width, each = Kernel::lanes_each;
        constexpr u32 apart = Kernel::apart;
        const u32 packs = u32(kernel.strip_packs);
        const u32 all = u32(kernel.together * kernel.slab_rows); // lanes of a result in a whole tile
        const u32 all_lines = (all + each - 1) / each;
        const i32 of_strip = (i32(packs) - i32(Kernel::staggered)) * width; // results
        i64 batch = tile * kernel.sharing;
        i64 column = take_digit(batch, kernel.strips) * of_strip;
        // All strips are whole: the last overlaps the one before, and finds the same results.
        if constexpr (apart > 1) column = smaller(column, kernel.columns - of_strip); // defect: last strip
        result = batch * kernel.columns + column;
        const i64 left = kernel.sharing > 1 ? kernel.results - result : kernel.columns - column;
        results = i32(smaller(left, kernel.sharing * of_strip)); // defect: results of strips

        const i64 first_row = i64(group) * all, end = smaller(kernel.rows, kernel.part_blocks * kernel.slab_rows);
        const i32 present = i32(smaller(end - first_row, i64(all))); // defect: lanes of strip
        lines = (present + each - 1) / each;
        u32 thread = thread_index();
        keep(thread); // finds its place again after the folds, instead of holding it in registers
        const u32 place = thread / packs, pack = thread - place * packs, turn = place / all_lines;
        line = i32(place - turn * all_lines);
        lanes = smaller(present - line * each, each);
        i32 of_row = i32(pack / apart * apart * width + pack % apart); // its first column // defect: own column
        row = first_row + i64(line) * each;
        element = ((batch + turn) * kernel.rows + row) * kernel.columns + column;
        if constexpr (Kernel::staggered) of_row -= i32(u32(element) % width); // defect: staggered pack
        own = i32(turn) * of_strip + of_row;
        element += of_row;
        takes_part = line < lines && own < results;            // defect: takes part
        if (Kernel::staggered && turn > 0) takes_part = false; // defect: threads left over
    }
    /// The number of column n of this thread among the tile's results, if it is one of them.
    GRIDFOLD_FN i32 number(int n) const { return own + n * Kernel::apart; }
    GRIDFOLD_FN bool has(int n) const {
        return !Kernel::staggered || (0 <= number(n) && number(n) < results); // defect: columns of strip
    }
};

/// Reads the pack that begins at element `first` of arrays of `all` elements one by one: the last again for those that
/// are behind it.
template <class Kernel>
GRIDFOLD_FN void load_last_pack(const Kernel& kernel, typename Kernel::Loads& loads, i64 first, i64 all) {
    Kernel::each_array(
        [&](auto* p, auto& pack) {
#pragma unroll
            for (int n = 0; n < Kernel::width; ++n) pack[n] = p[smaller(first + n, all - 1)]; // defect: last pack
        },
        kernel, loads);
}

/// Folds the rows of a thread's lane number `lane`, several in flight. A lane after its last has none: its rows are
/// other threads', which may store their elements in place.
template <class Kernel>
GRIDFOLD_FN void fold_lane(const Kernel& kernel, Positions<Kernel>& positions, const TileOfColumns<Kernel>& tile,
                           int lane) {
    constexpr int in_flight = SlabsInFlight<Kernel>::count;
    constexpr PositionPlace places[Kernel::width] = {}; // a thread's positions have one lane, whose number is the row's
    const i64 step = kernel.part_blocks * kernel.slab_rows, step_element = step * kernel.columns;
    i64 row = tile.takes_part && lane < tile.lanes ? tile.row + lane : kernel.rows; // defect: row of lane
    i64 element = tile.element + lane * kernel.columns;
    const auto slab = [&](int u) {
        return SlabOfTile{element + u * step_element, row + u * step, Kernel::width}; // defect: row in flight
    };
    // Rows before `whole` have all of the thread's pack; in the last, a staggered one may end behind the array.
    const i64 all = kernel.results * kernel.rows, in_last = element + (kernel.rows - 1 - row) * kernel.columns;
    const bool ends_behind = Kernel::staggered && in_last + Kernel::width > all; // defect: whole packs
    const i64 whole = kernel.rows - i64(ends_behind);
#pragma unroll 1
    for (; !Kernel::few_slabs && row + (in_flight - 1) * step < whole; // defect: batches of rows
         row += in_flight * step, element += in_flight * step_element) {
        SlabsInFlight<Kernel> slabs;
#pragma unroll
        for (int u = 0; u < in_flight; ++u) slabs.read(true, kernel, u, slab(u).first);
#pragma unroll
        for (int u = 0; u < in_flight; ++u)
            fold_positions<true, true>(kernel, positions, places, slabs.take(kernel, u, 0), slab(u), 0);
    }
    if (!Kernel::few_slabs && ((in_flight == 1 && !Kernel::staggered) || row >= kernel.rows)) return;
    const auto is_left = [&](int u) { return row + u * step < kernel.rows; }; // defect: rows left
    SlabsInFlight<Kernel> slabs;
#pragma unroll
    for (int u = 0; u < in_flight; ++u) slabs.read(row + u * step < whole, kernel, u, slab(u).first);
    if constexpr (Kernel::staggered)
#pragma unroll
        for (int u = 0; u < in_flight; ++u)
            if (is_left(u) && row + u * step >= whole)
                load_last_pack(kernel, slabs.batch.loads[u], slab(u).first, all); // defect: read last pack
#pragma unroll
    for (int u = 0; u < in_flight; ++u)
        if (is_left(u)) fold_positions<true, true>(kernel, positions, places, slabs.take(kernel, u, 0), slab(u), 0);
}

/// Folds a thread's lanes, and combines them pairwise by number, as a binary counter carries.
template <class Kernel>
GRIDFOLD_FN void fold_lanes(const Kernel& kernel, States<Kernel, Kernel::width>& states,
                            const TileOfColumns<Kernel>& tile) {
    constexpr int levels = log2_of(Kernel::lanes_each);
    States<Kernel, Kernel::width> pending[levels + 1]; // of as many lanes as the level's bit counts
    constexpr int unrolled = Kernel::few_slabs ? Kernel::lanes_each : 1;
#pragma unroll unrolled
    for (int lane = 0; lane < Kernel::lanes_each; ++lane) {
        Positions<Kernel> positions;
        clear_positions<Kernel>(positions);
        fold_lane(kernel, positions, tile, lane);
        close_positions<Kernel>(positions, states);
        bool carries = true;
#pragma unroll
        for (int level = 0; level < levels; ++level) {
            if (!carries) continue;
            carries = (lane >> level & 1) != 0; // defect: carries of lanes
            if (!carries) {
                pending[level] = states;
                continue;
            }
            Kernel::Folds::each([&](auto f) {
#pragma unroll
                for (int n = 0; n < Kernel::width; ++n) {
                    auto& left = f.of(pending[level])[n];
                    if (lane + 1 - (1 << level) < tile.lanes) // defect: right lanes
                        decltype(f)::Monoid::combine(left, f.of(states)[n]);
                    f.of(states)[n] = left;
                }
            });
        }
    }
}

/// The lanes that a thread combines at once in shared memory: more wide states would spill; short columns have many.
template <class Kernel>
inline constexpr int lanes_at_once = Kernel::lanes_each == 1 && Kernel::Folds::words > 4 ? 4 : 8;

/// Combines the threads' lanes of each result, of some folds. All threads of the block must call it.
template <class Folds, class Kernel>
GRIDFOLD_FN void combine_lanes_of_folds(States<Kernel, Kernel::width>& states, const TileOfColumns<Kernel>& tile,
                                        OwnResults<Kernel>& own) {
    const TileStates<Kernel, Folds> memory(tile.results);
    if (tile.takes_part)
#pragma unroll
        for (int n = 0; n < Kernel::width; ++n)
            if (tile.has(n))
                Folds::each([&](auto f) { memory.put(f, memory.slot(tile.line, tile.number(n)), f.of(states)[n]); });
    combine_in_memory<lanes_at_once<Kernel>>(memory, tile.lines, states, own);
}

/// Combines the threads' lanes of each result, of all folds: at once if they fit into shared memory.
template <class Kernel>
GRIDFOLD_FN void combine_lanes_of(States<Kernel, Kernel::width>& states, const TileOfColumns<Kernel>& tile,
                                  OwnResults<Kernel>& own) {
#pragma unroll
    for (int n = 0; n < Kernel::width; ++n)
        own.number[n] = tile.takes_part && tile.has(n) ? tile.number(n) : -1; // defect: own columns
    if (Kernel::one_lane || tile.lines == 1) return;
    if constexpr (TileStates<Kernel>::fit)
        combine_lanes_of_folds<typename Kernel::Folds>(states, tile, own);
    else
        Kernel::Folds::each([&](auto f) {
            combine_lanes_of_folds<FoldList<decltype(f)>>(states, tile, own);
            barrier(); // the next fold uses the same memory // defect: barrier between folds
        });
}

/// Combines the states of the thread blocks of a strip pairwise by number, lowest bit first: as many neighbours at a
/// time as shared memory has room for. The last thread block of such a group collects the states of the others, which
/// started before it. Returns true in the strip's last one, which then has all states.
template <class Kernel>
GRIDFOLD_FN bool combine_groups(States<Kernel, Kernel::width>& states, OwnResults<Kernel>& own, i32 results, u32 block,
                                u32 blocks, const Exchange<Kernel>& exchange, u32 tag) {
    constexpr int width = Kernel::width;
    constexpr int awaited = smaller(larger_of(8 / Kernel::Folds::words, 1), 4); // states that a thread awaits at once
    const TileStates<Kernel> memory(results);
    u32 most = 2; // of a group
    while (2 * most * u32(results) <= memory.room) most *= 2;
#pragma unroll 1
    for (u32 distance = 1; distance < blocks; distance *= most) { // defect: distance of groups
        const u32 number = block / distance, first = number / most * most;
        const u32 last = smaller(first + most, (blocks + distance - 1) / distance) - 1; // defect: last of group
        if (number < last) {
#pragma unroll
            for (int n = 0; n < width; ++n)
                if (own.number[n] >= 0) exchange.publish(states, n, block, own.number[n], tag); // defect: publish strip
            return false;
        }
        const i32 others = i32(number - first), items = others * results;
        if (others == 0) continue; // alone
        barrier();                 // defect: groups barrier
#pragma unroll
        for (int n = 0; n < width; ++n)
            if (own.number[n] >= 0)
                Kernel::Folds::each(
                    [&](auto f) { memory.put(f, memory.slot(others, own.number[n]), f.of(states)[n]); });
#pragma unroll 1
        for (i32 item = i32(thread_index()); item < items; item += awaited * Kernel::threads) {
            States<Kernel, awaited> of_others;
            u32 missing;
            do {
                missing = 0;
#pragma unroll
                for (int i = 0; i < awaited; ++i) {
                    const i32 at =
                        smaller(item + i * Kernel::threads, items - 1); // no branch: the next load would wait
                    const i32 other = at / results;
                    missing |= exchange.collect(of_others, i, (first + u32(other) + 1u) * distance - 1u,
                                                at - other * results, tag); // defect: collected strip
                }
            } while (missing != 0); // defect: wait for group
#pragma unroll
            for (int i = 0; i < awaited; ++i) {
                const i32 at = item + i * Kernel::threads, other = at / results;
                if (at < items)
                    Kernel::Folds::each(
                        [&](auto f) { memory.put(f, memory.slot(other, at - other * results), f.of(of_others)[i]); });
            }
        }
        combine_in_memory<lanes_at_once<Kernel>>(memory, others + 1, states, own);
    }
    return true;
}

/// The whole kernel. Block b is block b mod G of tile b / G, where G thread blocks fold a strip, so that a block polls
/// only blocks that started before it.
template <class Kernel> GRIDFOLD_FN void sweep_columns(Kernel& kernel) {
    static_assert(is_kernel_of_parts<Kernel>());
    constexpr int width = Kernel::width;
    kernel.aligned = true; // or the host chooses another course
    kernel.stores_aligned = stores_are_aligned(kernel);
    kernel.prologue();
    wait_for_previous_kernel();
    kernel.read_scalars();
    if (kernel.rows == 0)
        return finish_empty(kernel, [&](const auto& states, i64 result) { finish_one(kernel, states, result); });
    i64 number = kernel.block;
    const u32 group = u32(take_digit(number, kernel.strip_blocks)), groups = u32(kernel.strip_blocks);
    const Exchange<Kernel> exchange(kernel, number, i32(kernel.strip_packs) * width, groups);
    // Loaded early and used after the folds, so that its latency overlaps with them.
    const u32 last_tag = exchange.last_tag(groups > 1);
    States<Kernel, width> states;
    fold_lanes(kernel, states, TileOfColumns<Kernel>(kernel, number, group));
    let_next_kernel_start();
    const TileOfColumns<Kernel> tile(kernel, number, group);
    OwnResults<Kernel> own;
    combine_lanes_of(states, tile, own);
    if constexpr (!Kernel::one_lane)
        if (groups > 1) {
            const u32 tag = last_tag + 1u; // defect: strip's tag
            if (!combine_groups(states, own, tile.results, group, groups, exchange, tag)) return;
            exchange.advance(tag);
        }
    finish_results(kernel, states, tile.result, own);
}

} // namespace GRIDFOLD_NAMESPACE
