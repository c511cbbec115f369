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
//   load<aligned, whole>(loads, first, count)     reads `count` elements from number `first` on; whole: count == width
//   fold<aligned, whole>(states, loads, first, count)  maps, accumulates and stores them
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

/// Folds the slabs of this block into its threads' lanes: slab s is block s mod G's.
template <bool aligned, class Kernel>
GRIDFOLD_FN void fold_slabs(const Kernel& kernel, typename Kernel::template States<Kernel::width>& states) {
    constexpr int in_flight = Kernel::in_flight;
    constexpr int width = Kernel::width;
    const i64 blocks = grid_blocks();
    const i64 whole_slabs = kernel.elements / slab_elements;
    const i64 lane = i64(thread_index()) * width;

    i64 slab = block_index();
    for (; slab < whole_slabs; slab += in_flight * blocks) {
        typename Kernel::Loads loads[in_flight];
#pragma unroll
        for (int u = 0; u < in_flight; ++u)
            if (u == 0 || slab + u * blocks < whole_slabs)
                kernel.template load<aligned, true>(loads[u], (slab + u * blocks) * slab_elements + lane, width);
#pragma unroll
        for (int u = 0; u < in_flight; ++u)
            if (u == 0 || slab + u * blocks < whole_slabs)
                kernel.template fold<aligned, true>(states, loads[u], (slab + u * blocks) * slab_elements + lane, width);
    }

    // The last slab may have a gap at its end.
    const i64 first = whole_slabs * slab_elements + lane;
    if (whole_slabs % blocks == block_index() && first < kernel.elements) {
        const i64 rest = kernel.elements - first;
        const int count = rest < width ? int(rest) : width;
        typename Kernel::Loads loads;
        kernel.template load<false, false>(loads, first, count);
        kernel.template fold<false, false>(states, loads, first, count);
    }
}

/// One state a warp for every fold, and the block's.
template <class Kernel> struct Block {
    typename Kernel::template States<Kernel::threads / 32> warps;
    typename Kernel::template States<1> result;
};

/// Reduces each thread's N states of every fold to the block's; `take(f, state)` gets each in one thread.
template <class Kernel, int N, class Take>
GRIDFOLD_FN void reduce_block(typename Kernel::template States<N>& states, Block<Kernel>& block, i64 valid, Take take) {
    Kernel::each_fold([&](auto f) {
        auto& own = f.of(states);
        reduce_warp<typename decltype(f)::Monoid, N>(own, valid);
        if (warp_lane() == 0) f.of(block.warps)[warp_index()] = own[0];
    });
    barrier();
    Kernel::each_fold([&](auto f) {
        constexpr int warps = Kernel::threads / 32;
        if (warp_index() != u32(f.number % warps)) return; // the folds' last steps run side by side
        const auto state =
            reduce_warps<typename decltype(f)::Monoid, Kernel::threads, N>(f.of(block.warps), valid);
        if (warp_lane() == 0) take(f, state);
    });
}

/// Combines the grid's lanes into one state a fold and finishes the sweep.
template <class Kernel>
GRIDFOLD_FN void combine(const Kernel& kernel, typename Kernel::template States<Kernel::width>& states) {
    const Workspace workspace{kernel.workspace};
    const u32 tag = workspace.tag();
    const i64 blocks = grid_blocks();
    auto& block = shared<Block<Kernel>>();
    const auto keep = [&](auto f, const auto& state) { f.of(block.result)[0] = state; };

    if (blocks == 1) {
        reduce_block<Kernel, Kernel::width>(states, block, slab_elements, keep);
    } else {
        reduce_block<Kernel, Kernel::width>(states, block, slab_elements, [&](auto f, const auto& state) {
            publish<Kernel::blocks>(workspace, f.word, tag, state);
        });
        if (block_index() + 1 < blocks) return;

        // The last block: every thread collects the states of `share` consecutive blocks.
        constexpr int share = Kernel::blocks > Kernel::threads ? int(Kernel::blocks) / Kernel::threads : 1;
        typename Kernel::template States<share> partials;
        bool complete;
        do {
            complete = true;
            Kernel::each_fold([&](auto f) {
#pragma unroll
                for (int i = 0; i < share; ++i) {
                    const i64 from = i64(thread_index()) * share + i;
                    if (from < blocks)
                        complete = collect<Kernel::blocks>(workspace, f.word, tag, from, f.of(partials)[i]) && complete;
                }
            });
        } while (!complete);
        barrier(); // the warps' states of the block itself have been read
        reduce_block<Kernel, share>(partials, block, blocks, keep);
    }
    barrier();
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
    if (kernel.aligned)
        fold_slabs<true>(kernel, states);
    else
        fold_slabs<false>(kernel, states);
    if constexpr (Kernel::finishes) combine(kernel, states);
}

} // namespace GRIDFOLD_NAMESPACE
