// The positions of a thread in the course of boxes: their places, their states, and how elements get into them. Depends
// on lanes.cuh and places.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The states of a thread's positions.
template <class Kernel> using Positions = States<Kernel, Kernel::width>;

/// Where a position of a thread is. `slot` numbers the positions of a tile by part, lane and result.
struct PositionPlace {
    i32 lane, result, slot;
};

/// What a thread block folds at a time: parts side by side, which share their slabs' numbers.
template <class Kernel> struct Tile {
    i64 element, result; ///< the first of each
    i32 results;         ///< of all its parts
    i32 box_elements, box_results, box_lanes;

    GRIDFOLD_FN Tile(const Kernel& kernel, i64 number) {
        box_lanes = kernel.boxes.lanes();
        box_results = kernel.boxes.results();
        box_elements = box_lanes * box_results;
        if (kernel.sharing == 1) {
            const auto part = kernel.boxes.part(number);
            element = part.element;
            result = part.result;
            results = part.results;
        } else {
            const i64 first = number * kernel.sharing;
            element = first * box_elements;
            result = first * box_results;
            results = i32(smaller(kernel.sharing, kernel.parts - first)) * box_results; // defect: parts of tile
        }
    }
    GRIDFOLD_FN PositionPlace place(const Kernel& kernel, u32 position) const {
        const u32 part = position / u32(box_elements);
        const auto at = kernel.boxes.position(position - part * u32(box_elements));
        return {at.lane, i32(part) * box_results + at.result, // defect: tile result
                i32(part) * box_elements + at.lane * box_results + at.result};
    }
    /// The element after the last slot of its parts.
    GRIDFOLD_FN i32 slots() const { return (results + box_results - 1) / box_results * box_elements; }
};

/// The argument of a kernel's element() that folds and stores the element of position n of a thread.
template <class Kernel> struct TakingPosition {
    Positions<Kernel>& positions;
    typename Kernel::Stored& stored;
    i64 number; ///< its index along the folded dims
    int n;

    GRIDFOLD_FN i64 index() const { return number; }
    template <class F> GRIDFOLD_FN void fold(F, typename F::Element x) const {
        accumulate_in<typename F::Monoid>(F::of(positions)[n], x, number); // defect: position index
    }
    template <class F> GRIDFOLD_FN void fold(F, typename F::Element x, bool accepted) const {
        if (accepted) accumulate_in<typename F::Monoid>(F::of(positions)[n], x, number); // defect: position mask
    }
};

template <class Kernel> GRIDFOLD_FN void clear_positions(Positions<Kernel>& positions) {
    Kernel::Folds::each([&](auto f) {
        using F = decltype(f);
        for (auto& state : F::of(positions)) state = F::Monoid::identity();
    });
}

/// Folds and stores `count` elements of a thread; whole: count == width. `index`: of lane 0 of this slab.
template <bool whole, class Kernel>
GRIDFOLD_FN void fold_positions(const Kernel& kernel, Positions<Kernel>& positions,
                                const PositionPlace (&places)[Kernel::width], const typename Kernel::Loads& loads,
                                i64 first, i64 index, i32 count, bool stores_aligned) {
    typename Kernel::Stored stored;
#pragma unroll
    for (int n = 0; n < Kernel::width; ++n) {
        if (!whole && n >= count) break;
        kernel.element(loads, TakingPosition<Kernel>{positions, stored, index + places[n].lane, n});
    }
    Kernel::each_store([&](auto* p, auto& pack) { store_pack<whole>(p + first, pack, count, stores_aligned); }, kernel,
                       stored);
    scatter<whole>(kernel, stored, first, count);
}

} // namespace GRIDFOLD_NAMESPACE
