// The course of rows by runs: folds that keep the leading dims alone. A warp copies the slabs of a block of a row, or
// several rows of one slab, to shared memory, wherever rows begin. Then each thread folds a run of neighbouring lanes,
// so that threads pass on one state each. Depends on runs.cuh, and on exchange.cuh for rows without elements.
//
// The generated text defines the Kernel (kernel.cuh, runs.cuh), with these members besides:
//   i64 elements, results    elements of a row, and the number of rows
//   i64 part_blocks          blocks that fold a row, at most most_blocks
//   finish(states, result)   writes a row's result
// A run is of `packs` packs of `width` elements. A slab is of `row_threads` runs, or of 32 runs of each of `slab_warps`
// warps; a block has at most `slabs` slabs. Rows of several blocks or slabs have slabs of 2,048 elements. Their blocks
// are those of the warps of a thread block, or of a `cluster` of them.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// A thread's run in a block of its row.
template <class Kernel> struct RunInRow {
    using Loads = typename Kernel::Loads;
    static constexpr int width = Kernel::width, packs = Kernel::packs, run = width * packs;
    static constexpr int threads = Kernel::row_threads, rows = 32 / threads; ///< of a row; of the warp
    static constexpr i32 of_warp = threads * run;                            ///< elements of a slab
    static constexpr i32 slab = of_warp * Kernel::slab_warps;
    /// Unaligned rows are copied by words, or by elements that are larger, so that packs are aligned in shared memory.
    template <class T>
    using OfWarp = TileMemory<Kernel, Kernel::realigns ? larger_of(int(sizeof(T)), 4) : 16, run* int(sizeof(T))>;

    const Kernel& kernel;
    i64 first;    ///< the warp's first row
    i32 block;    ///< of the row
    i32 warp = 0; ///< the warp's number among the slab_warps of a slab

    /// The thread's number among those of its row, and the row.
    GRIDFOLD_FN i32 thread() const { return i32(warp_lane()) % threads; }
    GRIDFOLD_FN i64 row() const { return first + row_of_warp(); }
    /// True for the thread that has the states of its row's block, if the row is there.
    GRIDFOLD_FN bool has_states() const { return thread() == 0 && row() < kernel.results; } // defect: states of a row

    /// Copies the slabs of the warp's rows of every array.
    GRIDFOLD_FN void copy() const {
        i32 place = tile_of_warp<Kernel>();
        Kernel::each_array(
            [&](const auto* p) {
#pragma unroll 1
                for (i32 r = 0; r < rows && first + r < kernel.results; ++r)
                    for_slabs(kernel.elements, [&](i32 from, i32 count, i32 turn) {
                        copy_slab(p, first + r, from, count, place + place_of_slab(p, r, turn));
                    });
                place += place_of_slab(p, rows, 0);
            },
            kernel);
        await_copies();
        reconverge(); // other threads have copied what this one gets
    }
    /// Folds the thread's run, and combines those of its row: the first thread of the row gets the block's states.
    GRIDFOLD_FN void fold(States<Kernel, 1>& closed) const {
        const i64 last = block + (Kernel::slabs - 1) * kernel.part_blocks; // slab
        const bool all_there = rows == 1 || first + rows <= kernel.results;
        if (all_there && (last + 1) * slab <= kernel.elements) // defect: whole block
            fold_runs<true>(closed);
        else
            fold_runs<false>(closed);
    }

private:
    GRIDFOLD_FN i32 row_of_warp() const { return i32(warp_lane()) / threads; }
    /// Calls visit(its first element of the row, its elements, its number) for what the warp has of each slab of the
    /// block, in a row of `elements` elements.
    template <class Visit> GRIDFOLD_FN void for_slabs(i64 elements, const Visit& visit) const {
        const i32 all = i32(elements), step = i32(kernel.part_blocks) * slab;
        i32 turn = 0;
#pragma unroll 1
        for (i32 from = block * slab + warp * of_warp; from < all; from += step) // defect: part of slab
            visit(from, smaller(of_warp, all - from), turn++);                   // defect: slab
    }
    /// The elements of the thread's row.
    GRIDFOLD_FN i64 row_elements() const { return rows == 1 || row() < kernel.results ? kernel.elements : 0; }
    /// `whole`: the block has `slabs` slabs, all whole, in all rows.
    template <bool whole> GRIDFOLD_FN void fold_runs(States<Kernel, 1>& closed) const {
        Lanes<Kernel> lanes, head;
        clear<Kernel>(head);
        if constexpr (Kernel::Folds::shares) {
            Loads loads;
            if (whole || row_elements() > 0) {
                get_part(loads, 0, 0, 1);
                share(kernel, head, loads, 0);
            }
        }
        RunStates<Kernel> states;
        const i32 step = i32(kernel.part_blocks) * slab;
#pragma unroll 1
        for (i32 pack = 0; pack < packs; ++pack) {
            lanes = head;
            const i32 own = thread() * run + pack * width; // within the warp's part of the slab
            i32 turns = 0, more = 0;                       // whole slabs of the pack; elements of another
            if constexpr (whole) {
                constexpr int unrolled = Kernel::Folds::words <= 8 && Kernel::slabs <= 2 ? Kernel::slabs : 1;
#pragma unroll(unrolled)
                for (; turns < Kernel::slabs; ++turns) {
                    Loads loads;
                    get_whole(loads, own, pack, turns);
                    fold_elements<true>(kernel, lanes, loads, block * slab + warp * of_warp + turns * step + own, width,
                                        turns);
                }
            } else {
                for_slabs(row_elements(), [&](i32 from, i32 count, i32 turn) {
                    Loads loads;
                    // Where one thread has a part of a pack, all fold it as a part: one would wait for the others.
                    const bool is_ragged = count % width != 0 && count % run / width == pack; // defect: ragged pack
                    if (own + width <= count && !is_ragged) {                                 // defect: pack of slab
                        get_whole(loads, own, pack, turn);
                        fold_elements<true>(kernel, lanes, loads, from + own, width, turn);
                        ++turns;
                    } else if (own < count) {
                        more = smaller(count - own, width);
                        get_part(loads, own, turn, more);
                        typename Kernel::Stored stored;
                        take_part(kernel, lanes, stored, loads, from + own + kernel.skipped, more, u32(turn));
                    }
                });
            }
            end<Kernel>(lanes, turns, more, i64(block) * slab + warp * of_warp + own, step);
            Kernel::Folds::each([&](auto f) {
                using F = decltype(f);
                reduce_thread<typename F::LaneMonoid>(F::of(lanes), F::joins ? 1 : width);
            });
            states.add(lanes, pack);
        }
        states.take(lanes, packs);
        if constexpr (rows == 1)
            reduce_lanes<Kernel, 32, true>(lanes, i32(warp_lane()), 32, 1);
        else
#pragma unroll
            for (int distance = 1; distance < threads; distance *= 2) // defect: threads of a row
                Kernel::Folds::each([&](auto f) {
                    combine_lanes<typename decltype(f)::LaneMonoid>(decltype(f)::of(lanes)[0], distance, true);
                });
        close<Kernel>(lanes, closed, whole ? i64(Kernel::slabs) * of_warp : elements());
    }
    /// The elements of the block that the warp has.
    GRIDFOLD_FN i64 elements() const {
        i64 all = 0;
        for_slabs(row_elements(), [&](i32, i32 count, i32) { all += count; });
        return all;
    }
    /// Where slab number `turn` of row number r of the warp is among an array's.
    template <class T> GRIDFOLD_FN static constexpr i32 place_of_slab(const T*, i32 r, i32 turn) {
        constexpr i32 bytes = RunPlaces::of_threads(threads, run * i32(sizeof(T)));
        return (r * Kernel::slabs + turn) * bytes; // defect: slabs of a row
    }
    template <class T> GRIDFOLD_FN void copy_slab(const T* p, i64 of, i32 from, i32 count, i32 place) const {
        OfWarp<T>::copy(p, kernel.results * kernel.elements, of * kernel.elements + from, count, place);
    }
    /// Calls get(pack of loads, the row of its array, where the row's slab number `turn` is) for every array.
    template <class Get> GRIDFOLD_FN void get_loads(Loads& loads, i32 turn, const Get& get) const {
        i32 place = tile_of_warp<Kernel>();
        Kernel::each_array(
            [&](const auto* p, auto& of) {
                get(of, p + row() * kernel.elements, place + place_of_slab(p, row_of_warp(), turn));
                place += place_of_slab(p, rows, 0);
            },
            kernel, loads);
    }
    /// Gets a whole pack of every array, number `pack` of the thread's run, whose first element has number `own` of
    /// the slab. If rows are aligned, so is the pack in shared memory.
    GRIDFOLD_FN void get_whole(Loads& loads, i32 own, i32 pack, i32 turn) const {
        get_loads(loads, turn, [&](auto& of, const auto* p, i32 place) { get_pack(of, p, place, own, pack); });
    }
    template <class T> GRIDFOLD_FN static void get_pack(Pack<T, width>& of, const T* p, i32 place, i32 own, i32 pack) {
        constexpr i32 bytes = width * i32(sizeof(T));
        static_assert(bytes % 16 == 0);
        const i32 begin = place + OfWarp<T>::place_of(own * i32(sizeof(T)));
        if constexpr (Kernel::realigns && sizeof(T) < 4)
            OfWarp<T>::template get_moved<4>(
                of, begin, 8 * u32(OfWarp<T>::before(p)),
                begin + (pack + 1 < packs ? bytes : bytes + RunPlaces::apart)); // or in the next run
        else
#pragma unroll
            for (int i = 0; i < bytes; i += 16)
                OfWarp<T>::Memory::get_from(begin + i, reinterpret_cast<u32(&)[4]>(of.word[i / 4]));
    }
    /// Gets `count` elements of every array, from number `own` of a slab on, and the last of them again for the others
    /// of a pack.
    GRIDFOLD_FN void get_part(Loads& loads, i32 own, i32 turn, i32 count) const {
        get_loads(loads, turn, [&](auto& of, const auto* p, i32 place) { get_elements(of, p, place, own, count); });
    }
    template <class T>
    GRIDFOLD_FN static void get_elements(Pack<T, width>& of, const T* p, i32 place, i32 own, i32 count) {
        constexpr i32 size = sizeof(T);
        const i32 byte = OfWarp<T>::before(p) + own * size;
#pragma unroll
        for (int n = 0; n < width; ++n)
            of.element[n] = OfWarp<T>::Memory::template element<T>(
                place + OfWarp<T>::place_of(byte + smaller(n, count - 1) * size)); // defect: last element of a part
    }
};

/// Combines the states of a row's blocks and finishes the row. All threads that fold the row must call it: the first
/// thread of each warp has put those of its blocks. The warps of a slab have states of their own, as of blocks.
template <class Kernel> struct BlocksOfRow {
    static constexpr int slab_warps = Kernel::slab_warps, most = Kernel::most_blocks * slab_warps,
                         each = most > 32 ? most / 32 : 1, cluster = Kernel::cluster;
    template <class F> using OfBlocks = Shared<typename F::Monoid::State, most, 2 * F::word>;

    GRIDFOLD_FN static void put(States<Kernel, 1>& states, i32 block) {
        if (warp_lane() != 0) return;
        Kernel::Folds::each([&](auto f) {
            using Of = OfBlocks<decltype(f)>;
            if constexpr (cluster > 1)
                Of::template put_in<cluster>(0, u32(block), f.of(states)[0]);
            else
                Of::put(u32(block), f.of(states)[0]);
        });
    }
    GRIDFOLD_FN static void finish(const Kernel& kernel, i64 row) {
        wait(); // defect: blocks of a row
        if (warp_index() == 0 && kernel.block % cluster == 0) {
            const i32 blocks = i32(kernel.part_blocks) * slab_warps, lane = i32(warp_lane()),
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
        wait(); // the next row uses the same shared memory // defect: next row of blocks
    }
    /// Waits for all threads that fold the row.
    GRIDFOLD_FN static void wait() {
        if constexpr (cluster > 1)
            cluster_barrier<cluster>();
        else
            barrier();
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
    if (!begin_rows_of(kernel)) return;
    constexpr i64 warps = Kernel::threads / 32;
    constexpr i32 slab_warps = Kernel::slab_warps, cluster = Kernel::cluster;
    constexpr bool several = Kernel::most_blocks * slab_warps > 1;
    static_assert(slab_warps == 1 || !Kernel::Folds::shares, "lanes that share an origin are a warp's");
    static_assert(!several || Kernel::row_threads == 32, "a warp has a block of a row");
    States<Kernel, 1> closed;
    const auto fold = [&](const RunInRow<Kernel>& run) {
        run.copy();
        run.fold(closed);
    };
    if constexpr (several) {
        const i32 parts = i32(kernel.part_blocks) * slab_warps;
        const i32 first = i32(kernel.block % cluster * warps + warp_index()); // defect: first part
        const i64 step = kernel.blocks / cluster;
        bool has_arrived = cluster > 1; // and has not waited until the cluster's blocks have started
        const auto await_cluster = [&] {
            if (has_arrived) await_cluster_barrier<cluster>(); // defect: blocks have started
            has_arrived = false;
        };
        if constexpr (cluster > 1) arrive_at_cluster_barrier<cluster>(false);
#pragma unroll 1
        for (i64 row = kernel.block / cluster; row < kernel.results; row += step) { // defect: next rows by runs
#pragma unroll 1
            for (i32 part = first; part < parts; part += i32(warps) * cluster) {
                fold({kernel, row, part / slab_warps, part % slab_warps});
                await_cluster(); // states are put into other blocks
                BlocksOfRow<Kernel>::put(closed, part);
                reconverge(); // all have folded what the next part overwrites // defect: next block's memory
            }
            await_cluster();
            BlocksOfRow<Kernel>::finish(kernel, row);
            if constexpr (Kernel::one_turn) break;
        }
        await_cluster(); // of a cluster without a row
    } else {
        constexpr i64 each = RunInRow<Kernel>::rows;
        i64 first = (kernel.block * warps + warp_index()) * each;
#pragma unroll 1
        for (; first < kernel.results; first += kernel.blocks * warps * each) {
            const RunInRow<Kernel> run{kernel, first, 0};
            fold(run);
            if (run.has_states()) kernel.finish(closed, run.row());
            if constexpr (Kernel::one_turn) break;
            reconverge(); // all have folded what the next rows overwrite // defect: next row's memory
        }
    }
}

} // namespace GRIDFOLD_NAMESPACE
