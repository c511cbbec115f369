// The course of boxes: folds that keep any dims. A thread block takes a tile: a part, or several small ones side by
// side. Each thread keeps the states of `width` positions of the tile's boxes through all slabs of its block;
// then the positions of each result combine through shared memory, and blocks through tagged slots. Depends on
// combine_positions.cuh.
//
// The generated text defines the Kernel (kernel.cuh), with these members besides:
//   dims                                 of Boxes; an odd number if the innermost dim is folded
//   Boxes<dims> boxes
//   i64 parts, slabs, part_blocks        of all batches; of a part; blocks that fold a part
//   i64 sharing                          the parts of a tile; 1 unless a part is one slab
//   i64 results                          of all parts
//   u64* workspace                       PartSlots of each part if part_blocks > 1
//   Results, each_result()               of the results that are stored in order
//   finish(states, result, results, n)   puts a result at number n of the packs, or writes it by coordinates
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// True if a thread may read its positions of a slab in windows: they, and as many elements on both sides, are in the
/// domain, which has `elements`. A window begins and ends less than that beside them.
template <class Kernel> GRIDFOLD_FN bool is_inside(i64 first, i64 elements) {
    constexpr int width = Kernel::width;
    return first >= width && first + 2 * width <= elements; // defect: inside
}

/// Folds slabs in which the thread has all of its positions, or only some, several in flight, as long as there are so
/// many before slab `end`. All positions are read, also those that are not in the slab. `slab` is number `number` of
/// the part, the walk's current one. Returns the number of slabs that it has folded.
template <bool all, class Kernel>
GRIDFOLD_FN i64 fold_whole_slabs(const Kernel& kernel, Positions<Kernel>& positions, const Tile<Kernel>& tile,
                                 SlabOfTile slab, const SlabWalk<Kernel::dims>& walk, i64 number, i64 end,
                                 const PositionPlace (&places)[Kernel::width]) {
    constexpr int in_flight = SlabsInFlight<Kernel>::count;
    const i32 own = first_position<Kernel>();
    const auto next = [&](int u) {
        return SlabOfTile{slab.first + u * walk.step_element, slab.index + u * walk.step_index, // defect: in flight
                          slab.elements};
    };
    const auto is_readable = [&](int u) {
        return !Kernel::realigns || is_inside<Kernel>(next(u).first + own, tile.domain_elements);
    };
    i64 count = 0;
#pragma unroll 1
    for (i64 last = number + (in_flight - 1) * kernel.part_blocks;
         last < end && is_readable(in_flight - 1); // defect: whole slabs
         last += in_flight * kernel.part_blocks) {
        SlabsInFlight<Kernel> slabs;
#pragma unroll
        for (int u = 0; u < in_flight; ++u) slabs.read(true, kernel, u, next(u).first + own);
#pragma unroll
        for (int u = 0; u < in_flight; ++u)
            fold_positions<all>(kernel, positions, places, slabs.take(kernel, u, next(u).first + own), next(u), own);
        slab = next(in_flight);
        count += in_flight;
    }
    return count;
}

/// Folds a block's slabs of a tile: block b of G folds the slabs s with s mod G = b. Returns the number of lanes of a
/// result that it has folded.
template <class Kernel>
GRIDFOLD_FN i32 fold_tile(const Kernel& kernel, Positions<Kernel>& positions, const Tile<Kernel>& tile, i64 block,
                          const PositionPlace (&places)[Kernel::width]) {
    constexpr int in_flight = SlabsInFlight<Kernel>::count;
    constexpr bool realigns = Kernel::realigns;
    const i32 own = first_position<Kernel>();
    const auto in_tile = [&](const auto& at) {
        return SlabOfTile{tile.element + at.element, at.index, at.lanes * tile.results}; // defect: elements of slab
    };
    SlabWalk<Kernel::dims> walk(kernel.boxes, block, kernel.part_blocks);
    i32 lanes = walk.at.lanes;
    i64 left = kernel.slabs - block; // to the part's end
    if (walk.is_regular && (kernel.aligned || realigns)) {
        if (has_none(in_tile(walk.at), own)) return lanes;
        const bool is_first = realigns && !is_inside<Kernel>(in_tile(walk.at).first + own, tile.domain_elements);
        if (is_first) { // defect: first window of box
            fold_by_elements(kernel, positions, places, in_tile(walk.at), own);
            walk.advance(kernel.boxes);
            left -= kernel.part_blocks;
        }
        const SlabOfTile slab = in_tile(walk.at);
        const i64 number = kernel.slabs - left, end = kernel.slabs - walk.last_is_short;
        i64 passed = 0;
        if (has_all<Kernel>(slab, own))
            passed = fold_whole_slabs<true>(kernel, positions, tile, slab, walk, number, end, places);
        else if constexpr (realigns) // one after the other, its elements would keep the block waiting
            passed = fold_whole_slabs<false>(kernel, positions, tile, slab, walk, number, end, places);
        walk.pass(kernel.boxes, passed);
        left -= passed * kernel.part_blocks; // defect: passed slabs
    }
#pragma unroll 1
    for (; left > 0; left -= in_flight * kernel.part_blocks) {
        const auto is_left = [&](int u) { return u * kernel.part_blocks < left; }; // defect: slabs left
        SlabOfTile slabs[in_flight];
        SlabWalk<Kernel::dims> from = walk;
        // All slabs in flight have all of the thread's positions; each is wanted, or has none of them.
        bool all_whole = kernel.aligned || realigns, packs = all_whole, wanted[in_flight];
#pragma unroll
        for (int u = 0; u < in_flight; ++u) {
            slabs[u] = in_tile(walk.at);
            if (!is_left(u)) slabs[u].elements = 0;
            if (is_left(u)) lanes = larger_of(lanes, walk.at.lanes);
            const bool all = has_all<Kernel>(slabs[u], own), none = has_none(slabs[u], own);
            wanted[u] = realigns ? !none && is_inside<Kernel>(slabs[u].first + own, tile.domain_elements) : all;
            all_whole = all_whole && all && wanted[u];
            packs = packs && (wanted[u] || none); // defect: batch of packs
            walk.advance(kernel.boxes);
        }
        if (Kernel::dims > 2 && all_whole) { // without branches; fewer dims are regular
            SlabsInFlight<Kernel> loads;
#pragma unroll
            for (int u = 0; u < in_flight; ++u) loads.read(true, kernel, u, slabs[u].first + own);
#pragma unroll
            for (int u = 0; u < in_flight; ++u)
                fold_positions<true>(kernel, positions, places, loads.take(kernel, u, slabs[u].first + own), slabs[u],
                                     own);
        } else if (packs) {
            SlabsInFlight<Kernel> loads;
#pragma unroll
            for (int u = 0; u < in_flight; ++u) loads.read(wanted[u], kernel, u, slabs[u].first + own);
#pragma unroll
            for (int u = 0; u < in_flight; ++u)
                if (wanted[u]) // defect: rest of batch
                    fold_positions<!realigns>(kernel, positions, places, loads.take(kernel, u, slabs[u].first + own),
                                              slabs[u], own);
        } else {
#pragma unroll 1
            for (int u = 0; u < in_flight && is_left(u); ++u) { // defect: slabs by elements
                fold_by_elements(kernel, positions, places, in_tile(from.at), own);
                from.advance(kernel.boxes); // defect: next slab by elements
            }
        }
    }
    return lanes;
}

/// Folds tile `number` with the other blocks of its parts.
template <class Kernel> GRIDFOLD_FN void sweep_tile(const Kernel& kernel, i64 number, i64 block) {
    constexpr int width = Kernel::width;
    const Tile<Kernel> tile(kernel, number);
    const Exchange<Kernel> exchange(kernel, number, tile.box_results, kernel.part_blocks);
    // Loaded early and used after the folds, so that its latency overlaps with them.
    const u32 last_tag = exchange.last_tag(kernel.part_blocks > 1);
    PositionPlace places[width];
    const auto find_places = [&] {
        u32 own = u32(first_position<Kernel>());
        keep(own); // finds them again after the folds, instead of holding them in registers
        tile.find(kernel, own, places);
    };
    find_places();
    States<Kernel, width> states;
    i32 lanes;
    {
        Positions<Kernel> positions;
        clear_positions<Kernel>(positions);
        lanes = fold_tile(kernel, positions, tile, block, places);
        close_positions<Kernel>(positions, states);
    }
    let_next_kernel_start();
    find_places();
    OwnResults<Kernel> own;
    combine_lanes_of(kernel, states, tile, places, lanes, own);
    const u32 tag = last_tag + 1u; // defect: part's tag
    if (!combine_blocks(states, own, u32(block), u32(kernel.part_blocks), exchange, tag)) return;
    finish_results(kernel, states, tile.result, own);
    if (kernel.part_blocks > 1) exchange.advance(tag);
}

/// True if every slab of every tile begins at a multiple of a thread's elements.
template <class Kernel> GRIDFOLD_FN bool slabs_are_aligned(const Kernel& kernel) {
    constexpr int width = Kernel::width;
    const auto& boxes = kernel.boxes;
    if (kernel.sharing > 1)
        return kernel.parts <= kernel.sharing || kernel.sharing * boxes.lanes() * boxes.results() % width == 0;
    bool all = true;
    i64 elements = 1, parts = 1; // of a batch
#pragma unroll
    for (int d = Kernel::dims - 1; d >= 0; --d) {
        all = all && (boxes.chunks[d] == 1 || boxes.box[d] * elements % width == 0); // defect: slabs aligned
        elements *= boxes.extent[d];
        if (d % 2 == 1) parts *= boxes.chunks[d];
    }
    return all && (kernel.parts == parts || elements % width == 0); // defect: batches aligned
}

/// The whole kernel. Block b is block b mod G of tile b / G, so that a block polls only blocks that started before it.
/// A loop over tiles would hold in registers, all the way, what every tile computes alike.
template <class Kernel> GRIDFOLD_FN void sweep_boxes(Kernel& kernel) {
    static_assert(is_kernel_of_parts<Kernel>());
    const bool slabs_aligned = slabs_are_aligned(kernel);
    bool reads_in_order = false;
    Kernel::each_array([&](auto*) { reads_in_order = true; }, kernel);
    kernel.aligned = !reads_in_order || (loads_are_aligned(kernel) && slabs_aligned);
    kernel.stores_aligned = stores_are_aligned(kernel) && slabs_aligned; // defect: boxes stored
    kernel.prologue();
    wait_for_previous_kernel();
    kernel.read_scalars();
    if (kernel.slabs == 0)
        return finish_empty(kernel, [&](const auto& states, i64 result) { finish_one(kernel, states, result); });
    i64 tile = kernel.block;
    const i64 block = take_digit(tile, kernel.part_blocks);
    sweep_tile(kernel, tile, block);
}

} // namespace GRIDFOLD_NAMESPACE
