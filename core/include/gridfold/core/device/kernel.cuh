// What a generated kernel is to the course that runs it (flat.cuh). Depends on fold.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// A kernel's defaults: the emitted struct derives from it and holds what differs. Each is the contract of the member
/// of the same name.
template <int block_threads, int thread_width> struct SweepBase {
    static constexpr int threads = block_threads; ///< of a block
    static constexpr int width = thread_width;    ///< elements of a slab that a thread has
    static constexpr int in_flight = 1;           ///< slabs loaded before the first is folded
    static constexpr int windows_in_flight = 1;   ///< the same of arrays that are not aligned
    static constexpr int most_blocks = 1;         ///< of a grid that folds; a power of 2
    static constexpr int collects = 1;            ///< of how many blocks a thread collects the states, at most; same
    static constexpr int rank = 0;                ///< of coordinates: 0 where nothing is read by them
    static constexpr bool finishes = false;       ///< it folds or yields: then finish(states, tag), once, in one thread
    static constexpr bool tail_early = false;     ///< the tail, in packs, has room beside the slabs in flight
    static constexpr bool prefetches = false;     ///< asks the L2 for its first slabs before the kernel before it ends
    static constexpr bool shifts = false;         ///< begins at the first whole pack of its only array
    static constexpr bool realigns = false;       ///< reads arrays that are not aligned in Windows

    using Folds = FoldList<>;
    struct Loads {};   ///< one thread's elements of one slab: packs, gathered elements, coordinates
    struct Windows {}; ///< the same of what is read in packs, not yet aligned (loads.cuh)
    struct Stored {};  ///< one thread's results of one slab

    u32 block, blocks;   ///< this block's number, and how many fold the part
    bool aligned;        ///< arrays that are read in order can be read by whole packs
    bool stores_aligned; ///< arrays that are stored can be written by whole packs
    i64 skipped;         ///< elements of the part before the first that is counted as number 0

    /// Calls visit(of.in_0...) for each array that is read in order, visit(of.out_0...) for each that is stored: `of`
    /// are the kernel, with pointers, and Loads, Windows or Stored.
    template <class Visit, class... Of> GRIDFOLD_FN static void each_array(Visit, Of&...) {}
    template <class Visit, class... Of> GRIDFOLD_FN static void each_store(Visit, Of&...) {}

    /// Computes what is the same for all elements: from parameters, and from what earlier sweeps yielded.
    GRIDFOLD_FN void prologue() {}
    GRIDFOLD_FN void read_scalars() {}
};

/// Checks what no default can stand for:
///   i64 elements                     the extent of the part
///   element(loads, at)               maps one element: reads loads at number at.n, calls at.fold(Fold{}, value) or
///                                    at.fold(Fold{}, value, accepted), writes at.stored; at.index() is its number
///   gather(loads, coordinates, n)    with i64 extents[rank]: reads element n by its coordinates
///   Scalar* scalars, u64* workspace, u64* host    where it finishes
template <class Kernel> constexpr bool is_kernel() {
    constexpr auto is_power_of_2 = [](int x) { return x > 0 && (x & (x - 1)) == 0; };
    static_assert(Kernel::threads % 32 == 0 && Kernel::threads <= 1024, "a block is whole warps");
    static_assert(is_power_of_2(Kernel::width), "a slab is a power of 2");
    static_assert(Kernel::in_flight >= Kernel::windows_in_flight && Kernel::windows_in_flight >= 1);
    static_assert(is_power_of_2(Kernel::most_blocks) && is_power_of_2(Kernel::collects),
                  "blocks are shared out among a power of 2 of threads");
    static_assert(Kernel::finishes || Kernel::Folds::words == 0, "what folds finishes");
    static_assert(!Kernel::shifts || Kernel::Folds::shifts, "a fold that counts its elements begins at the first");
    static_assert(!Kernel::tail_early || Kernel::rank == 0, "what is gathered is not read in packs");
    static_assert(sizeof(Kernel::elements) == 8);
    if constexpr (Kernel::finishes)
        static_assert(sizeof(Kernel::scalars) == 8 && sizeof(Kernel::workspace) == 8 && sizeof(Kernel::host) == 8);
    if constexpr (Kernel::rank > 0) static_assert(sizeof(Kernel::extents) == 8 * Kernel::rank);
    return true;
}

/// Consecutive elements that a block takes at a time: where they are folded, the order's 2,048; where they are not, as
/// many as suit.
template <class Kernel> inline constexpr i64 slab_elements = i64(Kernel::threads) * Kernel::width;

} // namespace GRIDFOLD_NAMESPACE
