// Distributes the elements of a part (a range that is folded by itself): slabs to blocks, the rest to threads. Depends
// on kernel.cuh and warp.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// Elements outside whole slabs: the tail (a partial slab), and those skipped to reach alignment. Reads no memory, so
/// it is computed before the kernel waits for the previous kernel.
template <class Kernel> struct Edges {
    u32 whole_slabs;   ///< of the domain; fewer than 2^31
    u32 tail_elements; ///< elements of the tail if this block folds it, else 0
    i32 skipped;       ///< skipped elements (fewer than Kernel::width) if this thread folds them, else 0

    GRIDFOLD_FN explicit Edges(const Kernel& kernel) : skipped(0) {
        const auto has_slab = [&](u32 slab) { // avoids the division where possible
            if (kernel.blocks == 1) return true;
            return (slab < kernel.blocks ? slab : slab % kernel.blocks) == kernel.block; // defect: turn
        };
        whole_slabs = u32(u64(kernel.elements) / slab_elements<Kernel>);
        tail_elements = u32(kernel.elements) % slab_elements<Kernel>;
        if (tail_elements > 0 && !has_slab(whole_slabs)) tail_elements = 0; // defect: tail turn
        // The last thread, which usually has no tail element, of a block that has fewer slabs than most.
        const bool takes = thread_index() + 1 == Kernel::threads && has_slab(whole_slabs + 1); // defect: takes
        if (Kernel::shifts && kernel.skipped > 0 && takes) skipped = i32(kernel.skipped);      // defect: skipped
    }
    /// This thread's part of the tail: its first element and its count.
    GRIDFOLD_FN i64 tail_first() const {
        return i64(whole_slabs) * slab_elements<Kernel> + thread_index() * Kernel::width;
    }
    GRIDFOLD_FN i32 tail_count() const {
        const u32 lane = thread_index() * Kernel::width;
        return tail_elements > lane ? smaller(i32(tail_elements - lane), Kernel::width) : 0; // defect: tail count
    }
};

} // namespace GRIDFOLD_NAMESPACE
