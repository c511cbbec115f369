// A thread's place in rows by warps and in held rows: which packs of which slabs it has, how it loads, maps and stores
// them. Depends on lanes.cuh, kernel.cuh and combine.cuh.
//
// The generated text defines the Kernel (kernel.cuh), with these members besides:
//   i64 elements, results    elements of a row, and the number of rows
//   i64 part_blocks          blocks that fold a row, at most a thread block's warps; 1 without several_blocks
// Without several_slabs a row has at most row_threads * row_packs * slab_warps * width elements; with it these are a
// slab, and row_threads is 32. packs and row_packs are powers of 2; where held rows take one row a thread and one slab,
// they may be any number, of at most row_threads if these are no whole warp. Packs of a thread in a row are row_threads
// packs apart.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The least power of 2 that is not less than n.
GRIDFOLD_FN constexpr int to_power_of_2(int n) {
    int power = 1;
    while (power < n) power *= 2;
    return power;
}

/// The packs of a thread. `whole`: it is asked about slabs alone that fill the packs of their row.
template <class Kernel, bool whole = Kernel::whole_slabs> struct RowPlace {
    using Loads = typename Kernel::Loads;
    static constexpr bool fills = whole;
    static constexpr bool whole_packs = whole || Kernel::whole_packs;
    /// Packs that are not there are folded, too, and their states replaced: a branch for each would keep the packs of a
    /// thread from being mapped at a time.
    static constexpr bool takes_all = whole || (Kernel::whole_packs && !Kernel::several_slabs);
    static constexpr int width = Kernel::width, threads = Kernel::row_threads;
    static constexpr int packs = Kernel::packs, row_packs = Kernel::row_packs;
    static constexpr i32 slab = 32 * row_packs * width * Kernel::slab_warps; ///< elements, with several_slabs
    /// The most slabs of a block, where they are known.
    GRIDFOLD_FN static constexpr i32 most_slabs() {
        if constexpr (Kernel::held_words > 0 || Kernel::even_blocks) return Kernel::slabs;
        return 0x7fffffff;
    }
    /// Few slabs of a block are folded without a loop: the first then needs no zeros in registers. Wide states spill
    /// then, which takes longer where packs are whole (bench/NOTES.md).
    static constexpr int most_unrolled = Kernel::Folds::words <= 2 ? 4 : Kernel::whole_packs && width > 4 ? 1 : 2;
    static constexpr int unrolled = most_slabs() <= most_unrolled ? most_slabs() : 1;

    const Kernel& kernel;
    u32 thread;   ///< the thread's number among those of its row
    i64 first;    ///< the row of its first pack
    i32 block;    ///< the block of the rows
    i32 warp = 0; ///< the warp's number among the slab_warps of a slab

    /// The number of a pack among those of its row.
    GRIDFOLD_FN static constexpr int in_row(int pack) { return packs == row_packs ? pack : pack % row_packs; }
    GRIDFOLD_FN i64 row(int pack) const {
        return packs == row_packs ? first : first + pack / row_packs * (32 / threads); // defect: row of pack
    }
    /// True if the row of a pack is there. Whole packs of other rows are folded, too: nobody takes their states.
    GRIDFOLD_FN bool is_there(int pack) const { return row(pack) < kernel.results; }
    /// The number, within the slab, of the thread's first element.
    GRIDFOLD_FN i32 index() const {
        return ((Kernel::slab_warps > 1 ? warp * row_packs * 32 : 0) + i32(thread)) * width;
    }
    /// The same of a pack's first element.
    GRIDFOLD_FN i32 index(int pack) const {
        return index() + in_row(pack) * threads * width; // defect: index of pack
    }
    /// The elements of a row.
    GRIDFOLD_FN i64 elements() const {
        if constexpr (Kernel::whole_slabs && !Kernel::several_slabs)
            return row_packs * threads * width * Kernel::slab_warps;
        return kernel.elements;
    }
    /// The number of elements, at most `width`, of a pack that the slab from element `from` of the row on has. It is no
    /// maximum with 0: where that is compared with the width, ptxas 13.0 takes the opposite (bench/NOTES.md).
    GRIDFOLD_FN i32 elements_there(int pack, i32 from) const {
        if constexpr (whole_packs) return width;
        return smaller(i32(kernel.elements) - from - index(pack), width); // defect: elements of pack
    }
    /// The same of any pack; with whole slabs, of one whose row is there.
    GRIDFOLD_FN i32 elements_of(int pack, i32 from) const {
        if constexpr (whole) return width;
        if constexpr (whole_packs) return has_pack(pack, from) ? width : 0;
        return is_there(pack) ? larger_of(elements_there(pack, from), 0) : 0;
    }
    /// True if the slab has the pack.
    GRIDFOLD_FN bool has_pack(int pack, i32 from) const {
        if constexpr (whole && !Kernel::whole_slabs) return true; // each_slab() has asked
        if (!is_there(pack)) return false;                        // defect: pack if there
        return whole || from + index(pack) < i32(kernel.elements);
    }
    /// True if a pack of `elements` elements is mapped and stored as a whole one. All packs of short rows are alike in
    /// that: each warp has a part of a pack, and would take both branches.
    GRIDFOLD_FN bool is_whole(i32 elements) const {
        return whole_packs ? true : Kernel::several_slabs ? elements == width : kernel.elements % width == 0;
    }
    /// The number, in the domain, of the pack's first element: that of a batch's first pack, and the distance from it.
    GRIDFOLD_FN i64 batch_element(int begin, i32 from) const {
        i64 element = first * elements() + (from + index()) + distance(begin);
        keep(element);
        return element;
    }
    GRIDFOLD_FN i64 distance(int pack) const {
        return (row(pack) - first) * elements() + in_row(pack) * threads * width; // defect: distance
    }
    GRIDFOLD_FN i64 element(int pack, i32 from) const { return first * elements() + (from + index()) + distance(pack); }

    /// The first element that the warp has of a slab of an array, and the number of them, less than 1 if it has none.
    /// All threads of the warp are of one row.
    template <class T> GRIDFOLD_FN T* warp_elements(T* p, i32 from) const {
        return p + (element(0, from) - i64(thread) * width);
    }
    GRIDFOLD_FN i32 warp_count(i32 from) const {
        constexpr i32 all = 32 * row_packs * width;
        return whole ? all : smaller(i32(kernel.elements) - from - (index() - i32(thread) * width), all);
    }

    /// Calls visit(place, from, turn) for each slab of the thread's block, at least for one. `place` is this one, or
    /// knows that the slab fills its packs, as all but the last of a row do.
    template <class Visit> GRIDFOLD_FN void each_slab(const Visit& visit) const {
        const i32 step = i32(kernel.part_blocks) * slab;
        i32 from = block * slab, turn = 0;
        if constexpr (Kernel::even_blocks) {
#pragma unroll(unrolled)
            for (; turn < Kernel::slabs; ++turn, from += step) visit(*this, from, turn);
        } else if constexpr (whole && Kernel::several_slabs) {
#pragma unroll 1
            do {
                visit(*this, from, turn++);
                from += step;
            } while (from < kernel.elements);
        } else {
            static_assert(packs == row_packs || !Kernel::several_slabs, "a slab is of one row");
            const RowPlace<Kernel, true> filled{kernel, thread, first, block, warp};
            if constexpr (Kernel::counts_slabs) {
                if (is_there(0))
#pragma unroll
                    for (; turn + 1 < Kernel::slabs; ++turn, from += step) // defect: slabs of a block
                        visit(filled, from, turn);
            } else if constexpr (Kernel::several_slabs) {
                const i32 end = is_there(0) ? i32(kernel.elements) - slab : -1;
#pragma unroll(Kernel::Folds::words > 0 && !Kernel::whole_packs ? unrolled : 1)
                for (; turn < most_slabs() && from <= end; from += step) // defect: slab is whole
                    visit(filled, from, turn++);
            }
            if (turn == 0 || from < kernel.elements) visit(*this, from, turn);
        }
    }

    /// Gathers the elements of a pack that are read by coordinates.
    template <bool all> GRIDFOLD_FN void gather_pack(Loads& loads, int pack, i32 from) const {
        if constexpr (Kernel::rank > 0) {
            const i64 own = row(pack), of_row = from + index(pack); // defect: coordinates of pack
            gather_from<all>(kernel, loads, Coordinates<Kernel::rank, Kernel::kept_dims>(own, of_row, kernel.extents),
                             elements_there(pack, from));
        }
    }
    GRIDFOLD_FN void gather_pack(Loads& loads, int pack, i32 from) const {
        if (!has_pack(pack, from)) return;
        if (elements_there(pack, from) == width)
            gather_pack<true>(loads, pack, from);
        else
            gather_pack<false>(loads, pack, from);
    }
    /// Loads the elements of a pack, one by one. The last takes the place of those that are not there, which are
    /// mapped, too, but not folded.
    GRIDFOLD_FN void load_part(Loads& loads, int pack, i32 from) const {
        const i64 at = element(pack, from);
        const i32 elements = elements_there(pack, from);
        Kernel::each_array(
            [&](auto* p, auto& of) {
#pragma unroll
                for (int n = 0; n < width; ++n) of.element[n] = p[at + smaller(n, elements - 1)];
            },
            kernel, loads);
        gather_pack<false>(loads, pack, from);
    }
    /// Loads `count` packs in windows, where all bytes of the windows are in the arrays; the others element by element.
    template <int count> GRIDFOLD_FN void load_windows_of(Loads* loads, int begin, i32 from) const {
        typename Kernel::Windows windows[count];
        const i64 end = kernel.results * kernel.elements;
        const auto has_neighbours = [&](int pack) {
            const i64 at = element(pack, from);
            return has_pack(pack, from) && at >= width && at + 2 * width <= end; // defect: neighbours
        };
#pragma unroll
        for (int u = 0; u < count; ++u)
            if (has_neighbours(begin + u))
                Kernel::each_array([&](auto* p, auto& window) { load_window(window, p + element(begin + u, from)); },
                                   kernel, windows[u]);
#pragma unroll
        for (int u = 0; u < count; ++u) {
            const i64 at = element(begin + u, from);
            if (has_neighbours(begin + u)) {
                Kernel::each_array([&](auto* p, auto& cut, auto& window) { cut_out(cut, window, p + at); }, kernel,
                                   loads[u], windows[u]);
                gather_pack<false>(loads[u], begin + u, from);
            } else if (has_pack(begin + u, from)) {
                load_part(loads[u], begin + u, from); // defect: beside windows
            }
        }
    }
    template <int count> GRIDFOLD_FN void load_windows_up_to(Loads* loads, int begin, i32 from) const {
        constexpr int now = smaller(Kernel::windows_in_flight, count);
        load_windows_of<now>(loads, begin, from);
        if constexpr (now < count) load_windows_up_to<count - now>(loads + now, begin + now, from);
    }
    /// Loads packs [begin, begin + count) of a slab.
    template <int count> GRIDFOLD_FN void load_packs(Loads (&loads)[count], int begin, i32 from) const {
        if (kernel.aligned) {
            const i64 own = batch_element(begin, from);
#pragma unroll
            for (int u = 0; u < count; ++u) load_if(has_pack(begin + u, from), kernel, loads[u], own + distance(u));
            if constexpr (Kernel::rank > 0)
#pragma unroll
                for (int u = 0; u < count; ++u)
                    if (has_pack(begin + u, from)) gather_pack<true>(loads[u], begin + u, from);
        } else if constexpr (Kernel::realigns) {
            load_windows_up_to<count>(loads, begin, from);
        } else {
#pragma unroll
            for (int u = 0; u < count; ++u)
                if (has_pack(begin + u, from)) load_part(loads[u], begin + u, from);
        }
    }
    /// Folds and stores the elements of a pack, of the thread's slab number `turn`.
    GRIDFOLD_FN void fold_pack(Lanes<Kernel>& lanes, Loads& loads, int pack, i32 from, u32 turn) const {
        if (!takes_all && !has_pack(pack, from)) return;
        const i32 elements = elements_there(pack, from);
        if (is_whole(elements))
            fold_elements_of<true>(lanes, loads, pack, from, elements, turn);
        else
            fold_elements_of<false>(lanes, loads, pack, from, elements, turn); // defect: part of a pack
    }

    /// Maps the elements of a pack, folds them, and puts what is to be stored into `stored`. Without `all` it folds
    /// those that are there.
    template <bool all>
    GRIDFOLD_FN void take_elements(Lanes<Kernel>& lanes, typename Kernel::Stored& stored, Loads& loads, int pack,
                                   i32 from, i32 elements, u32 turn) const {
        const i64 first_element = from + index(pack);
        if constexpr (all)
            GRIDFOLD_NAMESPACE::take_elements<true>(kernel, lanes, stored, loads, first_element, width, turn);
        else
            take_part(kernel, lanes, stored, loads, first_element, elements, turn);
    }
    /// Writes a pack's elements, of which the first has number `at`.
    template <bool all> GRIDFOLD_FN void store_elements(typename Kernel::Stored& stored, i64 at, i32 elements) const {
        Kernel::each_store(
            [&](auto* p, auto& pack_of) { store_pack<all>(p + at, pack_of, elements, kernel.stores_aligned); }, kernel,
            stored);
        scatter<all>(kernel, stored, at, elements);
    }

private:
    template <bool all>
    GRIDFOLD_FN void fold_elements_of(Lanes<Kernel>& lanes, Loads& loads, int pack, i32 from, i32 elements,
                                      u32 turn) const {
        typename Kernel::Stored stored;
        take_elements<all>(lanes, stored, loads, pack, from, elements, turn);
        if (!takes_all || has_pack(pack, from)) store_elements<all>(stored, element(pack, from), elements);
    }
};

} // namespace GRIDFOLD_NAMESPACE
