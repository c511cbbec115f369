// The canonical order of a reduction. It depends only on extents, so that every backend, device and plan gives the same
// bits.
//
// Input: the extents of the operand's dims in the graph's order, and which of them are kept.
// 1. Leading kept dims are the batch. Of the rest, neighbouring folded dims are merged into one, and neighbouring kept
//    dims; then dims 0, 2, 4 … are folded, 1, 3, 5 … kept.
// 2. A slab is a box of at most slab_elements consecutive elements: the longest run of whole inner dims that fits,
//    times the largest power of two of coordinates of the next dim, the cut, that fits. The last chunk of the cut may
//    be shorter. If all dims fit, there is one slab and no cut.
// 3. A part is a set of results that share slabs: one coordinate of the batch and of the kept dims outside the cut, and
//    one chunk of the cut if it is kept. Its slabs are numbered row-major over the folded dims outside the cut and the
//    chunks of the cut if it is folded. A result's lanes are its elements within a slab, numbered row-major over the
//    folded dims. Slab s of a part belongs to block s mod G.
// 4. Each lane of a block folds its elements in increasing order; lanes, then blocks combine pairwise by number, lowest
//    bit first. Lanes that hold no element take no part.
//
// Without kept dims inside folded ones (rank 1: whole folds and rows) a slab is slab_elements consecutive elements of
// what is folded, and G is block_count(). The index that a monoid sees is row-major over the folded dims. The lanes of
// a block share the origin of unmasked moments only at rank 1.
//
// This header defines every number of the order. Host kernels, which are compiled once for each instruction set and may
// share no function, use only its constants.
#pragma once

#include <cstdint>

namespace gf {

/// Incremented by every change of the order that changes the bits of any result. explain() prints it.
inline constexpr int order_version = 1;

/// The same for the elementary functions, whose text is in core/device/functions.
inline constexpr int function_version = 3;

/// The most elements of a slab.
inline constexpr std::int64_t slab_elements = 2048;

/// The most elements of a domain, and of results. Products of its extents cannot overflow then.
inline constexpr std::int64_t max_domain_elements = std::int64_t{1} << 48;

/// The most blocks of one reduction. On an H200, 256 blocks reach the bandwidth of any larger grid, and each block
/// costs time to combine (bench/NOTES.md).
inline constexpr std::int64_t max_blocks = 256;

/// The slabs of a block where kept dims lie inside folded ones: enough that combining the lanes of its positions is a
/// small part of the work, and a slab for each 64 results, so that the f32 sums that it exchanges are at most 1/16 of
/// the bytes that it reads; at most as many as keep sums precise: a lane is one running sum.
inline constexpr std::int64_t least_slabs_of_box_block = 8;
inline constexpr std::int64_t results_for_a_slab = 64;
inline constexpr std::int64_t most_slabs_of_box_block = 1024;

constexpr std::int64_t slab_count(std::int64_t elements) { return (elements + slab_elements - 1) / slab_elements; }

/// The most slabs that one block folds alone.
inline constexpr std::int64_t one_block_slabs = 5;

/// G where no kept dim lies inside a folded one: the number of blocks that fold `elements` elements. Latency dominates
/// small sums: one block up to one_block_slabs, then two slabs a block. From 128 blocks on, a second block on a
/// multiprocessor costs more to combine than it saves, unless each block folds eight slabs.
constexpr std::int64_t block_count(std::int64_t elements) {
    const std::int64_t slabs = slab_count(elements);
    if (slabs <= one_block_slabs) return 1;
    const std::int64_t few = (slabs + 1) / 2, many = (slabs + 7) / 8;
    const std::int64_t wanted = few < max_blocks / 2 ? few : many < max_blocks / 2 ? max_blocks / 2 : many;
    return wanted < max_blocks ? wanted : max_blocks;
}

/// The order of the folds of one domain that keep the same dims. fold_order() makes it; all counts are of elements
/// unless they say otherwise.
struct FoldOrder {
    static constexpr int most_dims = 8; ///< max_rank

    std::int64_t batch = 1; ///< the product of the leading kept extents
    int rank = 1;           ///< the number of merged dims inside the batch; dim 0 is folded, dim 1 kept, and so on
    std::int64_t extent[most_dims] = {}; ///< of the merged dims, outermost first
    std::int64_t stride[most_dims] = {}; ///< elements between neighbours along a merged dim
    std::int64_t batch_stride = 0;       ///< elements of one coordinate of the batch

    int cut = -1;           ///< the merged dim that slabs take in chunks; −1: a slab is everything
    std::int64_t chunk = 0; ///< coordinates of the cut in a slab; without a cut, all of dim 0
    std::int64_t inner = 0; ///< elements of one coordinate of the cut (without one, of dim 0)

    std::int64_t parts = 0;         ///< of the whole domain
    std::int64_t slabs = 0;         ///< of a part
    std::int64_t blocks = 1;        ///< G, of a part
    std::int64_t slab_results = 0;  ///< results of a part; the last chunk of a kept cut has fewer
    std::int64_t lanes = 0;         ///< of a result in a slab; the last chunk of a folded cut has fewer
    std::int64_t folded = 0;        ///< elements of one result
    std::int64_t results = 0;       ///< of the whole domain
    std::int64_t inner_results = 0; ///< results in one coordinate of the cut
    std::int64_t inner_lanes = 0;   ///< lanes of a result in one coordinate of the cut

    /// True where no kept dim lies inside a folded one: each part is one result, and its elements are consecutive.
    constexpr bool is_flat() const { return rank == 1; }
    /// The outermost merged dim of a slab.
    constexpr int outermost() const { return cut < 0 ? 0 : cut; }
    static constexpr bool is_folded(int dim) { return dim % 2 == 0; }
    constexpr std::int64_t chunks() const { return cut < 0 ? 1 : (extent[cut] + chunk - 1) / chunk; }
    /// The elements of a full slab.
    constexpr std::int64_t elements_of_slab() const { return chunk * inner; }

    friend constexpr bool operator==(const FoldOrder&, const FoldOrder&) = default;
};

/// One part of a domain: consecutive parts have consecutive results.
struct PartOfOrder {
    std::int64_t element = 0; ///< the number of its first element in the domain
    std::int64_t result = 0;  ///< the number of its first result, row-major over the kept dims
    std::int64_t results = 0; ///< how many it has
    std::int64_t chunk = 0;   ///< coordinates of a kept cut in its slabs; else FoldOrder::chunk
};

/// One slab of a part.
struct SlabOfOrder {
    std::int64_t element = 0;  ///< the number of its first element in the domain; the others follow
    std::int64_t elements = 0; ///< how many it has
    std::int64_t index = 0;    ///< the index, among the folded elements of a result, of lane 0; the other lanes' follow
};

/// The place of one of a slab's elements.
struct PositionOfOrder {
    std::int64_t result; ///< among the part's results
    std::int64_t lane;   ///< of that result
    friend constexpr bool operator==(const PositionOfOrder&, const PositionOfOrder&) = default;
};

namespace detail {

/// Sets the merged dims, the batch and the counts that need no slab.
constexpr FoldOrder merged_order(const std::int64_t* extents, int count, unsigned kept) {
    FoldOrder order;
    bool has_elements = true;
    for (int d = 0; d < count; ++d) has_elements = has_elements && extents[d] > 0;
    if (!has_elements) { // products of folded extents might overflow
        for (int d = 0; d < count; ++d)
            if ((kept >> d & 1U) != 0) order.batch = extents[d] == 0 || order.batch == 0 ? 0 : order.batch * extents[d];
        order.results = order.batch;
        return order;
    }
    int d = 0;
    for (; d < count && (kept >> d & 1U) != 0; ++d) order.batch *= extents[d];
    order.rank = 0;
    for (; d < count; ++d) {
        const bool folds = (kept >> d & 1U) == 0;
        if (order.rank > 0 && FoldOrder::is_folded(order.rank - 1) == folds)
            order.extent[order.rank - 1] *= extents[d];
        else
            order.extent[order.rank++] = extents[d];
    }
    if (order.rank == 0) order.extent[order.rank++] = 1; // a fold of one element
    order.batch_stride = 1;
    order.folded = 1;
    order.results = order.batch;
    for (d = order.rank - 1; d >= 0; --d) {
        order.stride[d] = order.batch_stride;
        order.batch_stride *= order.extent[d];
        (FoldOrder::is_folded(d) ? order.folded : order.results) *= order.extent[d];
    }
    return order;
}

/// G where kept dims lie inside folded ones, for a part with `slabs` slabs of `results` results. `beside`: the parts of
/// one coordinate of the batch, which are other blocks' work.
constexpr std::int64_t box_block_count(std::int64_t slabs, std::int64_t results, std::int64_t beside) {
    const std::int64_t for_results = results / results_for_a_slab;
    const std::int64_t least = for_results > least_slabs_of_box_block ? for_results : least_slabs_of_box_block;
    const std::int64_t full = slabs / least, room = max_blocks / beside;
    const std::int64_t precise = (slabs + most_slabs_of_box_block - 1) / most_slabs_of_box_block;
    const std::int64_t wanted = full < room ? full : room, count = wanted > precise ? wanted : precise;
    return count < max_blocks ? count : max_blocks;
}

constexpr std::int64_t largest_power_of_two_in(std::int64_t n) {
    std::int64_t power = 1;
    while (power <= n / 2) power *= 2;
    return power;
}

} // namespace detail

/// The order of folds over a domain of `count` dims, whose extents are given in the graph's order; bit d of `kept`: dim
/// d is kept. Domains have at most max_domain_elements.
///
/// A domain without elements has rank 1, a part for each result, and no slabs.
constexpr FoldOrder fold_order(const std::int64_t* extents, int count, unsigned kept) {
    FoldOrder order = detail::merged_order(extents, count, kept);
    if (order.folded == 0) {
        order.parts = order.results;
        order.slab_results = 1;
        return order;
    }
    int d = order.rank - 1;
    order.inner = order.inner_results = order.inner_lanes = 1;
    for (; d > 0 && order.inner * order.extent[d] <= slab_elements; --d) {
        order.inner *= order.extent[d];
        (FoldOrder::is_folded(d) ? order.inner_lanes : order.inner_results) *= order.extent[d];
    }
    const bool all_fit = d == 0 && order.inner * order.extent[0] <= slab_elements;
    order.cut = all_fit ? -1 : d;
    order.chunk = all_fit ? order.extent[0] : detail::largest_power_of_two_in(slab_elements / order.inner);
    const bool folds_cut = FoldOrder::is_folded(order.outermost());
    order.lanes = order.inner_lanes * (folds_cut ? order.chunk : 1);
    order.slab_results = order.inner_results * (folds_cut ? 1 : order.chunk);

    order.parts = order.batch * (folds_cut ? 1 : order.chunks());
    order.slabs = folds_cut ? order.chunks() : 1;
    for (int outer = 0; outer < order.outermost(); ++outer)
        (FoldOrder::is_folded(outer) ? order.slabs : order.parts) *= order.extent[outer];
    order.blocks = order.is_flat()
                       ? block_count(order.folded)
                       : detail::box_block_count(order.slabs, order.slab_results, order.parts / order.batch);
    return order;
}

/// The order of a fold of `elements` elements, none of whose dims are kept.
constexpr FoldOrder fold_order(std::int64_t elements) { return fold_order(&elements, 1, 0); }

/// Part number `part`, from 0.
constexpr PartOfOrder part_of(const FoldOrder& order, std::int64_t part) {
    if (order.slabs == 0) return {0, part, 1, 0};
    const int outermost = order.outermost();
    PartOfOrder found{0, 0, order.slab_results, order.chunk};
    std::int64_t outer = part; // row-major over the batch and the kept dims outside the slabs
    if (!FoldOrder::is_folded(outermost)) {
        const std::int64_t first = outer % order.chunks() * order.chunk, left = order.extent[outermost] - first;
        outer /= order.chunks();
        if (left < order.chunk) found.chunk = left;
        found.element = first * order.inner;
        found.results = found.chunk * order.inner_results;
        found.result = (outer * order.extent[outermost] + first) * order.inner_results;
    } else {
        found.result = outer * order.slab_results;
    }
    for (int d = outermost - 1; d > 0; --d) {
        if (FoldOrder::is_folded(d)) continue;
        found.element += outer % order.extent[d] * order.stride[d];
        outer /= order.extent[d];
    }
    found.element += outer * order.batch_stride;
    return found;
}

/// Slab number `slab`, from 0, of a part.
constexpr SlabOfOrder slab_of(const FoldOrder& order, const PartOfOrder& part, std::int64_t slab) {
    const int outermost = order.outermost();
    SlabOfOrder found{part.element, part.chunk * order.inner, 0};
    std::int64_t outer = slab; // row-major over the folded dims outside the slabs
    if (FoldOrder::is_folded(outermost)) {
        const std::int64_t first = outer % order.chunks() * order.chunk, left = order.extent[outermost] - first;
        outer /= order.chunks();
        if (left < order.chunk) found.elements = left * order.inner;
        found.element += first * order.inner;
        found.index = (outer * order.extent[outermost] + first) * order.inner_lanes;
    } else {
        found.index = outer * order.inner_lanes;
    }
    for (int d = outermost - 1; d >= 0; --d) {
        if (!FoldOrder::is_folded(d)) continue;
        found.element += outer % order.extent[d] * order.stride[d];
        outer /= order.extent[d];
    }
    return found;
}

/// The result and the lane of a slab's element number `position`, the same for every slab.
constexpr PositionOfOrder position_of(const FoldOrder& order, std::int64_t position) {
    PositionOfOrder found{0, 0};
    std::int64_t results = 1, lanes = 1;
    for (int d = order.rank - 1; d >= order.outermost(); --d) {
        const std::int64_t coordinate = d == order.outermost() ? position : position % order.extent[d];
        position /= order.extent[d];
        if (FoldOrder::is_folded(d)) {
            found.lane += coordinate * lanes;
            lanes *= order.extent[d];
        } else {
            found.result += coordinate * results;
            results *= order.extent[d];
        }
    }
    return found;
}

} // namespace gf
