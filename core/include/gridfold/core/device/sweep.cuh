// The one kernel: a grid-stride traversal that loads, folds and stores, then combines lanes, warps and blocks. Generated
// text gives the particulars as a Kernel; this is their common course. Depends on grid.cuh.
//
// A Kernel has
//   threads, width, in_flight, words, blocks   constants: a block's threads; a thread's elements of a slab; slabs loaded
//                                              before the first is folded; words of all states; the most blocks
//   Loads                        one thread's elements of one slab
//   States<N>                    N states of every fold
//   each_fold(visit)             calls visit(f) for each fold; f has its Monoid, number, word (its first slot row) and of(states)
//   elements, workspace, aligned the extent of the domain; device memory; may loads and stores be 16 bytes wide?
//   load<aligned, whole>(loads, first, count)  reads `count` elements from number `first` on; whole: count == width
//   fold<whole>(states, loads, first, count, row)  maps, accumulates and stores them; row: slabs folded before
//   starts, start(states, loads, first), end(states, rows, first, stride)  is there a monoid that accumulates in steps
//                                (monoid.cuh)? and those steps, for all lanes of a thread
//   finish(states, tag)          finalises the states in place 0, computes the epilogue and yields; one thread, once
#pragma once

namespace GRIDFOLD_NAMESPACE {

constexpr i64 slab_elements = 2048;

/// The coordinates of an element of a row-major domain, walked in increasing order.
template <int Rank> struct Coordinates {
    i64 at[Rank];
    const i64 (&extent)[Rank];

    GRIDFOLD_FN Coordinates(i64 flat, const i64 (&extents)[Rank]) : extent(extents) {
#pragma unroll
        for (int d = Rank - 1; d > 0; --d) {
            // A 64-bit division costs five times a 32-bit one.
            const bool narrow = ((u64(flat) | u64(extent[d])) >> 32) == 0;
            const i64 quotient = narrow ? i64(u32(flat) / u32(extent[d])) : flat / extent[d];
            at[d] = flat - quotient * extent[d];
            flat = quotient;
        }
        at[0] = flat;
    }
    GRIDFOLD_FN void advance() {
        ++at[Rank - 1];
#pragma unroll
        for (int d = Rank - 1; d > 0; --d)
            if (at[d] == extent[d]) {
                at[d] = 0;
                ++at[d - 1];
            }
    }
};

/// A number that a lambda can take as a constant.
template <int value> struct Constant {
    GRIDFOLD_FN constexpr int operator()() const { return value; }
};

/// Folds the slabs of this block into its threads' lanes: slab s is block s mod G's.
template <class Kernel>
GRIDFOLD_FN void fold_slabs(const Kernel& kernel, typename Kernel::template States<Kernel::width>& states) {
    constexpr int in_flight = Kernel::in_flight;
    constexpr int width = Kernel::width;
    const i64 blocks = grid_blocks();
    const i64 own = block_index();
    const i64 whole_slabs = kernel.elements / slab_elements;
    const i64 lane = i64(thread_index()) * width;

    u32 row = 0; // slabs of this block that were folded

    // Loads `count` slabs of this block from `slab` on, then folds them.
    const auto fold_batch = [&](auto count, i64 slab) {
        typename Kernel::Loads loads[count()];
        const auto first = [&](int u) { return (slab + u * blocks) * slab_elements + lane; };
        if (kernel.aligned) {
#pragma unroll
            for (int u = 0; u < count(); ++u) kernel.template load<true, true>(loads[u], first(u), width);
        } else {
#pragma unroll
            for (int u = 0; u < count(); ++u) kernel.template load<false, true>(loads[u], first(u), width);
        }
        if constexpr (Kernel::starts)
            if (row == 0) kernel.start(states, loads[0], first(0));
#pragma unroll
        for (int u = 0; u < count(); ++u) kernel.template fold<true>(states, loads[u], first(u), width, row + u);
        row += count();
    };
    i64 slab = own;
    if constexpr (in_flight > 1)
        for (; slab + (in_flight - 1) * blocks < whole_slabs; slab += in_flight * blocks)
            fold_batch(Constant<in_flight>{}, slab);
    if constexpr (in_flight > 2)
        if (slab + (in_flight / 2 - 1) * blocks < whole_slabs) {
            fold_batch(Constant<in_flight / 2>{}, slab);
            slab += in_flight / 2 * blocks;
        }
#pragma unroll 1
    for (; slab < whole_slabs; slab += blocks) fold_batch(Constant<1>{}, slab);
    if constexpr (Kernel::starts)
        if (row > 0) kernel.end(states, row, own * slab_elements + lane, blocks * slab_elements);

    // The last slab may have a gap at its end.
    const i64 first = whole_slabs * slab_elements + lane;
    if (slab == whole_slabs && first < kernel.elements) { // it is this block's turn
        const i64 rest = kernel.elements - first;
        const int count = rest < width ? int(rest) : width;
        typename Kernel::Loads loads;
        kernel.template load<false, false>(loads, first, count);
        kernel.template fold<false>(states, loads, first, count, row);
    }
}

/// Reduces the states of every fold at `places` to one, which thread 0 gets in its place 0. Every thread of the block calls
/// it; `warps` is shared memory that nobody else reads or writes.
template <class Kernel>
GRIDFOLD_FN void reduce_block(typename Kernel::template States<Kernel::width>& states,
                              typename Kernel::template States<Kernel::threads / 32>& warps, Places places) {
    constexpr int width = Kernel::width, warp_count = Kernel::threads / 32;
    const i32 first = i32(thread_index()) * width;
    // All folds take a step together: their latencies overlap. Steps of wide states are long already, and unrolling them
    // costs compile time.
    constexpr int unrolled = Kernel::words <= 4 ? 5 : 1;

    Kernel::each_fold([&](auto f) { reduce_thread<typename decltype(f)::Monoid>(f.of(states), first, places); });
#pragma unroll(unrolled)
    for (int lanes = 1; lanes < 32; lanes *= 2)
        Kernel::each_fold([&](auto f) {
            combine_lanes<typename decltype(f)::Monoid>(f.of(states)[0], lanes,
                                                        places.has_partner(first, lanes * width));
        });
    Kernel::each_fold([&](auto f) {
        if (warp_lane() == 0) f.of(warps)[warp_index()] = f.of(states)[0];
    });
    barrier();
    if (warp_index() != 0) return;
    const i32 warp = i32(warp_lane()) % warp_count; // of this lane, from here on
    Kernel::each_fold([&](auto f) { f.of(states)[0] = f.of(warps)[warp]; });
#pragma unroll(unrolled)
    for (int lanes = 1; lanes < warp_count; lanes *= 2)
        Kernel::each_fold([&](auto f) {
            combine_lanes<typename decltype(f)::Monoid>(f.of(states)[0], lanes,
                                                        places.has_partner(warp * 32 * width, lanes * 32 * width));
        });
}

/// Waits for the states of all blocks and puts that of block b into place b · spread. Every thread of the block calls it.
template <class Kernel>
GRIDFOLD_FN void collect_blocks(typename Kernel::template States<Kernel::width>& states, const Workspace& workspace,
                                u32 tag, Places places) {
    bool complete;
    do {
        complete = true;
#pragma unroll
        for (int i = 0; i < Kernel::width; ++i) {
            const i32 place = i32(thread_index()) * Kernel::width + i;
            if ((place & (places.spread() - 1)) != 0 || place >= places.end) continue;
            Kernel::each_fold([&](auto f) {
                const i32 from = place >> places.log2_spread;
                complete = collect<Kernel::blocks>(workspace, f.word, tag, from, f.of(states)[i]) && complete;
            });
        }
    } while (!complete);
}

/// Combines the grid's lanes into one state a fold and finishes the sweep.
template <class Kernel>
GRIDFOLD_FN void combine(const Kernel& kernel, typename Kernel::template States<Kernel::width>& states,
                         const Workspace& workspace, u32 tag) {
    struct Shared {
        typename Kernel::template States<Kernel::threads / 32> warps[2];
    };
    auto& block = shared<Shared>();
    const i32 blocks = i32(grid_blocks());

    // First the block's lanes; then, in the last block, the blocks: the same code, so that it is compiled once.
    Places places{i32(slab_elements), 0};
    for (bool publishing = blocks > 1;; publishing = false) {
        reduce_block<Kernel>(states, block.warps[publishing], places);
        if (!publishing) break;
        Kernel::each_fold([&](auto f) {
            if (thread_index() == 0) publish<Kernel::blocks>(workspace, f.word, tag, f.of(states)[0]);
        });
        if (i32(block_index()) + 1 < blocks) return;
        if constexpr (Kernel::words == 0) break; // nothing to collect
        while (blocks << (places.log2_spread + 1) <= i32(slab_elements)) ++places.log2_spread;
        places.end = blocks << places.log2_spread;
        collect_blocks<Kernel>(states, workspace, tag, places);
    }
    if (thread_index() != 0) return;
    kernel.finish(states, tag);
    workspace.advance<Kernel::words, Kernel::blocks>(tag);
}

/// The whole kernel.
template <class Kernel> GRIDFOLD_FN void sweep(const Kernel& kernel) {
    typename Kernel::template States<Kernel::width> states;
    Kernel::each_fold([&](auto f) {
#pragma unroll
        for (int i = 0; i < Kernel::width; ++i) f.of(states)[i] = decltype(f)::Monoid::identity();
    });
    if constexpr (Kernel::finishes) {
        const Workspace workspace{kernel.workspace};
        // Asked for now, since it comes from memory, but touched only after the folds: they need not wait for it.
        const u32 last_tag = workspace.last_tag();
        const u32 blocks = grid_blocks();
        if (blocks > 1 && block_index() + 1 == blocks)
            workspace.template prefetch_slots<Kernel::words, Kernel::blocks>();
        fold_slabs(kernel, states);
        combine(kernel, states, workspace, last_tag + 1u);
    } else {
        fold_slabs(kernel, states);
    }
}

} // namespace GRIDFOLD_NAMESPACE
