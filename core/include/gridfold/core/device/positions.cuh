// The positions of a thread in the course of boxes: their places, their states, and how elements get into them. Depends
// on lanes.cuh and places.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The monoid of a position: the lanes of rows share an origin, as in the flat course; others have their own.
template <class Kernel, class F>
using PositionMonoid = typename Choose<Kernel::dims == 1, typename F::LaneMonoid, typename F::Monoid>::type;
template <class Kernel, class F> inline constexpr bool shares_origin = Kernel::dims == 1 && F::of_block;

/// A thread's states of one fold's positions.
template <class F, class M, int width, bool shares> struct PositionsOf {
    typename M::State states[width];
};
template <class F, class M, int width> struct PositionsOf<F, M, width, true> {
    typename M::State states[width];
    f64 origins[width];
};
template <class Kernel, class Folds = typename Kernel::Folds> struct Positions;
template <class Kernel, class... F>
struct Positions<Kernel, FoldList<F...>> :
    PositionsOf<F, PositionMonoid<Kernel, F>, Kernel::width, shares_origin<Kernel, F>>... {
    template <class One>
    using Of = PositionsOf<One, PositionMonoid<Kernel, One>, Kernel::width, shares_origin<Kernel, One>>;
    static constexpr int widest = [] {
        int words = 1;
        ((words = sizeof(typename PositionMonoid<Kernel, F>::State) / 4 > u32(words)
                      ? int(sizeof(typename PositionMonoid<Kernel, F>::State) / 4)
                      : words),
         ...);
        return words;
    }();
    template <class One> GRIDFOLD_FN auto& of() { return Of<One>::states; }
    template <class One> GRIDFOLD_FN auto& origins() { return Of<One>::origins; }
};

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
        using Monoid = PositionMonoid<Kernel, F>;
        if constexpr (shares_origin<Kernel, F>)
            Monoid::accumulate(F::of(positions)[n], x, positions.template origins<F>()[n]);
        else
            Monoid::accumulate(F::of(positions)[n], x, number); // defect: position index
    }
    template <class F> GRIDFOLD_FN void fold(F, typename F::Element x, bool accepted) const {
        if (accepted) F::Monoid::accumulate(F::of(positions)[n], x, number); // defect: position mask
    }
};

/// The argument of element() that sets the shared origin of position n.
template <class Kernel> struct SharingPosition {
    Positions<Kernel>& positions;
    typename Kernel::Stored& stored;
    int position;
    static constexpr int n = 0;

    GRIDFOLD_FN i64 index() const { return 0; }
    template <class F> GRIDFOLD_FN void fold(F, [[maybe_unused]] typename F::Element x) const {
        if constexpr (shares_origin<Kernel, F>)
            positions.template origins<F>()[position] = F::Monoid::origin(x); // defect: position origin
    }
    template <class F> GRIDFOLD_FN void fold(F, typename F::Element, bool) const {}
};

template <class Kernel> GRIDFOLD_FN void clear_positions(Positions<Kernel>& positions) {
    Kernel::Folds::each([&](auto f) {
        using F = decltype(f);
        for (auto& state : F::of(positions)) state = PositionMonoid<Kernel, F>::identity();
        if constexpr (shares_origin<Kernel, F>)
            for (f64& origin : positions.template origins<F>()) origin = 0.0;
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
}

} // namespace GRIDFOLD_NAMESPACE
