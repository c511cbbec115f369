// The contract between a generated kernel and the course that runs it (flat.cuh). Depends on fold.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// A kernel's defaults: the emitted struct derives from it and redefines the members that differ. Each member states
/// the contract of its name.
template <int block_threads, int thread_width> struct SweepBase {
    static constexpr int threads = block_threads; ///< threads of a block
    static constexpr int width = thread_width;    ///< elements of a thread in one slab
    static constexpr int in_flight = 1;           ///< slabs loaded before the first is folded
    static constexpr int windows_in_flight = 1;   ///< the same for unaligned arrays
    static constexpr int most_blocks = 1;  ///< most blocks of a grid that folds, or of a row by runs; a power of 2
    static constexpr int collects = 1;     ///< most blocks whose states one thread collects; a power of 2
    static constexpr int rank = 0;         ///< number of coordinates; 0 if no array is read by coordinates
    static constexpr int kept_dims = 0;    ///< rows by warps: the coordinates before those of a row's elements
    static constexpr int packs = 1;        ///< of a thread, in rows by warps; of a run, in rows by threads and by runs
    static constexpr int row_threads = 32; ///< rows by warps and by runs: threads that fold a row; a power of 2
    static constexpr int row_packs = 1;    ///< rows by warps: packs of a thread in one row; a power of 2
    static constexpr int slab_warps = 1;   ///< warps that share a slab of a row; a power of 2
    static constexpr int slabs = 1;        ///< most slabs of a block of a held row, or of a row by runs
    static constexpr int taken = -1;       ///< of held rows by threads
    static constexpr int cluster = 1;      ///< thread blocks that share a row
    static constexpr bool cooperates = false; ///< they are no cluster: the grid is launched cooperatively
    static constexpr int state_words = 0;     ///< … of the states of all folds
    static constexpr int phases = 1;          ///< … of a held row
    static constexpr bool calls = false;      ///< element() calls functions by called() of lanes.cuh
    /// Whole rows: there are thread blocks for all rows at once. Loops over rows then end after the first ones, and the
    /// compiler needs no registers for what is the same for all.
    static constexpr bool one_turn = false;
    static constexpr bool one_row = false;       ///< held rows: whole arrays, which begin at a whole pack
    static constexpr int held_words = 0;         ///< of a pack of a held row, in shared memory
    static constexpr bool several_slabs = false; ///< there: blocks of rows may have several slabs
    static constexpr bool whole_packs = false;  ///< there: rows of one length have whole packs alone, of aligned arrays
    static constexpr bool whole_slabs = false;  ///< there: rows have whole slabs alone, of aligned arrays
    static constexpr bool counts_slabs = false; ///< there: all of a block's `slabs` are whole, but the last
    static constexpr bool even_blocks = false;  ///< there: whole slabs, and each of their blocks has `slabs`
    static constexpr bool several_blocks = false; ///< there: rows may have several blocks
    static constexpr int lanes_each = 1;          ///< columns: lanes of a thread; a power of 2
    static constexpr int apart = 1;               ///< there: from a column of a thread to its next
    static constexpr bool staggered = false;      ///< there: a thread's pack may begin before its strip
    static constexpr bool few_slabs = false;      ///< there: a lane has at most `in_flight` rows
    static constexpr bool one_lane = false;       ///< there: each column has one lane of one block
    static constexpr int arrays_in_words = 0;     ///< held rows: the unaligned arrays that a phase stores in words
    static constexpr int tile_bytes = 0;     ///< rows by threads and by runs: shared memory of a warp, a multiple of 16
    static constexpr int unit = 1;           ///< rows by threads: every row begins at a multiple of so many elements
    static constexpr int elements_ahead = 0; ///< held rows: what a thread block prefetches is so much further; or 0
    static constexpr bool gathers_packs = false; ///< rows by warps: whole packs are gathered by gather_packs()
    static constexpr bool finishes = false;      ///< it folds or yields: one thread calls finish(states, tag) once
    static constexpr bool rest_at_once = false;  ///< loads what is left of a batch at once, not in halves
    static constexpr bool tail_early = false;    ///< registers hold the tail's packs during the slabs in flight
    static constexpr bool prefetches = false;    ///< prefetches its first slabs before the previous kernel ends
    static constexpr bool shifts = false;        ///< begins at the first whole pack of its only array
    static constexpr bool realigns = false;      ///< reads unaligned arrays in Windows
    static constexpr bool scatters = false;      ///< writes arrays by coordinates

    using Folds = FoldList<>;
    struct Loads {};   ///< one thread's elements of one slab: packs, gathered elements, coordinates
    struct Windows {}; ///< the packs of one slab before they are aligned (loads.cuh)
    struct Stored {};  ///< one thread's results of one slab
    struct Results {}; ///< boxes and columns: packs of neighbouring results of folds

    u32 block, blocks;   ///< this block's number, and the number of blocks that fold the part
    bool aligned;        ///< arrays read in order can be read in whole packs
    bool stores_aligned; ///< stored arrays can be written in whole packs
    i64 skipped;         ///< elements of the part before number 0
    u32 tag;             ///< held rows: of what is published, or yielded, for the first row

    /// Calls visit(of.in_0...) for each array that is read in order, visit(of.out_0...) for each stored in order. Each
    /// `of` is the kernel (then the member is a pointer), Loads, Windows or Stored.
    template <class Visit, class... Of> GRIDFOLD_FN static void each_array(Visit, Of&...) {}
    template <class Visit, class... Of> GRIDFOLD_FN static void each_store(Visit, Of&...) {}
    /// The same for the results of folds that are stored in order: `of` is the kernel, or Results.
    template <class Visit, class... Of> GRIDFOLD_FN static void each_result(Visit, Of&...) {}

    /// gather(loads, coordinates, n): reads element n of the arrays read by coordinates, if there are any.
    template <class Loads, class At> GRIDFOLD_FN void gather(Loads&, const At&, int) const {}
    /// gather_packs(loads, coordinates): the same for arrays that have a pack's elements side by side, all at once;
    /// gather_others(loads, coordinates, n): element n of the others.
    template <class Loads, class At> GRIDFOLD_FN void gather_packs(Loads&, const At&) const {}
    template <class Loads, class At> GRIDFOLD_FN void gather_others(Loads&, const At&, int) const {}
    /// In the course of tiles: see tiles.cuh.
    template <class Stored, class At> GRIDFOLD_FN void scatter(const Stored&, const At&, int) const {}
    template <class Loads, class Tile> GRIDFOLD_FN void read_across(Loads&, const Tile&) const {}
    template <class Stored, class Tile> GRIDFOLD_FN void write_across(const Stored&, const Tile&) const {}

    /// prologue() computes the values that depend on parameters alone; read_scalars() those that need earlier sweeps.
    GRIDFOLD_FN void prologue() {}
    GRIDFOLD_FN void read_scalars() {}
};

/// Checks the members that have no default:
///   i64 elements                     the extent of the part
///   element(loads, at)               maps one element: reads loads at number at.n, calls at.fold(Fold{}, value) or
///                                    at.fold(Fold{}, value, accepted), writes at.stored; at.index() is its number
///   i64 extents[rank]                if rank > 0
///   scatter(stored, coordinates, n)  if it scatters: writes element n by its coordinates
///   Scalar* scalars, u64* workspace, u64* host    if finishes
template <class Kernel> constexpr bool is_kernel() {
    constexpr auto is_power_of_2 = [](int x) { return x > 0 && (x & (x - 1)) == 0; };
    static_assert(Kernel::threads % 32 == 0 && Kernel::threads <= 1024, "a block is whole warps");
    static_assert(is_power_of_2(Kernel::width), "a slab is a power of 2");
    static_assert(Kernel::in_flight >= Kernel::windows_in_flight && Kernel::windows_in_flight >= 1);
    static_assert(is_power_of_2(Kernel::most_blocks) && is_power_of_2(Kernel::collects),
                  "blocks are shared out among a power of 2 of threads");
    static_assert(Kernel::finishes || Kernel::Folds::words == 0, "what folds finishes");
    static_assert(!Kernel::shifts || Kernel::Folds::shifts, "a fold that counts its elements begins at the first");
    static_assert(!Kernel::scatters || Kernel::rank > 0, "what is scattered has coordinates");
    static_assert((!Kernel::tail_early && !Kernel::rest_at_once) || Kernel::rank == 0,
                  "what is gathered is not read in packs");
    static_assert(sizeof(Kernel::elements) == 8);
    if constexpr (Kernel::finishes)
        static_assert(sizeof(Kernel::scalars) == 8 && sizeof(Kernel::workspace) == 8 && sizeof(Kernel::host) == 8);
    if constexpr (Kernel::rank > 0) static_assert(sizeof(Kernel::extents) == 8 * Kernel::rank);
    return true;
}

/// Elements that a block processes at a time: the order's 2,048 in a kernel that folds, any number in one that only
/// maps, and in one of columns.
template <class Kernel> inline constexpr i64 slab_elements = i64(Kernel::threads) * Kernel::width;

} // namespace GRIDFOLD_NAMESPACE
