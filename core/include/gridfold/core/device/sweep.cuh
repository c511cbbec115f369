// The one kernel: a grid-stride traversal that loads, folds and stores, then combines lanes, warps and blocks. Generated
// text gives the particulars as a Kernel; this is their common course. Depends on grid.cuh.
//
// A Kernel has
//   threads, width, in_flight, words, blocks   constants: a block's threads; a thread's elements of a slab; slabs loaded
//                                              before the first is folded; words of all states; the most blocks (a power of 2)
//   Loads                        one thread's elements of one slab
//   States<N>                    N states of every fold
//   each_fold(visit)             calls visit(f) for each fold; f has its Monoid, word (its first of all states') and of(states)
//   elements, workspace, aligned the extent of the domain; device memory; may loads and stores be 16 bytes wide?
//   load<wide, whole>(loads, first, count)  reads `count` elements from number `first` on; wide: 16 bytes at a time;
//                                whole: count == width
//   fold<whole>(states, loads, first, count, row)  maps, accumulates and stores them; row: slabs folded before
//   starts, start(states, loads, first), end(states, rows, first, stride)  is there a monoid that accumulates in steps
//                                (monoid.cuh)? and those steps, for all lanes of a thread
//   finishes, finish(states, tag)  does it fold or yield? and what finalises the states in place 0, computes the epilogue
//                                and yields; one thread, once
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

GRIDFOLD_FN constexpr i32 smaller(i32 a, i32 b) { return a < b ? a : b; }

/// A value that a lambda can take as a constant.
template <auto value> struct Constant {
    GRIDFOLD_FN constexpr auto operator()() const { return value; }
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
    const auto fold_batch = [&](auto wide, auto count, i64 slab) {
        typename Kernel::Loads loads[count()];
        const auto first = [&](int u) { return (slab + u * blocks) * slab_elements + lane; };
#pragma unroll
        for (int u = 0; u < count(); ++u) kernel.template load<wide(), true>(loads[u], first(u), width);
        if constexpr (Kernel::starts)
            if (row == 0) kernel.start(states, loads[0], first(0));
#pragma unroll
        for (int u = 0; u < count(); ++u) kernel.template fold<true>(states, loads[u], first(u), width, row + u);
        row += count();
    };
    i64 slab = own;
    if (kernel.aligned) {
        for (; slab + (in_flight - 1) * blocks < whole_slabs; slab += in_flight * blocks)
            fold_batch(Constant<true>{}, Constant<in_flight>{}, slab);
        if constexpr (in_flight > 2)
            if (slab + (in_flight / 2 - 1) * blocks < whole_slabs) {
                fold_batch(Constant<true>{}, Constant<in_flight / 2>{}, slab);
                slab += in_flight / 2 * blocks;
            }
    }
    // What is left, and arrays that are not aligned. One loop for both, since code that is not executed costs time, too.
#pragma unroll 1
    for (; slab < whole_slabs; slab += blocks) fold_batch(Constant<false>{}, Constant<1>{}, slab);
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

/// A fold's states of a block's warps. What the first reduction of a block reads, the second does not write: it may begin
/// before the first has ended.
template <class Fold, int warps, bool first>
using WarpStates = Shared<typename Fold::Monoid::State, warps, 2 * Fold::word + first>;

/// Reduces `count` states of every fold to one, pairwise by number, lowest bit first. Of the first Threads threads, thread t
/// has those numbered each·t to each·t + each − 1, each ≤ K a power of two; thread 0 gets the result in its place 0. `all`:
/// there are K · Threads states. Every thread of the block calls it if Threads > 32, once for each value of `all`.
template <class Kernel, int Threads, bool all, int K>
GRIDFOLD_FN void reduce(typename Kernel::template States<K>& states, i32 count, i32 each) {
    // All folds take a step together: their latencies overlap. Steps of wide states are long already, and unrolling them
    // costs compile time.
    constexpr int unrolled = Kernel::words <= 4 ? 5 : 1;
    constexpr int warp_count = Threads / 32;
    const i32 thread = i32(thread_index());

    Kernel::each_fold([&](auto f) {
        reduce_thread<typename decltype(f)::Monoid>(f.of(states), all ? K : smaller(each, count - thread * each));
    });
#pragma unroll(unrolled)
    for (int distance = 1; distance < 32; distance *= 2)
        Kernel::each_fold([&](auto f) {
            combine_lanes<typename decltype(f)::Monoid>(f.of(states)[0], distance,
                                                        all || (thread + distance) * each < count);
        });
    if constexpr (warp_count > 1) {
        Kernel::each_fold([&](auto f) {
            if (warp_lane() == 0 && thread < Threads)
                WarpStates<decltype(f), warp_count, all>::put(warp_index(), f.of(states)[0]);
        });
        barrier();
        if (warp_index() != 0) return;
        const i32 warp = i32(warp_lane()) % warp_count; // of this lane, from here on
        Kernel::each_fold([&](auto f) { f.of(states)[0] = WarpStates<decltype(f), warp_count, all>::get(u32(warp)); });
#pragma unroll(unrolled)
        for (int distance = 1; distance < warp_count; distance *= 2)
            Kernel::each_fold([&](auto f) {
                combine_lanes<typename decltype(f)::Monoid>(f.of(states)[0], distance,
                                                            all || (warp + distance) * 32 * each < count);
            });
    }
}

/// Publishes the first states of this thread as the block's.
template <class Kernel>
GRIDFOLD_FN void publish_block(typename Kernel::template States<Kernel::width>& states, const Workspace& workspace,
                               u32 tag) {
    u32 words[Kernel::words];
    Kernel::each_fold([&](auto f) {
        StateWords<typename decltype(f)::Monoid::State> of;
        of.state = f.of(states)[0];
#pragma unroll
        for (u32 i = 0; i < sizeof(of) / 4; ++i) words[f.word + i] = of.word[i];
    });
    publish(workspace, tag, words);
}

/// Waits for the states of the blocks each·t to each·t + each − 1, where there are so many; t: this thread.
template <class Kernel, int K>
GRIDFOLD_FN void collect_blocks(typename Kernel::template States<K>& states, const Workspace& workspace, u32 tag,
                                i32 blocks, i32 each) {
    const i32 first = i32(thread_index()) * each;
    u32 words[K][Kernel::words];
    u32 missing;
    do {
        missing = 0;
        // A place without a block reads another's record: a branch would make the next load wait for this one.
#pragma unroll
        for (int i = 0; i < K; ++i)
            missing |= collect(workspace, tag, smaller(first + (i < each ? i : 0), blocks - 1), words[i]);
    } while (missing != 0);
#pragma unroll
    for (int i = 0; i < K; ++i)
        Kernel::each_fold([&](auto f) {
            StateWords<typename decltype(f)::Monoid::State> of;
#pragma unroll
            for (u32 w = 0; w < sizeof(of) / 4; ++w) of.word[w] = words[i][f.word + w];
            f.of(states)[i] = of.state;
        });
}

/// Combines the grid's lanes into one state a fold and finishes the sweep.
template <class Kernel>
GRIDFOLD_FN void combine(const Kernel& kernel, typename Kernel::template States<Kernel::width>& states,
                         const Workspace& workspace, u32 tag) {
    static_assert((Kernel::blocks & (Kernel::blocks - 1)) == 0, "shared out among a power of two of threads");
    // The threads that collect what the blocks publish: one warp needs no barrier, but has no registers for wide states.
    constexpr int most = Kernel::threads < Kernel::blocks ? Kernel::threads : Kernel::blocks;
    constexpr int collectors = Kernel::words <= 4 ? 32 : most;
    const i32 blocks = i32(grid_blocks());

    reduce<Kernel, Kernel::threads, true, Kernel::width>(states, i32(slab_elements), Kernel::width);
    if constexpr (Kernel::words > 0)
        if (blocks > 1 && thread_index() == 0) publish_block<Kernel>(states, workspace, tag);
    if (i32(block_index()) + 1 < blocks) return;
    if constexpr (Kernel::words > 0)
        if (blocks > 1) {
            if (collectors == 32 && warp_index() != 0) return;
            constexpr int most_each = Kernel::blocks / collectors;
            i32 each = 1;
            while (each * collectors < blocks) each *= 2;
            typename Kernel::template States<most_each> partials;
            collect_blocks<Kernel, most_each>(partials, workspace, tag, blocks, each);
            reduce<Kernel, collectors, false, most_each>(partials, blocks, each);
            Kernel::each_fold([&](auto f) { f.of(states)[0] = f.of(partials)[0]; });
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
        if (Kernel::words > 0 && blocks > 1 && block_index() + 1 == blocks)
            workspace.template prefetch_records<Kernel::words>(Kernel::threads, blocks);
        fold_slabs(kernel, states);
        combine(kernel, states, workspace, last_tag + 1u);
    } else {
        fold_slabs(kernel, states);
    }
}

} // namespace GRIDFOLD_NAMESPACE
