// The course of held rows: sweeps with several phases, such as softmax. Threads load the elements of a row once, and
// hold them from the first phase to the last: one batch of packs in registers, more in shared memory, where each thread
// has words of its own. A warp has several short rows or a long one; the blocks and slabs of longer rows are shared out
// among the warps of a thread block, those of still longer rows among several thread blocks, which pass each other
// their states (row_blocks.cuh). Whole arrays are one row. Depends on held_packs.cuh, row_blocks.cuh and divisor.cuh.
//
// The generated text defines the Kernel as for rows by warps, but for element(Loads&, at), finish(), Folds and stores.
// Those are members of a struct for each phase, which derives from it, as gather() is: a phase reads the elements that
// it needs by coordinates, which are not held.
//   Kept                          the values of a row that later phases read; Loads has them as `kept`
//   Held                          the values of elements that later phases read; Loads has them as `held`
//   keeps                         the phase's finish() sets values of Kept
//   divides                       the phase divides elements by values of Kept
//   rounds_quotients              … and all that it stores is rounded to bfloat16, each a monotonic function of one of
//                                 the quotients
//   finish(states, result, kept)  writes a row's results, and sets its values; each thread block of the row calls it,
//                                 and the first writes
//   number                        the phase's number, if the Kernel cooperates
//   each_got(visit, loads)        visits the packs of Loads that the phase takes from shared memory, each with its
//                                 first word among the held_words of a pack
//   each_put(visit, loads)        the same for the values of Held that it adds
// A row has at most part_blocks * slabs slabs; each of them is shared by slab_warps warps. A thread block has whole
// rows, or, where a `cluster` of them shares a row, threads / 32 / slab_warps blocks of it.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The shared memory of a thread block's warps: an origin of a fold, and the values of the rows whose first warp it is.
template <class Fold, int warps> using WarpOrigins = Shared<typename Fold::Origin, warps, -1 - Fold::word>;
template <class Kept, int warps> using WarpKept = Shared<Kept, warps, 0>;

/// The largest divisor of n that is at most `most`.
GRIDFOLD_FN constexpr int largest_divisor(int n, int most) {
    int divisor = smaller(n, most);
    while (n % divisor != 0) --divisor;
    return divisor;
}

/// The rows of a thread, which share its warp or several warps with other threads.
template <class Kernel> struct HeldRows {
    using Loads = typename Kernel::Loads;
    using Kept = typename Kernel::Kept;
    static constexpr int packs = Kernel::packs, row_packs = Kernel::row_packs, rows = packs / row_packs;
    static constexpr int in_flight = smaller(Kernel::in_flight, packs);
    /// Packs that are mapped at a time, so that they share the cost of their addresses; more where no pack needs
    /// branches.
    static constexpr int least_mapped = larger_of(8 / Kernel::width, 1);
    static constexpr int mapped = largest_divisor(
        packs, Kernel::whole_slabs && !in_registers<Kernel> ? larger_of(in_flight, least_mapped) : least_mapped);
    static constexpr int warps = Kernel::threads / 32, slab_warps = Kernel::slab_warps, cluster = Kernel::cluster;
    static constexpr bool is_of_warp = slab_warps == 1 && !Kernel::several_blocks;
    static_assert(rows == 1 || in_registers<Kernel>, "several rows are one batch");
    static_assert(to_power_of_2(row_packs) <= Kernel::row_threads, "threads exchange the states of as many packs");
    static_assert(rows == 1 || (to_power_of_2(packs) == packs && to_power_of_2(row_packs) == row_packs));
    static_assert(packs % in_flight == 0 && (in_flight == packs || to_power_of_2(in_flight) == in_flight));

    const Kernel& kernel;
    u32 thread; ///< as in RowPlace
    i64 first;  ///< …
    i32 block;  ///< …
    i32 warp;   ///< …
    u32 turn;   ///< the number of rows before
    HeldPacks<Kernel> held;
    Kept kept[rows];  ///< of each row
    bool has_arrived; ///< at the first barrier of the cluster, but has not waited for the others

    /// Loads the rows. Nobody waits for the cluster's other blocks yet: each loads and folds its part meanwhile.
    GRIDFOLD_FN void fill() {
        const RowPlace<Kernel> place{kernel, thread, first, block, warp};
        has_arrived = cluster > 1 && !Kernel::cooperates && (Kernel::one_turn || turn == 0);
        held.copy(place);
        if (has_arrived) arrive_at_cluster_barrier<cluster>(warp_index() == 0); // which has cleared the slots
        held.await(place);
    }
    /// Waits until all blocks of the cluster have started and cleared their slots. Must come before states are passed,
    /// and before a thread ends.
    GRIDFOLD_FN void await_cluster() {
        if (has_arrived) await_cluster_barrier<cluster>(); // defect: others have started
        has_arrived = false;
    }

    GRIDFOLD_FN static i32 blocks_of_row(const Kernel& kernel) {
        return Kernel::several_blocks ? i32(kernel.part_blocks) : 1;
    }
    /// Prefetches the first rows of a later thread block or cluster into the L2: memory then has work while all map
    /// their rows. The thread blocks of a cluster have a part of the row each.
    GRIDFOLD_FN static void prefetch_ahead(const Kernel& kernel) {
        static_assert(!Kernel::cooperates, "rows follow each other from cluster to cluster");
        if (thread_index() != 0) return;
        const i32 elements = i32(RowPlace<Kernel>{kernel, 0, 0, 0}.elements()); // of a row
        const i32 rows_each = is_of_warp    ? i32(warps) * (32 / Kernel::row_threads) * HeldRows::rows
                              : cluster > 1 ? 1
                                            : i32(warps) / (blocks_of_row(kernel) * slab_warps);
        const i32 of_cluster = rows_each * elements, of_block = (of_cluster + cluster - 1) / cluster;
        i64 number = kernel.block / cluster; // of a cluster
        number +=
            Kernel::elements_ahead > of_cluster ? Kernel::elements_ahead / of_cluster : 1; // defect: how far ahead
        const i64 begin = number * of_cluster;
        const i64 first = begin + kernel.block % cluster * of_block;                 // defect: part ahead
        const i64 end = smaller(begin + of_cluster, i64(kernel.results) * elements); // defect: rows ahead
        if (first < end) prefetch_elements(kernel, first, u32(smaller(end - first, i64(of_block))));
    }

    /// Where a phase's batches come from, and what it does with them: see FromArrays.
    template <class Phase> struct Source {
        HeldRows& rows;

        GRIDFOLD_FN void complete(Loads& loads, int pack) const {
            loads.kept = rows.kept[HeldRows::rows == 1 ? 0 : pack / row_packs];
        }
        template <class Place, int count>
        GRIDFOLD_FN void load(const Place& place, Loads (&loads)[count], int begin, i32 from, u32 turn) const {
#pragma unroll
            for (int u = 0; u < count; ++u) {
                if (in_registers<Kernel> || place.has_pack(begin + u, from))
                    rows.held.template get<Phase>(loads[u], begin + u, turn);
                if constexpr (Phase::rank > 0) place.gather_pack(loads[u], begin + u, from);
                complete(loads[u], begin + u);
            }
        }
        template <int count> GRIDFOLD_FN void done(Loads (&loads)[count], int begin, u32 turn) const {
#pragma unroll
            for (int u = 0; u < count; ++u) rows.held.template put<Phase>(loads[u], begin + u, turn);
        }
    };

    /// Folds, maps and stores the rows' elements as one phase does.
    template <class Phase> GRIDFOLD_FN void run() {
        const Phase phase{kernel};
        const WarpRows<Phase> place{{phase, thread, first, block, warp}};
        const Source<Phase> source{*this};
        if constexpr (Phase::Folds::words == 0) {
            map(place, source);
        } else if constexpr (in_flight == packs) {
            typename WarpRows<Phase>::States heads[rows];
            place.template fold_batch<packs>(0, heads, source, [&](int pack, typename WarpRows<Phase>::States& states) {
                finish(place, pack, states);
            });
        } else {
            static_assert(packs <= WarpRows<Phase>::group, "packs in flight one after the other are of one row");
            typename WarpRows<Phase>::States states;
            place.fold_batches(states, source);
            finish(place, 0, states);
        }
    }

private:
    /// Maps and stores.
    template <class Phase, class Source>
    GRIDFOLD_FN void map(const WarpRows<Phase>& rows_of_phase, const Source& source) const {
        if (WarpRows<Phase>::Place::takes_all && rows == 1 && !rows_of_phase.is_there(0)) return;
        rows_of_phase.each_slab([&](const auto& place, i32 from, i32 turn) {
#pragma unroll(in_registers<Kernel> ? packs : 1)
            for (int begin = 0; begin < packs; begin += mapped) map_batch<Phase>(place, source, begin, from, turn);
            if constexpr (Phase::arrays_in_words == 1) held.store_slab(place, from, turn);
        });
    }
    template <class Phase, class Place, class Source>
    GRIDFOLD_FN void map_batch(const Place& place, const Source& source, int begin, i32 from, i32 turn) const {
        constexpr int width = Kernel::width;
        typename Phase::Stored stored[mapped];
        Lanes<Phase> none;
        const i64 own = place.batch_element(begin, from);
        const auto each_pack = [&](const auto& visit) {
#pragma unroll
            for (int u = 0; u < mapped; ++u)
                if (Place::takes_all || place.has_pack(begin + u, from)) visit(u);
        };
        Loads loads[mapped];
        source.load(place, loads, begin, from, turn);
        const auto take = [&] {
            each_pack([&](int u) {
                place.template take_elements<true>(none, stored[u], loads[u], begin + u, from, width, turn);
            });
        };
        bool sure = true; // of the quotients
        if constexpr (Phase::rounds_quotients && exact_quotients) {
            u32 differing = 0;
            each_pack([&](int u) {
                const u32 of_pack =
                    differing_products(place.kernel, loads[u], stored[u], from + place.index(begin + u), u32(turn));
                differing |= place.has_pack(begin + u, from) ? of_pack : 0;
            });
            sure = differing == 0; // defect: sure of products
        } else if constexpr (Phase::divides && exact_quotients) {
            f32 least = infinity<f32>();
            each_pack([&](int u) {
                const f32 of_pack =
                    least_quotient(place.kernel, loads[u], stored[u], from + place.index(begin + u), u32(turn));
                least = minimum(least, place.has_pack(begin + u, from) ? of_pack : least);
            });
            sure = is_sure(least);
        } else {
            take();
        }
        // A branch for each quotient would cost as much as the quotient. To divide as usual, elements are loaded
        // again: they need no registers meanwhile.
        if constexpr (Phase::arrays_in_words > 0) {
            if (!sure) {
                if constexpr (!in_registers<Kernel>) source.load(place, loads, begin, from, turn);
                take();
            }
            held.template put_stored<Phase>(place, stored, begin, from, turn);
        } else if (sure) {
            each_pack([&](int u) {
                if (!Place::takes_all || place.has_pack(begin + u, from))
                    store_mapped(place, stored[u], own + place.distance(u), begin + u, from);
            });
        } else {
#pragma unroll(in_registers<Kernel> ? mapped : 1)
            for (int u = begin; u < begin + mapped; ++u) {
                if (!place.has_pack(u, from)) continue;
                Loads again[1];
                typename Phase::Stored exact;
                source.load(place, again, u, from, turn);
                place.template take_elements<true>(none, exact, again[0], u, from, width, turn);
                store_mapped(place, exact, place.element(u, from), u, from);
            }
        }
    }
    /// Writes the elements of a pack, the first of which has number `at`.
    template <class Place, class Stored>
    GRIDFOLD_FN void store_mapped(const Place& place, Stored& stored, i64 at, int pack, i32 from) const {
        const i32 elements = place.elements_there(pack, from);
        if (place.is_whole(elements))
            place.template store_elements<true>(stored, at, Kernel::width);
        else
            place.template store_elements<false>(stored, at, elements);
    }

    /// Combines and finishes the rows of a group of packs, and passes their values to their threads.
    template <class Phase>
    GRIDFOLD_FN void finish(const WarpRows<Phase>& place, int pack, typename WarpRows<Phase>::States& states) {
        place.combine_group(states);
        if constexpr (is_of_warp)
            finish_in_warp(place, pack, states);
        else
            finish_in_block(place, states);
    }
    template <class Phase>
    GRIDFOLD_FN void finish_in_warp(const WarpRows<Phase>& place, int pack, typename WarpRows<Phase>::States& states) {
        constexpr int group = smaller(WarpRows<Phase>::group, packs);
        Kept own = kept[pack / row_packs];
#pragma unroll
        for (int u = row_packs; u < group; u += row_packs)
            own = chosen(i32(thread) == u, own, kept[(pack + u) / row_packs]);
        i64 number;
        if (place.has_row(pack, number)) {
            typename Phase::Folds::template States<1> closed;
            place.close(states, closed);
            place.kernel.finish(closed, number, own);
        }
        if constexpr (Phase::keeps)
#pragma unroll
            for (int u = 0; u < group; u += row_packs)
                kept[(pack + u) / row_packs] = shuffle_from(own, warp_lane() - thread + u);
    }

    /// The same where several warps share a row. All threads of the block, or of the cluster, must call it.
    template <class Phase>
    GRIDFOLD_FN void finish_in_block(const WarpRows<Phase>& place, typename WarpRows<Phase>::States& states) {
        await_cluster();
        constexpr i32 most = warps / slab_warps; // blocks of a row that a thread block has
        const i32 before = cluster > 1 ? i32(kernel.block % cluster) * most : 0;
        const i32 blocks = Kernel::several_blocks && cluster > 1 ? smaller(i32(kernel.part_blocks) - before, most)
                                                                 : blocks_of_row(kernel);
        const i32 ranks = cluster > 1 ? (i32(kernel.part_blocks) + most - 1) / most : 1; // thread blocks of the row
        const i32 lane = i32(warp_lane()), row_warp = (block - before) * slab_warps + warp;
        const i32 first_warp = i32(warp_index()) - row_warp;
        Phase::Folds::each([&](auto f) {
            using F = decltype(f);
            if (lane != 0) return;
            WarpStates<F, warps, true>::put(warp_index(), F::of(states));
            if constexpr (F::of_block) WarpOrigins<F, warps>::put(warp_index(), states.template origin<F>());
        });
        barrier();
        typename Phase::Folds::template States<1> closed;
        const bool combines = row_warp == 0 && first < kernel.results;
        if (combines) {
            const i32 of_row = blocks * slab_warps, own = smaller(lane, of_row - 1); // the others read the last warp's
            Phase::Folds::each([&](auto f) {
                using F = decltype(f);
                using Monoid = typename F::Monoid;
                auto state = WarpStates<F, warps, true>::get(u32(first_warp + own));
#pragma unroll
                for (int distance = 1; distance < slab_warps; distance *= 2)
                    combine_lanes<typename F::LaneMonoid>(state, distance, true);
                if constexpr (F::of_block)
                    F::of(closed)[0] =
                        Monoid::close(state, WarpOrigins<F, warps>::get(u32(first_warp + own)),
                                      place.elements_of_block(before + own / slab_warps)); // defect: block of cluster
                else
                    F::of(closed)[0] = state;
#pragma unroll
                for (int distance = slab_warps; distance < warps; distance *= 2)
                    combine_lanes<Monoid>(F::of(closed)[0], distance, lane + distance < of_row);
            });
            if constexpr (cluster > 1) RowBlocks<Phase>{place.kernel, turn}.pass(closed, ranks);
        }
        if constexpr (cluster > 1) RowBlocks<Phase>{place.kernel, turn}.combine(closed, ranks);
        if (combines && lane == 0) place.kernel.finish(closed, first, kept[0]);
        if constexpr (Phase::keeps) {
            if (row_warp == 0 && lane == 0) WarpKept<Kept, warps>::put(warp_index(), kept[0]);
            barrier();
            kept[0] = WarpKept<Kept, warps>::get(u32(first_warp));
        }
    }
};

/// Runs all phases of row `base` + `own` and every `step`-th after it, of which there are as many as of `base`.
template <class Kernel, class... Phases>
GRIDFOLD_FN void run_turns(Kernel& kernel, u32 thread, i64 base, i64 own, i64 step, i32 block, i32 warp) {
    begin_rows(kernel);
    u32 turn = 0;
    // The loop is the same for all warps of a block: the compiler then takes shuffles by the fast path.
#pragma unroll 1
    for (i64 row = base; row < kernel.results; row += step) {
        HeldRows<Kernel> rows{kernel, thread, row + own, block, warp, turn++};
        rows.fill();
        (rows.template run<Phases>(), ...);
        if constexpr (Kernel::one_turn) break;
    }
    end_rows(kernel, turn);
}

/// The whole kernel.
template <class Kernel, class... Phases> GRIDFOLD_FN void sweep_held_rows(Kernel& kernel) {
    using Rows = HeldRows<Kernel>;
    constexpr i64 warps = Kernel::threads / 32;
    static_assert(Rows::is_of_warp || (Kernel::row_threads == 32 && Rows::rows == 1 && warps <= 32),
                  "warps that share rows have one each");
    const bool whole_packs = Kernel::one_row || kernel.elements % Kernel::width == 0;
    kernel.aligned = Kernel::whole_packs || (whole_packs && loads_are_aligned(kernel));
    kernel.stores_aligned = Kernel::whole_packs || (whole_packs && (stores_are_aligned(Phases{kernel}) && ...));
    kernel.prologue();
    wait_for_previous_kernel();
    kernel.read_scalars();
    if constexpr (Kernel::elements_ahead > 0) Rows::prefetch_ahead(kernel);
    const i32 warp = i32(warp_index());
    const u32 lane = warp_lane();
    if constexpr (Rows::is_of_warp) {
        constexpr i64 each = 32 / Kernel::row_threads * Rows::rows;
        run_turns<Kernel, Phases...>(kernel, lane % Kernel::row_threads, kernel.block * warps * each,
                                     warp * each + lane / Kernel::row_threads, kernel.blocks * warps * each, 0, 0);
    } else if constexpr (Rows::cluster > 1) {
        static_assert(Kernel::several_blocks, "thread blocks have blocks of a row");
        const i32 rank = i32(kernel.block % Rows::cluster); // defect: rank
        const i32 block = rank * (i32(warps) / Kernel::slab_warps) + warp / Kernel::slab_warps;
        if constexpr (!Kernel::cooperates) (RowBlocks<Phases>::clear(), ...);
        // Nobody would wait for a block without a part of the rows, whose tags it could read too late.
        if (rank * (i32(warps) / Kernel::slab_warps) >= kernel.part_blocks) {
            if constexpr (!Kernel::cooperates) cluster_barrier<Rows::cluster>();
            return;
        }
        run_turns<Kernel, Phases...>(kernel, lane, kernel.block / Rows::cluster,
                                     block < kernel.part_blocks ? 0 : kernel.results, kernel.blocks / Rows::cluster,
                                     block, warp % Kernel::slab_warps);
    } else {
        const i32 of_row = Rows::blocks_of_row(kernel) * Kernel::slab_warps;
        const i32 own = warp / of_row, row_warp = warp % of_row;
        const i64 each = warps / of_row; // rows of a thread block
        run_turns<Kernel, Phases...>(kernel, lane, kernel.block * each, own < each ? own : kernel.results,
                                     kernel.blocks * each, row_warp / Kernel::slab_warps,
                                     row_warp % Kernel::slab_warps);
    }
}

} // namespace GRIDFOLD_NAMESPACE
