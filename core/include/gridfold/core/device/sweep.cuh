// The one kernel: a grid-stride traversal that loads, folds and stores, then combines lanes, warps and blocks.
// Generated text gives the particulars as a Kernel; this is their common course. Depends on grid.cuh.
//
// A Kernel has
//   threads, width, words, most_blocks  constants: a block's threads; a thread's elements of a slab; words of all
//                              states; the most blocks (a power of 2)
//   in_flight, windows_in_flight  slabs loaded before the first is folded; the same of arrays that are not aligned
//   collects                   of how many blocks a thread collects the states, at most: a power of 2
//   Loads                      one thread's elements of one slab
//   Lanes, States<N>           a thread's states of its lanes, of every fold: one for each, or one for all of them
//                              where the order does not matter; N states of every fold
//   each_fold(visit)           calls visit(f) for each fold; f has its Monoid, its LaneMonoid (the same, or OfBlock:
//                              monoid.cuh), word (its first of all states') and of(states)
//   clear(lanes)               makes them lanes of no element
//   close(lanes, states, elements)  the State of each fold over a block's elements, from the one lane that they were
//                              reduced to
//   block, blocks              this block's number, and how many fold the domain: of the grid, or of its part of it
//   elements, workspace, host  the extent of the domain; device memory; what the host polls, or null
//   aligned, stores_aligned    may loads, and stores, be of whole packs?
//   prologue(), read_scalars()  compute what is the same for all elements: from parameters, and from what earlier
//                              sweeps yielded
//   load<packs, whole>(loads, first, count)  reads `count` elements from number `first` on; packs: 16 bytes at a time;
//                              whole: count == width
//   tail_early                 is there room for the tail, in packs, beside the slabs in flight? Then load_if(wanted,
//                              loads, first) reads `width` elements in packs, if wanted
//   prefetches                 does it ask the L2 for what it reads first, before it waits for the kernel before it?
//                              Then prefetch_elements(first, count) does so
//   shifts                     may elements be shared out in any way? Then elements_before_packs() says how many there
//                              are before the array's first whole pack, and skip(count) leaves some out
//   realigns                   are there arrays of which whole packs can be cut out? Then load_windows(windows, loads,
//                              first) loads their Windows (warp.cuh), `width` elements from `first` on, and
//                              realign(loads, windows) cuts them out
//   fold<whole>(lanes, loads, first, count, row)  maps, accumulates and stores them; row: slabs folded before
//   shares                     do lanes share something of the block's first element? Then share(lanes, loads, first)
//                              takes it from the loads of that element
//   ends                       is there a monoid that accumulates in steps (monoid.cuh)? Then end(lanes, rows, more,
//                              first, stride) is the last one, after `rows` slabs and `more` elements of the last
//   finishes                   does it fold or yield? Then finish(states, tag) finalises the states in place 0,
//                              computes the epilogue and yields; one thread, once
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// Consecutive elements that a block takes at a time: where they are folded, the order's 2,048; where they are not, as
/// many as suit.
template <class Kernel> inline constexpr i64 slab_elements = i64(Kernel::threads) * Kernel::width;

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
            at[d] = flat - quotient * extent[d]; // defect: remainder
            flat = quotient;
        }
        at[0] = flat;
    }
    GRIDFOLD_FN void advance() {
        ++at[Rank - 1];
#pragma unroll
        for (int d = Rank - 1; d > 0; --d)
            if (at[d] == extent[d]) { // defect: carry
                at[d] = 0;
                ++at[d - 1];
            }
    }
};

/// A value that a lambda can take as a constant.
template <auto value> struct Constant {
    GRIDFOLD_FN constexpr auto operator()() const { return value; }
};

/// How a thread reads its elements of a slab.
enum class Access {
    elements, ///< one at a time
    packs,    ///< in whole packs, of arrays that are aligned
    windows   ///< in whole packs of which the elements are cut out; those beside the slab are read, too
};

/// What is loaded for `count` slabs before the first is folded.
template <class Kernel, Access access, int count> struct Batch {
    typename Kernel::Loads loads[count];
};
template <class Kernel, int count> struct Batch<Kernel, Access::windows, count> {
    typename Kernel::Loads loads[count];
    typename Kernel::Windows windows[count];
};

/// Calls `fold(Constant<count>)` if so many slabs of a block are left before `end`, then for half of `count`, to
/// `least`.
template <int count, int least, class Fold>
GRIDFOLD_FN void fold_halves(const u32& slab, u32 blocks, u32 end, const Fold& fold) {
    if (slab + (count - 1) * blocks < end) fold(Constant<count>{}); // defect: half batch
    if constexpr (count > least) fold_halves<count / 2, least>(slab, blocks, end, fold);
}

/// What does not go by whole slabs: the domain's tail, which is part of a slab, and elements that were skipped before
/// its first. It is computed before the kernel waits for the one before it, as it asks memory for nothing.
template <class Kernel> struct Edges {
    u32 whole_slabs;   ///< of the domain; in 32 bits, as no domain has 2^31 of them
    u32 tail_elements; ///< of this block: 0 where the tail is not its turn
    i32 skipped;       ///< elements that were skipped, if they are this thread's, else 0

    /// `skipped_elements`: fewer than a thread has of a slab.
    GRIDFOLD_FN Edges(const Kernel& kernel, i32 skipped_elements) : skipped(0) {
        const auto has_slab = [&](u32 slab) { // without a division where there is no need
            if (kernel.blocks == 1) return true;
            return (slab < kernel.blocks ? slab : slab % kernel.blocks) == kernel.block; // defect: turn
        };
        whole_slabs = u32(u64(kernel.elements) / slab_elements<Kernel>);
        tail_elements = u32(kernel.elements) % slab_elements<Kernel>;
        if (tail_elements > 0 && !has_slab(whole_slabs)) tail_elements = 0; // defect: tail turn
        // A thread that has none of the tail, as a rule, in a block that has fewer slabs than most.
        if (skipped_elements > 0 && thread_index() + 1 == Kernel::threads && has_slab(whole_slabs + 1))
            skipped = skipped_elements; // defect: skipped
    }
    /// Of the tail: a thread's first element, and how many it has.
    GRIDFOLD_FN i64 tail_first() const {
        return i64(whole_slabs) * slab_elements<Kernel> + thread_index() * Kernel::width;
    }
    GRIDFOLD_FN i32 tail_count() const {
        const u32 lane = thread_index() * Kernel::width;
        return tail_elements > lane ? smaller(i32(tail_elements - lane), Kernel::width) : 0; // defect: tail count
    }
};

/// Asks the L2 for what a block reads first, if that is much of all it reads: up to four whole slabs and the tail.
/// Before the kernel before this one has ended: the L2 is where all of the device's writes go, so what it still writes
/// is not missed.
template <class Kernel> GRIDFOLD_FN void prefetch_first(const Kernel& kernel, const Edges<Kernel>& edges, bool tagged) {
    constexpr u32 most_slabs = 4;
    constexpr i64 slab_size = slab_elements<Kernel>;
    if (edges.whole_slabs > most_slabs * kernel.blocks) return;
    if (tagged && thread_index() == 0) prefetch(kernel.workspace);
    const u32 slab = kernel.block + thread_index() * kernel.blocks; // a thread, a slab
    if (thread_index() <= most_slabs && slab <= edges.whole_slabs)
        kernel.prefetch_elements(i64(slab) * slab_size,
                                 slab < edges.whole_slabs ? u32(slab_size) : edges.tail_elements); // defect: prefetched
}

/// Folds the slabs of this block into its threads' lanes: slab s is block s mod G's. Returns how many elements the
/// block has.
template <class Kernel>
GRIDFOLD_FN i64 fold_slabs(const Kernel& kernel, const Edges<Kernel>& edges, typename Kernel::Lanes& lanes) {
    constexpr int in_flight = Kernel::in_flight;
    constexpr int width = Kernel::width;
    constexpr i64 slab_size = slab_elements<Kernel>;
    const u32 blocks = kernel.blocks;
    const u32 lane = thread_index() * width;

    // The tail, where a thread has whole packs of it, is asked for before slabs are folded: its way from memory would
    // be one more.
    typename Kernel::Loads tail;
    const bool tail_in_packs = Kernel::tail_early && kernel.aligned && edges.tail_count() == width; // defect: tail pack
    if constexpr (Kernel::tail_early) kernel.load_if(tail_in_packs, tail, edges.tail_first());

    u32 slab = kernel.block; // defect: first slab
    u32 row = 0;             // slabs of this block that were folded

    // What lanes share comes from the block's first element, which every thread loads: telling it to each other would
    // take a barrier. It is awaited with the first slabs, in the loop; but a loop over wide states is slowed by any
    // branch, more than the wait costs.
    constexpr bool shares_in_loop = Kernel::shares && Kernel::words <= 8;
    typename Kernel::Loads head;
    const i64 start = i64(kernel.block) * slab_size; // defect: first element
    if constexpr (Kernel::shares && !shares_in_loop)
        if (start < kernel.elements) {
            kernel.template load<false, false>(head, start, 1);
            kernel.share(lanes, head, start);
        }
    const auto load_head = [&] {
        if constexpr (shares_in_loop)
            if (row == 0) kernel.template load<false, false>(head, start, 1);
    };
    const auto share_head = [&] {
        if constexpr (shares_in_loop)
            if (row == 0) kernel.share(lanes, head, start);
    };

    // Loads `count` slabs of this block, then folds them.
    const auto fold_batch = [&](auto access, auto count) {
        Batch<Kernel, access(), count()> batch;
        load_head();
        const auto first = [&](int u) { return i64(slab + u * blocks) * slab_size + lane; }; // defect: slab in flight
#pragma unroll
        for (int u = 0; u < count(); ++u)
            if constexpr (access() == Access::windows)
                kernel.load_windows(batch.windows[u], batch.loads[u], first(u));
            else
                kernel.template load<access() == Access::packs, true>(batch.loads[u], first(u), width);
#pragma unroll
        for (int u = 0; u < count(); ++u) {
            if constexpr (access() == Access::windows) kernel.realign(batch.loads[u], batch.windows[u]);
            if (u == 0) share_head();
            kernel.template fold<true>(lanes, batch.loads[u], first(u), width, row + u); // defect: turn number
        }
        row += count();           // defect: count turns
        slab += count() * blocks; // defect: next slab
    };
    // As many slabs before `end` as fill a batch, then half of one, and so on. Of wide states every batch is much code:
    // one half, and what is left slab by slab.
    const auto fold_batches = [&](auto access, auto count, u32 end) {
        while (slab + (count() - 1) * blocks < end) fold_batch(access, count); // defect: last batch
        constexpr int least = Kernel::words <= 8 ? 1 : count() / 2;
        if constexpr (count() > 1)
            fold_halves<count() / 2, least>(slab, blocks, end, [&](auto half) { fold_batch(access, half); });
    };
    while (slab < edges.whole_slabs) { // once, but for the first block of arrays that are not aligned
        u32 end = edges.whole_slabs;
        if (kernel.aligned) {
            fold_batches(Constant<Access::packs>{}, Constant<in_flight>{}, end);
        } else if constexpr (Kernel::realigns) {
            // What is beside the first slab, or the last, may not be there.
            if (slab > 0) // defect: first window
                fold_batches(Constant<Access::windows>{}, Constant<Kernel::windows_in_flight>{}, end - 1);
            else
                end = 1;
        }
#pragma unroll 1
        while (slab < end) fold_batch(Constant<Access::elements>{}, Constant<1>{}); // defect: single slabs
    }

    if (tail_in_packs) {
        load_head();
        share_head();
        kernel.template fold<true>(lanes, tail, edges.tail_first(), width, row); // defect: fold tail
    }
    // What fills no packs goes by its elements: of the tail, then what was skipped.
    i64 first = edges.tail_first();
    i32 count = tail_in_packs ? 0 : edges.tail_count(); // defect: rest of tail
#pragma unroll 1
    for (int piece = 0; piece < (Kernel::shifts ? 2 : 1); ++piece) {
        if (count > 0) {
            typename Kernel::Loads loads;
            load_head();
            kernel.template load<false, false>(loads, first, count);
            share_head();
            kernel.template fold<false>(lanes, loads, first, count, row);
        }
        first = -edges.skipped, count = edges.skipped; // defect: before packs
    }
    if constexpr (Kernel::ends) kernel.end(lanes, row, edges.tail_count(), start + lane, blocks * slab_size);
    return i64(row) * slab_size + edges.tail_elements;
}

/// Lanes are reduced within a block, and States across blocks.
template <class Fold, bool lanes>
using MonoidOf = typename Choose<lanes, typename Fold::LaneMonoid, typename Fold::Monoid>::type;

/// A fold's states of a block's warps. What the first reduction of a block reads, the second does not write: it may
/// begin before the first has ended.
template <class Fold, int warps, bool first>
using WarpStates = Shared<typename MonoidOf<Fold, first>::State, warps, 2 * Fold::word + first>;

/// Are a fold's states of so many lanes reduced by every thread for itself? Reading 16 words of shared memory takes as
/// long as one exchange between lanes.
template <class Fold, int lanes, bool all>
inline constexpr bool one_thread_reduces =
    lanes < 32 && all && sizeof(typename MonoidOf<Fold, all>::State) == 4 && !reduces_warps<MonoidOf<Fold, all>>;

/// Reduces the first states of so many lanes of a warp, a power of 2, to one, pairwise by number, lowest bit first; the
/// first lane gets the result. `number`: of this lane. Without `all`, those from number·each ≥ count on do not exist.
template <class Kernel, int lanes, bool all, class States>
GRIDFOLD_FN void reduce_lanes(States& states, i32 number, i32 count, i32 each) {
    Kernel::each_fold([&](auto f) {
        using Monoid = MonoidOf<decltype(f), all>;
        if constexpr (reduces_warps<Monoid>) {
            if (lanes < 32 || !all)
                if (i32(warp_lane()) >= lanes || (!all && number * each >= count)) f.of(states)[0] = Monoid::identity();
            Monoid::reduce_warp(f.of(states)[0], Warp{});
        }
    });
    // All folds take a step together: their latencies overlap. Steps of wide states are long already, and unrolling
    // them costs compile time.
    constexpr int unrolled = Kernel::words <= 8 ? 5 : 1;
#pragma unroll(unrolled)
    for (int distance = 1; distance < lanes; distance *= 2) // defect: pairwise
        Kernel::each_fold([&](auto f) {
            using Monoid = MonoidOf<decltype(f), all>;
            if constexpr (!reduces_warps<Monoid> && !one_thread_reduces<decltype(f), lanes, all>)
                combine_lanes<Monoid>(f.of(states)[0], distance, all || (number + distance) * each < count);
        });
}

/// Has this warp any of `count` states, of which each thread has `each`? One that has none leaves the others to it: it
/// would poll what they wait for.
GRIDFOLD_FN bool has_states(i32 count, i32 each) { return i32(warp_index() * 32) * each < count; }

/// Reduces `count` states of every fold to one, pairwise by number, lowest bit first. Of the first Threads threads,
/// thread t has those numbered each·t to each·t + each − 1, each ≤ K a power of two; thread 0 gets the result in its
/// place 0. `all`: there are K · Threads states, of lanes. Every thread of the block calls it if Threads > 32, once for
/// each value of `all`; or, without `all`, the first warp alone if it has all `count` states.
template <class Kernel, int Threads, bool all, class States>
GRIDFOLD_FN void reduce(States& states, i32 count, i32 each) {
    constexpr int warp_count = Threads / 32;
    const i32 thread = i32(thread_index());
    const bool takes_part = all || has_states(count, each);

    if (takes_part) {
        Kernel::each_fold([&](auto f) {
            reduce_thread<MonoidOf<decltype(f), all>>(f.of(states), all ? each : smaller(each, count - thread * each));
        });
        reduce_lanes<Kernel, 32, all>(states, thread, count, each);
    }
    if constexpr (warp_count > 1) {
        if (!all && count <= 32 * each) return; // the first warp had them all // defect: second warp
        if (takes_part)
            Kernel::each_fold([&](auto f) {
                if (warp_lane() == 0 && thread < Threads)
                    WarpStates<decltype(f), warp_count, all>::put(warp_index(), f.of(states)[0]);
            });
        barrier(); // defect: barrier
        if (warp_index() != 0) return;
        const i32 warp = i32(warp_lane()) % warp_count; // of this lane, from here on
        Kernel::each_fold([&](auto f) {
            using Warps = WarpStates<decltype(f), warp_count, all>;
            if constexpr (one_thread_reduces<decltype(f), warp_count, all>) {
                typename MonoidOf<decltype(f), all>::State of_warps[warp_count];
#pragma unroll
                for (int i = 0; i < warp_count; ++i) of_warps[i] = Warps::get(u32(i));
                reduce_thread<MonoidOf<decltype(f), all>>(of_warps, warp_count); // defect: of warps
                f.of(states)[0] = of_warps[0];
            } else {
                if (all || warp * 32 * each < count) f.of(states)[0] = Warps::get(u32(warp));
            }
        });
        reduce_lanes<Kernel, warp_count, all>(states, warp, count, each * 32);
    }
}

/// Publishes this thread's states as the block's.
template <class Kernel>
GRIDFOLD_FN void publish_block(typename Kernel::template States<1>& states, const Workspace& workspace, u32 block,
                               u32 tag) {
    u32 words[Kernel::words];
    Kernel::each_fold([&](auto f) {
        StateWords<typename decltype(f)::Monoid::State> of;
        of.state = f.of(states)[0];
#pragma unroll
        for (u32 i = 0; i < sizeof(of) / 4; ++i) words[f.word + i] = of.word[i];
    });
    publish<Kernel::most_blocks>(workspace, block, tag, words); // defect: publish
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
        // A place without a block reads another's slots: a branch would make the next load wait for this one.
#pragma unroll
        for (int i = 0; i < K; ++i)
            missing |=
                collect<Kernel::most_blocks>(workspace, tag, smaller(first + (i < each ? i : 0), blocks - 1), words[i]);
    } while (missing != 0); // defect: polling
#pragma unroll
    for (int i = 0; i < K; ++i)
        Kernel::each_fold([&](auto f) {
            StateWords<typename decltype(f)::Monoid::State> of;
#pragma unroll
            for (u32 w = 0; w < sizeof(of) / 4; ++w) of.word[w] = words[i][f.word + w];
            f.of(states)[i] = of.state;
        });
}

/// Combines the grid's lanes into one state a fold and finishes the sweep. `elements`: the block's. `tagged`: does
/// anybody read the tag? Then it is known.
template <class Kernel>
GRIDFOLD_FN void combine(const Kernel& kernel, typename Kernel::Lanes& lanes, i64 elements, const Workspace& workspace,
                         bool tagged, u32 tag) {
    static_assert((Kernel::most_blocks & (Kernel::most_blocks - 1)) == 0, "shared out among a power of two of threads");
    // The threads that collect what the blocks publish.
    constexpr int collectors = Kernel::most_blocks / Kernel::collects;
    static_assert(32 <= collectors && collectors <= Kernel::threads && (collectors & (collectors - 1)) == 0);
    const i32 blocks = i32(kernel.blocks);

    reduce<Kernel, Kernel::threads, true>(lanes, i32(slab_elements<Kernel>), Kernel::width);
    typename Kernel::template States<1> states;
    if (thread_index() == 0) Kernel::close(lanes, states, elements);
    if constexpr (Kernel::words > 0)
        if (blocks > 1 && thread_index() == 0) publish_block<Kernel>(states, workspace, kernel.block, tag);
    if (i32(kernel.block) + 1 < blocks) return;
    if constexpr (Kernel::words > 0)
        if (blocks > 1) {
            i32 each = 1;
            while (each < Kernel::collects && each * 32 < blocks) each *= 2;
            // One warp, if it can. Others would poll while the first is still busy with this block's lanes: its
            // exchanges would queue behind their loads.
            if (blocks > each * 32) // defect: one warp
                barrier();
            else if (warp_index() != 0)
                return;
            typename Kernel::template States<Kernel::collects> partials;
            if (has_states(blocks, each))
                collect_blocks<Kernel, Kernel::collects>(partials, workspace, tag, blocks, each);
            reduce<Kernel, collectors, false>(partials, blocks, each);
            Kernel::each_fold([&](auto f) { f.of(states)[0] = f.of(partials)[0]; });
        }
    if (thread_index() != 0) return;
    kernel.finish(states, tag);
    if (tagged) workspace.template advance<Kernel::words, Kernel::most_blocks>(tag);
}

/// The whole kernel.
template <class Kernel> GRIDFOLD_FN void sweep(Kernel& kernel) {
    kernel.prologue();
    typename Kernel::Lanes lanes;
    Kernel::clear(lanes);
    i32 skipped = 0;
    if constexpr (Kernel::shifts) {
        skipped = i32(smaller(kernel.elements_before_packs(), kernel.elements)); // defect: few elements
        kernel.skip(skipped);
    }
    const Edges<Kernel> edges(kernel, skipped);
    if constexpr (Kernel::finishes) {
        const bool tagged =
            (Kernel::words > 0 && kernel.blocks > 1) || kernel.host != nullptr; // does anybody read tags?
        if constexpr (Kernel::prefetches) prefetch_first(kernel, edges, tagged);
        wait_for_previous_kernel();
        kernel.read_scalars();
        // Asked for now, since it comes from memory, but touched only after the folds: they need not wait for it.
        const Workspace workspace{kernel.workspace};
        const u32 last_tag = workspace.last_tag(tagged);
        if (Kernel::words > 0 && kernel.blocks > 1 && kernel.block + 1 == kernel.blocks)
            workspace.template prefetch_slots<Kernel::words, Kernel::most_blocks>(Kernel::threads, kernel.blocks);
        const i64 elements = fold_slabs(kernel, edges, lanes);
        let_next_kernel_start();
        combine(kernel, lanes, elements, workspace, tagged, last_tag + 1u); // defect: next tag
    } else {
        wait_for_previous_kernel();
        kernel.read_scalars();
        fold_slabs(kernel, edges, lanes);
    }
}

} // namespace GRIDFOLD_NAMESPACE
