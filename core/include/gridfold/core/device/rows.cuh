// The course of rows: folds that keep the leading dims alone. Each part is a row of consecutive elements, folded as the
// flat course folds a whole domain, by one block or by several. Depends on flat.cuh and exchange.cuh.
//
// The generated text defines the Kernel (kernel.cuh), with these members besides:
//   i64 elements, results, part_blocks   elements of a row, the number of rows, and the blocks that fold one
//   u64* workspace                       PartSlots of each row if part_blocks > 1
//   begin(row)                           if rank > 0: sets what gather() needs: the row's coordinates, and pointers to
//                                        arrays that are read in order, too, before they move to the row
//   finish(states, result)               writes a row's result
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// Combines the lanes of a row's blocks into one state for each fold, and finishes the row. As combine() of
/// publish.cuh.
template <class Kernel>
GRIDFOLD_FN void combine_row(const Kernel& row, i64 number, Lanes<Kernel>& lanes, i64 elements,
                             const Exchange<Kernel>& exchange, u32 tag) {
    const i32 blocks = i32(row.blocks);

    reduce<Kernel, Kernel::threads, true>(lanes, i32(slab_elements<Kernel>), Kernel::width);
    States<Kernel, 1> states;
    if (thread_index() == 0) close<Kernel>(lanes, states, elements);
    if (blocks > 1) {
        if (thread_index() == 0) exchange.publish(states, 0, row.block, 0, tag);        // defect: publish row
        if (i32(row.block) + 1 < blocks) return;                                        // defect: last of row
        constexpr int most = Kernel::collects, collectors = Kernel::most_blocks / most; // blocks a thread, threads
        static_assert(32 <= collectors && collectors <= Kernel::threads);
        i32 each = 1;
        while (each < most && each * 32 < blocks) each *= 2;
        barrier(); // polling warps would delay the reduction of this block's lanes
        States<Kernel, most> partials;
        if (has_states(blocks, each)) {
            u32 missing;
            do {
                missing = 0;
                // States without a block read the last block's slots: a branch would make the next load wait.
#pragma unroll
                for (int i = 0; i < most; ++i) {
                    const i32 block = i32(thread_index()) * each + (i < each ? i : 0);
                    missing |=
                        exchange.collect(partials, i, u32(smaller(block, blocks - 1)), 0, tag); // defect: row's block
                }
            } while (missing != 0);
        }
        reconverge();
        reduce<Kernel, collectors, false>(partials, blocks, each);
        Kernel::Folds::each([&](auto f) { f.of(states)[0] = f.of(partials)[0]; });
    }
    if (thread_index() == 0) row.finish(states, number); // defect: finish row
    if (blocks > 1) exchange.advance(tag);
}

/// Folds row `number` with the other blocks whose items are of this row. `ends`: the block has no row after it.
template <class Kernel> GRIDFOLD_FN void fold_row(const Kernel& kernel, i64 number, u32 block, bool ends) {
    Kernel row = kernel;
    row.block = block;
    row.blocks = u32(kernel.part_blocks);
    if constexpr (Kernel::rank > 0) row.begin(number);
    const auto begin = [&](auto*& p) { p += number * kernel.elements; }; // defect: row begins
    Kernel::each_array(begin, row);
    Kernel::each_store(begin, row);
    row.aligned = loads_are_aligned(row);
    row.stores_aligned = stores_are_aligned(row);
    Lanes<Kernel> lanes;
    clear<Kernel>(lanes);
    if constexpr (Kernel::shifts) shift(row);
    const Edges<Kernel> edges(row);
    // Loaded early and used after the folds, so that its latency overlaps with them.
    const Exchange<Kernel> exchange(kernel, number, 1, kernel.part_blocks);
    const u32 last_tag = exchange.last_tag(row.blocks > 1);
    const i64 elements = fold_slabs(row, edges, lanes);
    if (ends) let_next_kernel_start();
    combine_row(row, number, lanes, elements, exchange, last_tag + 1u); // defect: row's tag
}

/// The whole kernel. Block b takes the items b, b + blocks …; item i is block i mod G of row i / G, so that a block
/// polls only blocks that started before it.
template <class Kernel> GRIDFOLD_FN void sweep_rows(Kernel& kernel) {
    static_assert(is_kernel_of_parts<Kernel>());
    if (!begin_rows_of(kernel)) return;
    const i64 items = kernel.results * kernel.part_blocks;
#pragma unroll 1
    for (i64 item = kernel.block; item < items; item += kernel.blocks) {
        i64 row = item;
        const i64 block = take_digit(row, kernel.part_blocks);
        const bool ends = item + kernel.blocks >= items;
        fold_row(kernel, row, u32(block), ends);
        if (!ends) barrier(); // the next row uses the same shared memory // defect: next row
    }
}

} // namespace GRIDFOLD_NAMESPACE
