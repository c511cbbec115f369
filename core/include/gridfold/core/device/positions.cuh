// The positions of a thread in the courses of boxes and of columns: their places, their states, and how elements get
// into them. Depends on lanes.cuh, places.cuh and warp.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The number of a thread's first position in the boxes of a tile; the others follow.
template <class Kernel> GRIDFOLD_FN i32 first_position() { return i32(thread_index()) * Kernel::width; }

/// The states of a thread's positions.
template <class Kernel> struct Positions : Kernel::Folds::template Positions<Kernel::width> {
    i32 folded[Kernel::width]; ///< elements of each; they fall, as later positions are in fewer slabs
};

/// Where a position of a thread is in a tile.
struct PositionPlace {
    i32 lane, result;
};

/// What a thread block folds: parts side by side, which share their slabs' numbers.
template <class Kernel> struct Tile {
    i64 element, result; ///< the first of each
    i32 results;         ///< of all its parts
    i32 box_elements, box_results;
    i64 domain_elements = 0; ///< in kernels with windows

    GRIDFOLD_FN Tile(const Kernel& kernel, i64 number) {
        box_results = kernel.boxes.results();
        box_elements = kernel.boxes.lanes() * box_results;
        if constexpr (Kernel::realigns) {
            i64 batches = kernel.parts, elements = 1;
#pragma unroll
            for (int d = 0; d < Kernel::dims; ++d) {
                elements *= kernel.boxes.extent[d];
                if (d % 2 == 1) take_digit(batches, kernel.boxes.chunks[d]);
            }
            domain_elements = batches * elements; // defect: domain
        }
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
    /// The places of a thread's positions, of which `own` is the first.
    GRIDFOLD_FN void find(const Kernel& kernel, u32 own, PositionPlace (&places)[Kernel::width]) const {
        i32 part = kernel.sharing == 1 ? 0 : i32(own / u32(box_elements));
        BoxWalk<Kernel::dims> walk(kernel.boxes, own - u32(part * box_elements));
#pragma unroll
        for (int n = 0; n < Kernel::width; ++n) {
            const i32 lane = walk.lane(kernel.boxes), result = walk.result(kernel.boxes);
            places[n] = {lane, part * box_results + result}; // defect: tile result
            walk.advance(kernel.boxes);
            if (kernel.sharing > 1 && walk.at[0] == i32(kernel.boxes.box[0])) { // defect: next part of tile
                walk.at[0] = 0;
                ++part;
            }
        }
    }
};

/// A slab of a tile.
struct SlabOfTile {
    i64 first, index; ///< its first element; the index of lane 0 along the folded dims
    i32 elements;     ///< 0 if the block has no such slab
};

/// True if the slab has all positions of a thread, or none.
template <class Kernel> GRIDFOLD_FN bool has_all(const SlabOfTile& slab, i32 own) {
    return own + Kernel::width <= slab.elements; // defect: has all
}
GRIDFOLD_FN bool has_none(const SlabOfTile& slab, i32 own) { return own >= slab.elements; }

/// The argument of a kernel's element() that folds and stores the element of position n of a thread. pairs: it leaves
/// the elements of folds in pairs to what follows.
template <class Kernel, bool pairs> struct TakingPosition {
    Positions<Kernel>& positions;
    typename Kernel::Folds::template Packs<Kernel::width>& packs;
    typename Kernel::Stored& stored;
    i64 number; ///< its index along the folded dims
    int n;

    GRIDFOLD_FN i64 index() const { return number; }
    template <class F> GRIDFOLD_FN void fold(F, typename F::Element x) const {
        auto& state = F::of(positions)[n];
        if constexpr (pairs && F::in_pairs)
            F::of(packs)[n] = x;
        else if constexpr (F::of_block)
            accumulate_in<typename F::LaneMonoid>(state, x, positions.template origins<F>()[n]);
        else
            accumulate_in<typename F::Monoid>(state, x, number); // defect: position index
    }
    template <class F> GRIDFOLD_FN void fold(F, typename F::Element x, bool accepted) const {
        if (accepted) accumulate_in<typename F::Monoid>(F::of(positions)[n], x, number); // defect: position mask
    }
};

/// The argument of element() that sets the origins of position n from its first element.
template <class Kernel> struct SharingPosition {
    Positions<Kernel>& positions;
    typename Kernel::Stored& stored;
    i64 number;
    int n;

    GRIDFOLD_FN i64 index() const { return number; }
    template <class F> GRIDFOLD_FN void fold(F, [[maybe_unused]] typename F::Element x) const {
        if constexpr (F::of_block)
            positions.template origins<F>()[n] = origin_of<typename F::Monoid>(x); // defect: position's origin
    }
    template <class F> GRIDFOLD_FN void fold(F, typename F::Element, bool) const {}
};

template <class Kernel> GRIDFOLD_FN void clear_positions(Positions<Kernel>& positions) {
    for (i32& count : positions.folded) count = 0;
    Kernel::Folds::each([&](auto f) {
        using F = decltype(f);
        for (auto& state : F::of(positions)) state = F::LaneMonoid::identity();
        if constexpr (F::of_block)
            for (auto& origin : positions.template origins<F>()) origin = {};
    });
}

/// Folds and stores the elements of a thread's positions in a slab; all: it has all of them. pairs: in every slab, so
/// that the states of pairs are seldom converted.
template <bool all, bool pairs = false, class Kernel>
GRIDFOLD_FN void fold_positions(const Kernel& kernel, Positions<Kernel>& positions,
                                const PositionPlace (&places)[Kernel::width], const typename Kernel::Loads& loads,
                                const SlabOfTile& slab, i32 own) {
    constexpr int width = Kernel::width;
    typename Kernel::Stored stored;
    typename Kernel::Folds::template Packs<width> packs;
    const auto is_there = [&](int n) { return all || own + n < slab.elements; };
    if constexpr (Kernel::Folds::shares) {
        if (positions.folded[width - 1] == 0)
#pragma unroll
            for (int n = 0; n < width; ++n)
                if (is_there(n) && positions.folded[n] == 0)
                    kernel.element(loads, SharingPosition<Kernel>{positions, stored, slab.index + places[n].lane, n});
#pragma unroll
        for (int n = 0; n < width; ++n) positions.folded[n] += is_there(n); // defect: count position
    }
#pragma unroll
    for (int n = 0; n < width; ++n)
        if (is_there(n))
            kernel.element(loads,
                           TakingPosition<Kernel, pairs>{positions, packs, stored, slab.index + places[n].lane, n});
    Kernel::Folds::each([&](auto f) {
        using F = decltype(f);
        if constexpr (pairs && F::in_pairs) F::Monoid::accumulate_pairs(F::of(positions), F::of(packs));
    });
    const i64 first = slab.first + own;
    const i32 count = slab.elements - own;
    Kernel::each_store([&](auto* p, auto& pack) { store_pack<all>(p + first, pack, count, kernel.stores_aligned); },
                       kernel, stored);
    scatter<all>(kernel, stored, first, count);
}

/// Reads and folds the elements of a thread's positions in a slab one by one.
template <class Kernel>
GRIDFOLD_FN void fold_by_elements(const Kernel& kernel, Positions<Kernel>& positions,
                                  const PositionPlace (&places)[Kernel::width], const SlabOfTile& slab, i32 own) {
    typename Kernel::Loads loads;
    load<false, false>(kernel, loads, slab.first + own, slab.elements - own);
    fold_positions<false>(kernel, positions, places, loads, slab, own);
}

/// The loads of a thread's positions in the slabs in flight: packs, or windows where arrays are not aligned.
template <class Kernel> struct SlabsInFlight {
    static constexpr Access access = Kernel::realigns ? Access::windows : Access::packs;
    static constexpr int count = Kernel::realigns ? Kernel::windows_in_flight : Kernel::in_flight;
    Batch<Kernel, access, count> batch;

    /// Reads all of them in slab number u, if wanted.
    GRIDFOLD_FN void read(bool wanted, const Kernel& kernel, int u, i64 first) {
        if constexpr (Kernel::apart > 1) {
            if (wanted) load_apart(kernel, batch.loads[u], first);
        } else if constexpr (access == Access::packs) {
            load_if(wanted, kernel, batch.loads[u], first); // no branch, so that the next load does not wait
            if (Kernel::rank > 0 && wanted) gather<true>(kernel, batch.loads[u], first, Kernel::width);
        } else if (wanted) {
            load_windows(kernel, batch.windows[u], batch.loads[u], first); // defect: read windows
        }
    }
    GRIDFOLD_FN const typename Kernel::Loads& take(const Kernel& kernel, int u, [[maybe_unused]] i64 first) {
        if constexpr (access == Access::windows)
            Kernel::each_array([&](auto* p, auto& pack, auto& window) { cut_out(pack, window, p + first); }, kernel,
                               batch.loads[u], batch.windows[u]); // defect: take windows
        return batch.loads[u];
    }
};

/// The States of the positions.
template <class Kernel>
GRIDFOLD_FN void close_positions(Positions<Kernel>& positions, States<Kernel, Kernel::width>& states) {
    Kernel::Folds::each([&](auto f) {
        using F = decltype(f);
#pragma unroll
        for (int n = 0; n < Kernel::width; ++n)
            if constexpr (F::of_block)
                F::of(states)[n] =
                    F::Monoid::close(F::of(positions)[n], positions.template origins<F>()[n], positions.folded[n]);
            else
                F::of(states)[n] = F::of(positions)[n];
    });
}

} // namespace GRIDFOLD_NAMESPACE
