// The course of rows by runs: folds that keep the leading dims alone. A warp copies the slabs of a block of a row to
// shared memory, wherever the row begins. Then each thread folds a run of neighbouring lanes, so that threads pass on
// one state each. Depends on runs.cuh and exchange.cuh.
//
// The generated text defines the Kernel (kernel.cuh, runs.cuh), with these members besides:
//   i64 elements, results    elements of a row, and the number of rows
//   i64 part_blocks          blocks that fold a row, at most most_blocks
//   finish(states, result)   writes a row's result
// A run is of `packs` packs of `width` elements. A block has at most `slabs` slabs; rows of several blocks or slabs have
// slabs of 2,048 elements, which are 32 runs.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// A block of a row.
template <class Kernel> struct RunOfRow {
    using Loads = typename Kernel::Loads;
    static constexpr int width = Kernel::width, packs = Kernel::packs, run = width * packs;
    static constexpr i32 slab = 32 * run; ///< elements
    /// Unaligned rows are copied by words, or by elements that are larger, so that packs are aligned in shared memory.
    template <class T>
    using OfWarp = RunMemory<Kernel, Kernel::realigns ? larger_of(int(sizeof(T)), 4) : 16, run* int(sizeof(T))>;

    const Kernel& kernel;
    i64 row;
    i32 block;

    /// Copies the block's slabs of every array.
    GRIDFOLD_FN void copy() const {
        i32 place = i32(warp_index()) * Kernel::tile_bytes;
        Kernel::each_array(
            [&](const auto* p) {
                i32 to = place;
                for_slabs([&](i32 from, i32 count, i32) {
                    copy_slab(p, from, count, to);
                    to += bytes_of_slab(p);
                });
                place += Kernel::slabs * bytes_of_slab(p);
            },
            kernel);
        await_copies();
        reconverge(); // other threads have copied what this one gets
    }
    /// Folds the thread's run, and combines those of the warp: its first thread gets the block's states.
    GRIDFOLD_FN void fold(States<Kernel, 1>& closed) const {
        const i64 last = block + (Kernel::slabs - 1) * kernel.part_blocks; // slab
        if ((last + 1) * slab <= kernel.elements)                          // defect: whole block
            fold_runs<true>(closed);
        else
            fold_runs<false>(closed);
    }

private:
    /// Calls visit(its first element of the row, its elements, its number) for each slab of the block.
    template <class Visit> GRIDFOLD_FN void for_slabs(const Visit& visit) const {
        const i32 all = i32(kernel.elements), step = i32(kernel.part_blocks) * slab;
        i32 turn = 0;
#pragma unroll 1
        for (i32 from = block * slab; from < all; from += step)
            visit(from, smaller(slab, all - from), turn++); // defect: slab
    }
    /// `whole`: the block has `slabs` slabs, all whole.
    template <bool whole> GRIDFOLD_FN void fold_runs(States<Kernel, 1>& closed) const {
        Lanes<Kernel> lanes, head;
        clear<Kernel>(head);
        if constexpr (Kernel::Folds::shares) {
            Loads loads;
            get_part(loads, 0, 0, 1);
            share(kernel, head, loads, 0);
        }
        RunStates<Kernel> states;
        const i32 step = i32(kernel.part_blocks) * slab;
#pragma unroll 1
        for (i32 pack = 0; pack < packs; ++pack) {
            lanes = head;
            const i32 own = i32(warp_lane()) * run + pack * width; // within the slab
            i32 turns = 0, more = 0;                               // whole slabs of the pack; elements of another
            if constexpr (whole) {
                constexpr int unrolled = Kernel::Folds::words <= 8 && Kernel::slabs <= 2 ? Kernel::slabs : 1;
#pragma unroll(unrolled)
                for (; turns < Kernel::slabs; ++turns) {
                    Loads loads;
                    get_whole(loads, own, pack, turns);
                    fold_elements<true>(kernel, lanes, loads, block * slab + turns * step + own, width, turns);
                }
            } else {
                for_slabs([&](i32 from, i32 count, i32 turn) {
                    Loads loads;
                    if (own + width <= count) { // defect: pack of slab
                        get_whole(loads, own, pack, turn);
                        fold_elements<true>(kernel, lanes, loads, from + own, width, turn);
                        ++turns;
                    } else if (own < count) {
                        more = count - own;
                        get_part(loads, own, turn, more);
                        fold_elements<false>(kernel, lanes, loads, from + own, more, turn);
                    }
                });
            }
            end<Kernel>(lanes, turns, more, i64(block) * slab + own, step);
            Kernel::Folds::each([&](auto f) {
                using F = decltype(f);
                reduce_thread<typename F::LaneMonoid>(F::of(lanes), F::joins ? 1 : width);
            });
            states.add(lanes, pack);
        }
        states.take(lanes, packs);
        reduce_lanes<Kernel, 32, true>(lanes, i32(warp_lane()), 32, 1);
        close<Kernel>(lanes, closed, whole ? i64(Kernel::slabs) * slab : elements());
    }
    /// The elements of the block.
    GRIDFOLD_FN i64 elements() const {
        i64 all = 0;
        for_slabs([&](i32, i32 count, i32) { all += count; });
        return all;
    }
    template <class T> GRIDFOLD_FN static constexpr i32 bytes_of_slab(const T*) {
        return 32 * (run * i32(sizeof(T)) + 16) + 16; // it may begin behind the first byte of a piece
    }
    template <class T> GRIDFOLD_FN void copy_slab(const T* p, i32 from, i32 count, i32 place) const {
        OfWarp<T>::copy(p, kernel.results * kernel.elements, row * kernel.elements + from, count, place);
    }
    /// Gets a whole pack of every array, number `pack` of the thread's run, whose first element has number `own` of
    /// the slab.
    GRIDFOLD_FN void get_whole(Loads& loads, i32 own, i32 pack, i32 turn) const {
        i32 place = i32(warp_index()) * Kernel::tile_bytes;
        Kernel::each_array(
            [&](const auto* p, auto& of) {
                get_pack(of, p + row * kernel.elements, place + turn * bytes_of_slab(p), own, pack);
                place += Kernel::slabs * bytes_of_slab(p);
            },
            kernel, loads);
    }
    template <class T> GRIDFOLD_FN static void get_pack(Pack<T, width>& of, const T* p, i32 place, i32 own, i32 pack) {
        constexpr i32 bytes = width * i32(sizeof(T));
        static_assert(bytes % 16 == 0);
        const i32 begin = place + OfWarp<T>::place_of(own * i32(sizeof(T)));
        if constexpr (Kernel::realigns && sizeof(T) < 4)
            OfWarp<T>::template get_moved<4>(of, begin, 8 * u32(OfWarp<T>::before(p)),
                                             begin + (pack + 1 < packs ? bytes : bytes + 16)); // or in the next run
        else
#pragma unroll
            for (int i = 0; i < bytes; i += 16)
                OfWarp<T>::Memory::get_from(begin + i, reinterpret_cast<u32(&)[4]>(of.word[i / 4]));
    }
    /// Gets `count` elements of every array, from number `own` of a slab on.
    GRIDFOLD_FN void get_part(Loads& loads, i32 own, i32 turn, i32 count) const {
        i32 place = i32(warp_index()) * Kernel::tile_bytes;
        Kernel::each_array(
            [&](const auto* p, auto& of) {
                get_elements(of, p + row * kernel.elements, place + turn * bytes_of_slab(p), own, count);
                place += Kernel::slabs * bytes_of_slab(p);
            },
            kernel, loads);
    }
    template <class T>
    GRIDFOLD_FN static void get_elements(Pack<T, width>& of, const T* p, i32 place, i32 own, i32 count) {
        constexpr i32 size = sizeof(T);
        const i32 byte = OfWarp<T>::before(p) + own * size;
#pragma unroll
        for (int n = 0; n < width; ++n)
            if (n < count)
                of.element[n] = OfWarp<T>::Memory::template element<T>(place + OfWarp<T>::place_of(byte + n * size));
    }
};

/// Combines the states of a row's blocks and finishes the row. All threads must call it: the first thread of each warp
/// has put those of its blocks.
template <class Kernel> struct BlocksOfRow {
    static constexpr int most = Kernel::most_blocks, each = most > 32 ? most / 32 : 1;
    template <class F> using OfBlocks = Shared<typename F::Monoid::State, most, 2 * F::word>;

    GRIDFOLD_FN static void put(States<Kernel, 1>& states, i32 block) {
        if (warp_lane() == 0)
            Kernel::Folds::each([&](auto f) { OfBlocks<decltype(f)>::put(u32(block), f.of(states)[0]); });
    }
    GRIDFOLD_FN static void finish(const Kernel& kernel, i64 row) {
        barrier(); // defect: blocks of a row
        if (warp_index() == 0) {
            const i32 blocks = i32(kernel.part_blocks), lane = i32(warp_lane()),
                      own = smaller(each, blocks - lane * each);
            States<Kernel, each> states;
            Kernel::Folds::each([&](auto f) {
                using F = decltype(f);
#pragma unroll
                for (int i = 0; i < each; ++i)
                    if (i < own) F::of(states)[i] = OfBlocks<F>::get(u32(lane * each + i)); // defect: state of block
                reduce_thread<typename F::Monoid>(F::of(states), own);
            });
            reduce_lanes<Kernel, 32, false>(states, lane, blocks, each);
            if (lane == 0) finish_row(kernel, states, row);
        }
        barrier(); // the next row uses the same shared memory // defect: next row of blocks
    }

private:
    GRIDFOLD_FN static void finish_row(const Kernel& kernel, States<Kernel, each>& all, i64 row) {
        States<Kernel, 1> states;
        Kernel::Folds::each([&](auto f) { f.of(states)[0] = f.of(all)[0]; });
        kernel.finish(states, row);
    }
};

/// The whole kernel. Each warp takes rows, or blocks of the thread block's row.
template <class Kernel> GRIDFOLD_FN void sweep_run_rows(Kernel& kernel) {
    static_assert(Kernel::threads % 32 == 0 && Kernel::tile_bytes % 16 == 0);
    static_assert(sizeof(Kernel::elements) == 8 && sizeof(Kernel::results) == 8 && sizeof(Kernel::part_blocks) == 8);
    kernel.prologue();
    wait_for_previous_kernel();
    kernel.read_scalars();
    if (kernel.elements == 0)
        return finish_empty(kernel, [&](const auto& states, i64 result) { kernel.finish(states, result); });
    constexpr i64 warps = Kernel::threads / 32;
    constexpr bool several = Kernel::most_blocks > 1;
    States<Kernel, 1> closed;
    const auto fold = [&](i64 row, i32 block) {
        const RunOfRow<Kernel> of_row{kernel, row, block};
        of_row.copy();
        of_row.fold(closed);
    };
    if constexpr (several) {
#pragma unroll 1
        for (i64 row = kernel.block; row < kernel.results; row += kernel.blocks) { // defect: next rows by runs
#pragma unroll 1
            for (i32 block = i32(warp_index()); block < i32(kernel.part_blocks); block += i32(warps)) {
                fold(row, block);
                BlocksOfRow<Kernel>::put(closed, block);
                reconverge(); // all have folded what the next block overwrites // defect: next block's memory
            }
            BlocksOfRow<Kernel>::finish(kernel, row);
        }
    } else {
#pragma unroll 1
        for (i64 row = kernel.block * warps + warp_index(); row < kernel.results; row += kernel.blocks * warps) {
            fold(row, 0);
            if (warp_lane() == 0) kernel.finish(closed, row); // defect: result of a run's row
            reconverge();                                     // defect: next row's memory
        }
    }
}

} // namespace GRIDFOLD_NAMESPACE
