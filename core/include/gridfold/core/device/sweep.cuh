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
//   fold<whole>(states, loads, first, count)   maps, accumulates and stores them
//   starts, start(states, loads, first), end(states, count)   what monoids that accumulate in steps need: is there such a
//                                              fold, its lanes' first elements, and how many elements a lane got
//   finish(results, tag)         finalises, computes the epilogue and yields; one thread, once
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
            if (slab == own) kernel.start(states, loads[0], first(0));
#pragma unroll
        for (int u = 0; u < count(); ++u) kernel.template fold<true>(states, loads[u], first(u), width);
    };
    i64 slab = own;
    if constexpr (in_flight > 1)
        for (; slab + (in_flight - 1) * blocks < whole_slabs; slab += in_flight * blocks)
            fold_batch(Constant<in_flight>{}, slab);
#pragma unroll 1
    for (; slab < whole_slabs; slab += blocks) fold_batch(Constant<1>{}, slab);
    if constexpr (Kernel::starts)
        if (own < whole_slabs) kernel.end(states, (whole_slabs - own + blocks - 1) / blocks);

    // The last slab may have a gap at its end.
    const i64 first = whole_slabs * slab_elements + lane;
    if (first < kernel.elements && whole_slabs % blocks == own) {
        const i64 rest = kernel.elements - first;
        const int count = rest < width ? int(rest) : width;
        typename Kernel::Loads loads;
        kernel.template load<false, false>(loads, first, count);
        kernel.template fold<false>(states, loads, first, count);
    }
}

/// One state a warp for every fold, and the block's.
template <class Kernel> struct Block {
    typename Kernel::template States<Kernel::threads / 32> warps;
    typename Kernel::template States<1> result;
};

/// Reduces the states of every fold at `places` to one; `take(f, state)` gets it in one thread.
template <class Kernel, class Take>
GRIDFOLD_FN void reduce_block(typename Kernel::template States<Kernel::width>& states, Block<Kernel>& block,
                              Places places, Take take) {
    Kernel::each_fold([&](auto f) {
        auto& own = f.of(states);
        reduce_warp<typename decltype(f)::Monoid>(own, places);
        if (warp_lane() == 0) f.of(block.warps)[warp_index()] = own[0];
    });
    barrier();
    Kernel::each_fold([&](auto f) {
        constexpr int warps = Kernel::threads / 32;
        if (warp_index() != u32(f.number % warps)) return; // the folds' last steps run side by side
        const auto state = reduce_warps<typename decltype(f)::Monoid, warps, Kernel::width>(f.of(block.warps), places);
        if (warp_lane() == 0) take(f, state);
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
    const i32 blocks = i32(grid_blocks());
    auto& block = shared<Block<Kernel>>();

    // First the block's lanes; then, in the last block, the blocks: the same code, so that it is compiled once.
    Places places{i32(slab_elements), 0};
    for (bool publishing = blocks > 1;; publishing = false) {
        reduce_block<Kernel>(states, block, places, [&](auto f, const auto& state) {
            if (publishing)
                publish<Kernel::blocks>(workspace, f.word, tag, state);
            else
                f.of(block.result)[0] = state;
        });
        barrier();
        if (!publishing) break;
        if (i32(block_index()) + 1 < blocks) return;
        if constexpr (Kernel::words == 0) continue; // nothing to collect
        while (blocks << (places.log2_spread + 1) <= i32(slab_elements)) ++places.log2_spread;
        places.end = blocks << places.log2_spread;
        collect_blocks<Kernel>(states, workspace, tag, places);
    }
    if (thread_index() != 0) return;
    kernel.finish(block.result, tag);
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
        const u32 tag = workspace.tag(); // used last, but asked for now: it comes from memory
        fold_slabs(kernel, states);
        combine(kernel, states, workspace, tag);
    } else {
        fold_slabs(kernel, states);
    }
}

} // namespace GRIDFOLD_NAMESPACE
