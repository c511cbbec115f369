// How the elements of a part (what is folded by itself) are shared out: slabs among blocks, the rest among threads.
// Depends on kernel.cuh and warp.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// Elements outside whole slabs: the tail (a partial slab), and those skipped to reach alignment. Computed before the
/// kernel waits for the one before it, since it reads no memory.
template <class Kernel> struct Edges {
    u32 whole_slabs;   ///< of the domain; in 32 bits, as no domain has 2^31 of them
    u32 tail_elements; ///< of this block: 0 where the tail is not its turn
    i32 skipped; ///< elements that were skipped, fewer than a slab's of a thread, if they are this thread's, else 0

    GRIDFOLD_FN explicit Edges(const Kernel& kernel) : skipped(0) {
        const auto has_slab = [&](u32 slab) { // without a division where there is no need
            if (kernel.blocks == 1) return true;
            return (slab < kernel.blocks ? slab : slab % kernel.blocks) == kernel.block; // defect: turn
        };
        whole_slabs = u32(u64(kernel.elements) / slab_elements<Kernel>);
        tail_elements = u32(kernel.elements) % slab_elements<Kernel>;
        if (tail_elements > 0 && !has_slab(whole_slabs)) tail_elements = 0; // defect: tail turn
        // A thread that has none of the tail, as a rule, in a block that has fewer slabs than most.
        const bool takes = thread_index() + 1 == Kernel::threads && has_slab(whole_slabs + 1); // defect: takes
        if (Kernel::shifts && kernel.skipped > 0 && takes) skipped = i32(kernel.skipped);      // defect: skipped
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

} // namespace GRIDFOLD_NAMESPACE
