// The flat course: the blocks of a grid take the slabs of one part in turn. Each block loads, folds and stores, then
// combines lanes, warps and blocks. The generated text defines the Kernel (kernel.cuh). Depends on parts.cuh and
// publish.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// A compile-time constant as a lambda's argument.
template <auto value> struct Constant {
    GRIDFOLD_FN constexpr auto operator()() const { return value; }
};

/// The loads of `count` slabs in flight.
template <class Kernel, Access access, int count> struct Batch {
    typename Kernel::Loads loads[count];
};
template <class Kernel, int count> struct Batch<Kernel, Access::windows, count> {
    typename Kernel::Loads loads[count];
    typename Kernel::Windows windows[count];
};

/// Calls `fold(Constant<count>)` if at least `count` slabs of the block are left before `end`, then the same for half
/// of `count`, down to `least`.
template <int count, int least, class Fold>
GRIDFOLD_FN void fold_halves(const u32& slab, u32 blocks, u32 end, const Fold& fold) {
    if (slab + (count - 1) * blocks < end) fold(Constant<count>{}); // defect: half batch
    if constexpr (count > least) fold_halves<count / 2, least>(slab, blocks, end, fold);
}

/// Prefetches up to four whole slabs of a block and the tail into the L2, if the block has no more slabs. Safe before
/// the previous kernel has ended: its writes update the L2, too.
template <class Kernel> GRIDFOLD_FN void prefetch_first(const Kernel& kernel, const Edges<Kernel>& edges, bool tagged) {
    constexpr u32 most_slabs = 4;
    constexpr i64 slab_size = slab_elements<Kernel>;
    if (edges.whole_slabs > most_slabs * kernel.blocks) return;
    if (tagged && thread_index() == 0) prefetch(kernel.workspace);
    const u32 slab = kernel.block + thread_index() * kernel.blocks; // one slab a thread
    if (thread_index() <= most_slabs && slab <= edges.whole_slabs)
        prefetch_elements(kernel, i64(slab) * slab_size,
                          slab < edges.whole_slabs ? u32(slab_size) : edges.tail_elements); // defect: prefetched
}

/// True if the next kernel's launch and prefetches cost this kernel less than they save: the blocks of both fit the
/// multiprocessors side by side, or each block folds for long (bench/NOTES.md).
template <class Kernel> GRIDFOLD_FN bool next_starts_early(const Edges<Kernel>& edges) {
    constexpr u32 side_by_side = Kernel::most_blocks / 4, one_each = Kernel::most_blocks / 2, long_block_bytes = 65536;
    constexpr u32 slab_bytes = sizeof(typename Kernel::Loads) * Kernel::threads;
    return grid_blocks() <= side_by_side ||
           (grid_blocks() <= one_each && edges.whole_slabs / one_each * slab_bytes >= long_block_bytes);
}

/// Folds the slabs of this block into its threads' lanes: block b of G folds the slabs s with s mod G = b. Returns the
/// block's number of elements.
template <class Kernel>
GRIDFOLD_FN i64 fold_slabs(const Kernel& kernel, const Edges<Kernel>& edges, Lanes<Kernel>& lanes) {
    constexpr int in_flight = Kernel::in_flight;
    constexpr int width = Kernel::width;
    constexpr i64 slab_size = slab_elements<Kernel>;
    const u32 blocks = kernel.blocks;
    u32 lane = thread_index() * width;
    keep(lane);

    // Whole packs of the tail are loaded before slabs are folded, so that their latency overlaps with the slabs'.
    typename Kernel::Loads tail;
    const bool tail_in_packs = Kernel::tail_early && kernel.aligned && edges.tail_count() == width; // defect: tail pack
    if constexpr (Kernel::tail_early) load_if(tail_in_packs, kernel, tail, edges.tail_first());

    u32 slab = kernel.block; // defect: first slab
    u32 turn = 0;            // slabs folded so far

    // Every thread loads the block's first element, the source of the shared origin: broadcasting it would take a
    // barrier. The loop waits for it together with the first slabs. With wide states it is waited for before the loop:
    // a branch inside would cost more than the wait.
    constexpr bool shares_in_loop = Kernel::Folds::shares && Kernel::Folds::words <= 8;
    typename Kernel::Loads head;
    const i64 start = i64(kernel.block) * slab_size; // defect: first element
    if constexpr (Kernel::Folds::shares && !shares_in_loop)
        if (start < kernel.elements) {
            load<false, false>(kernel, head, start, 1);
            share(kernel, lanes, head, start);
        }
    const auto load_head = [&] {
        if constexpr (shares_in_loop)
            if (turn == 0) load<false, false>(kernel, head, start, 1);
    };
    const auto share_head = [&] {
        if constexpr (shares_in_loop)
            if (turn == 0) share(kernel, lanes, head, start);
    };

    // This thread's first element of slab number `u` of a batch.
    const auto first = [&](int u) { return i64(slab + u * blocks) * slab_size + lane; }; // defect: slab in flight
    // Loads `count` slabs of this block, then folds them.
    const auto fold_batch = [&](auto access, auto count) {
        Batch<Kernel, access(), count()> batch;
        load_head();
#pragma unroll
        for (int u = 0; u < count(); ++u)
            if constexpr (access() == Access::windows)
                load_windows(kernel, batch.windows[u], batch.loads[u], first(u));
            else
                load<access() == Access::packs, true>(kernel, batch.loads[u], first(u), width);
#pragma unroll
        for (int u = 0; u < count(); ++u) {
            if constexpr (access() == Access::windows) realign(kernel, batch.loads[u], batch.windows[u]);
            if (u == 0) share_head();
            fold_elements<true>(kernel, lanes, batch.loads[u], first(u), width, turn + u); // defect: turn number
        }
        turn += count();          // defect: count turns
        slab += count() * blocks; // defect: next slab
    };
    // Loads the slabs that are left before `end`, at most `count`, then folds them.
    const auto fold_rest = [&](auto count, u32 end) {
        if (slab >= end) return;
        Batch<Kernel, Access::packs, count()> batch;
        load_head();
#pragma unroll
        for (int u = 0; u < count(); ++u)
            load_if(slab + u * blocks < end, kernel, batch.loads[u], first(u)); // defect: load rest
        share_head();
        u32 folded = 0;
#pragma unroll
        for (int u = 0; u < count(); ++u)
            if (slab + u * blocks < end) { // defect: fold rest
                fold_elements<true>(kernel, lanes, batch.loads[u], first(u), width, turn + u);
                ++folded;
            }
        turn += folded; // defect: count rest
        slab += folded * blocks;
    };
    // Folds slabs before `end` in whole batches, then what is left: at once, or in a half batch, a quarter, and so on.
    // With wide states, where each batch is much code, only in whole batches and one half; the caller folds the rest
    // slab by slab.
    const auto fold_batches = [&](auto access, auto count, u32 end) {
        while (slab + (count() - 1) * blocks < end) fold_batch(access, count); // defect: last batch
        constexpr int least = Kernel::Folds::words <= 8 ? 1 : count() / 2;
        if constexpr (count() > 1 && access() == Access::packs && Kernel::rest_at_once)
            fold_rest(Constant<count() - 1>{}, end);
        else if constexpr (count() > 1)
            fold_halves<count() / 2, least>(slab, blocks, end, [&](auto half) { fold_batch(access, half); });
    };
    if constexpr (Kernel::finishes)
        if (next_starts_early<Kernel>(edges)) let_next_kernel_start();
    while (slab < edges.whole_slabs) { // one iteration, except in block 0 of unaligned arrays
        u32 end = edges.whole_slabs;
        if (kernel.aligned) {
            fold_batches(Constant<Access::packs>{}, Constant<in_flight>{}, end);
        } else if constexpr (Kernel::realigns) {
            // A window reads beyond its slab: memory before the first slab and after the last may not be readable.
            const u32 last = end - 1; // defect: last window
            if (slab > 0)             // defect: first window
                fold_batches(Constant<Access::windows>{}, Constant<Kernel::windows_in_flight>{}, last);
            else
                end = 1;
        }
#pragma unroll 1
        while (slab < end) fold_batch(Constant<Access::elements>{}, Constant<1>{}); // defect: single slabs
    }

    const auto fold_by_element = [&](i64 first, i32 count) {
        if (count <= 0) return;
        typename Kernel::Loads loads;
        load_head();
        load<false, false>(kernel, loads, first, count);
        share_head();
        fold_elements<false>(kernel, lanes, loads, first, count, turn);
    };
    if (tail_in_packs) {
        load_head();
        share_head();
        fold_elements<true>(kernel, lanes, tail, edges.tail_first(), width, turn); // defect: fold tail
    } else {                                                                       // defect: rest of tail
        fold_by_element(edges.tail_first(), edges.tail_count());
    }
    if constexpr (Kernel::shifts) fold_by_element(-edges.skipped, edges.skipped); // defect: before packs
    const i64 stride = blocks * slab_size;                                        // defect: stride
    end<Kernel>(lanes, turn, edges.tail_count(), start + lane, stride);
    return i64(turn) * slab_size + edges.tail_elements;
}

/// The whole kernel.
template <class Kernel> GRIDFOLD_FN void sweep(Kernel& kernel) {
    static_assert(is_kernel<Kernel>());
    kernel.aligned = loads_are_aligned(kernel);
    kernel.stores_aligned = stores_are_aligned(kernel);
    kernel.prologue();
    Lanes<Kernel> lanes;
    clear<Kernel>(lanes);
    if constexpr (Kernel::shifts) shift(kernel);
    const Edges<Kernel> edges(kernel);
    if constexpr (Kernel::finishes) {
        const bool tagged =
            (Kernel::Folds::words > 0 && kernel.blocks > 1) || kernel.host != nullptr; // something reads tags
        if constexpr (Kernel::prefetches) prefetch_first(kernel, edges, tagged);
        // Of several blocks, only the threads that publish or collect states read the tag: all read the same word.
        constexpr u32 users = Kernel::most_blocks / Kernel::collects;
        const bool reads_tag = tagged && (grid_blocks() == 1 || thread_index() < users); // defect: users of the tag
        wait_for_previous_kernel();
        kernel.read_scalars();
        // Loaded early and used after the folds, so that its latency overlaps with them.
        const Workspace workspace{kernel.workspace};
        const u32 last_tag = workspace.last_tag(reads_tag);
        if (Kernel::Folds::words > 0 && kernel.blocks > 1 && kernel.block + 1 == kernel.blocks)
            workspace.template prefetch_slots<Kernel::Folds::words, Kernel::most_blocks>(Kernel::threads,
                                                                                         kernel.blocks);
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
