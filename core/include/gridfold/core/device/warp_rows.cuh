// The course of rows by warps: folds that keep the leading dims alone, where a warp folds each block of a row, or a
// part of a warp each short row, in registers and by shuffles. Only the states of a row's blocks pass through shared
// memory. The next kernel may start when the last warps have ended. Depends on row_place.cuh, combine.cuh,
// publish.cuh and exchange.cuh.
//
// A thread has `packs` packs of a slab. Each of its rows has `row_packs` of them, row_threads packs apart.
// To combine the states of two packs over neighbouring threads, each thread passes one of them on and keeps the other:
// that halves the states, and takes half the shuffles of combining each pack by itself.
//
// The generated text defines the Kernel (row_place.cuh), with this member besides:
//   finish(states, result)   writes a row's result
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// A state of one fold, of some lanes of a row, and the origin that the row's lanes share.
template <class F, bool of_block = F::of_block> struct RowStateOf {
    typename F::LaneMonoid::State state;
};
template <class F> struct RowStateOf<F, true> {
    typename F::LaneMonoid::State state;
    typename F::Origin origin;
};
/// A state of each fold.
template <class Folds> struct RowStates;
template <class... F> struct RowStates<FoldList<F...>> : RowStateOf<F>... {
    template <class One> GRIDFOLD_FN auto& of() { return RowStateOf<One>::state; }
    template <class One> GRIDFOLD_FN auto& origin() { return RowStateOf<One>::origin; }
};

/// `second` ? b : a, word by word: the compiler would choose between addresses, and keep both in local memory.
template <class State> GRIDFOLD_FN State chosen(bool second, const State& a, const State& b) {
    WordsOf<State> from_a, from_b;
    from_a.value = a;
    from_b.value = b;
#pragma unroll
    for (u32 i = 0; i < sizeof(State) / 4; ++i) from_a.word[i] = second ? from_b.word[i] : from_a.word[i];
    return from_a.value;
}

/// The argument of a kernel's element() that sets the shared origins from a row's first element.
template <class Kernel> struct SharingRow {
    RowStates<typename Kernel::Folds>& states;
    typename Kernel::Stored& stored;
    static constexpr int n = 0;

    GRIDFOLD_FN i64 index() const { return 0; }
    template <class F> GRIDFOLD_FN void fold(F, [[maybe_unused]] typename F::Element x) const {
        if constexpr (F::of_block)
            states.template origin<F>() = origin_of<typename F::Monoid>(x); // defect: origin of row
    }
    template <class F> GRIDFOLD_FN void fold(F, typename F::Element, bool) const {}
};

/// Where a batch of packs comes from, and what is done with it after its slab number `turn` is folded: here, it is
/// loaded from arrays, and nothing is done.
template <class Kernel> struct FromArrays {
    template <class Rows, int count>
    GRIDFOLD_FN void load(const Rows& rows, typename Kernel::Loads (&loads)[count], int begin, i32 from, u32) const {
        rows.load_packs(loads, begin, from);
    }
    /// Sets what the loads of a pack have besides arrays.
    GRIDFOLD_FN void complete(typename Kernel::Loads&, int) const {}
    template <int count> GRIDFOLD_FN void done(typename Kernel::Loads (&)[count], int, u32) const {}
};

/// A thread's packs, and how its warp folds and combines them.
template <class Kernel> struct WarpRows : RowPlace<Kernel> {
    using Place = RowPlace<Kernel>;
    using States = RowStates<typename Kernel::Folds>;
    using Closed = typename Kernel::Folds::template States<1>;
    using Loads = typename Kernel::Loads;
    using Place::block, Place::first, Place::kernel, Place::thread;
    using Place::elements, Place::each_slab, Place::elements_of, Place::index, Place::is_there, Place::row;
    // Not by using-declarations: in lambdas, GCC 12 does not find constants that these name.
    static constexpr int width = Kernel::width, threads = Kernel::row_threads;
    static constexpr int packs = Kernel::packs, row_packs = Kernel::row_packs, in_flight = Kernel::in_flight;
    static constexpr i32 slab = Place::slab;
    static constexpr int thread_rows = packs / row_packs; ///< rows of a thread
    static constexpr int rows_of_warp = 32 / threads * thread_rows;
    /// Packs of a row whose states are combined. Those that it does not have are identities.
    static constexpr int row_group = to_power_of_2(row_packs);
    /// Packs whose states threads exchange: of rows that as many threads fold, or of one row.
    static constexpr int group = smaller(to_power_of_2(packs), threads);

    /// The origin that the lanes of a pack's row share: its block's first element. `complete(loads)` sets what the
    /// element's loads have besides arrays.
    template <class Complete> GRIDFOLD_FN void share(States& states, int pack, const Complete& complete) const {
        Kernel::Folds::each([&](auto f) {
            if constexpr (decltype(f)::of_block) states.template origin<decltype(f)>() = {};
        });
        if (!is_there(pack)) return;
        Loads loads;
        typename Kernel::Stored stored;
        const i64 own = row(pack), of_row = block * slab; // defect: head of row
        Kernel::each_array([&](auto* p, auto& of) { load_pack<false, false>(of, p + own * elements() + of_row, 1); },
                           kernel, loads);
        if constexpr (Kernel::rank > 0)
            gather_from<Place::whole_packs>(
                kernel, loads, Coordinates<Kernel::rank, Kernel::kept_dims>(own, of_row, kernel.extents), 1);
        complete(loads);
        kernel.element(loads, SharingRow<Kernel>{states, stored});
    }
    /// Combines the states of two packs, of one row or of two, over the threads that differ in the bit `distance`:
    /// those that have it get the second's, the others the first's. A fold that is exact in any order combines the
    /// packs of a row in each thread.
    template <int distance> GRIDFOLD_FN void exchange(States& states, States& second) const {
        const bool upper = (thread & distance) != 0; // defect: upper
        Kernel::Folds::each([&](auto f) {
            using F = decltype(f);
            using M = typename F::LaneMonoid;
            if constexpr (F::joins && distance < row_group) {
                M::combine(F::of(states), F::of(second));
            } else {
                typename M::State kept = chosen(upper, F::of(states), F::of(second));
                const typename M::State passed = shuffle_xor(chosen(upper, F::of(second), F::of(states)), distance);
                if constexpr (is_symmetric<M>) {
                    M::combine(kept, passed);
                    F::of(states) = kept;
                } else {
                    F::of(states) = chosen(upper, kept, passed);            // of the lower thread
                    M::combine(F::of(states), chosen(upper, passed, kept)); // defect: order of threads
                }
                if constexpr (F::of_block && thread_rows > 1) {
                    auto& origin = states.template origin<F>();
                    origin = chosen(upper, origin, second.template origin<F>()); // defect: kept origin
                }
            }
        });
    }
    /// The state of each fold of a pack's lanes, after `turns` slabs of which the last begins at `from`.
    GRIDFOLD_FN void end_pack(States& states, Lanes<Kernel>& lanes, int pack, i32 from, u32 turns) const {
        end_lanes(states, lanes, pack, turns - 1, elements_of(pack, from)); // all slabs but the last are whole
        if constexpr (Place::takes_all && !Place::fills)
            Kernel::Folds::each([&](auto f) {
                auto& state = decltype(f)::of(states);
                using M = typename decltype(f)::LaneMonoid;
                state = chosen(this->has_pack(pack, from), M::identity(), state); // defect: state of no pack
            });
    }
    /// The same after `whole` slabs and `more` elements of another.
    GRIDFOLD_FN void end_lanes(States& states, Lanes<Kernel>& lanes, int pack, u32 whole, i32 more) const {
        end<Kernel>(lanes, whole, more, block * slab + index(pack), kernel.part_blocks * slab);
        Kernel::Folds::each([&](auto f) {
            using F = decltype(f);
            reduce_thread<typename F::LaneMonoid>(F::of(lanes), F::joins ? 1 : width);
            F::of(states) = F::of(lanes)[0];
        });
    }
    /// Combines packs [first, first + count), whose states state_of(number, states) sets: each thread gets those of the
    /// pack whose number is the thread's mod `count`, over as many neighbouring threads.
    template <int first, int count, class StateOf>
    GRIDFOLD_FN void exchange_all(States& states, const StateOf& state_of) const {
        if constexpr (count == 1) {
            state_of(first, states);
        } else {
            States second;
            exchange_all<first, count / 2>(states, state_of);
            exchange_all<first + count / 2, count / 2>(second, state_of);
            exchange<count / 2>(states, second);
        }
    }
    /// Folds packs [begin, begin + count), loaded at once, and combines them in groups; calls then(number, states) with
    /// the first pack's number of each. `source`: as FromArrays. `heads`: the origins of the batch's rows; of one row's
    /// batches the first sets them.
    template <int count, int rows, class Source, class Then>
    GRIDFOLD_FN void fold_batch(int begin, States (&heads)[rows], const Source& source, const Then& then) const {
        constexpr int all = to_power_of_2(count), group_of_batch = smaller(all, group);
        Loads loads[count];
        // What needs a row's first element waits for it: the first packs are then loaded before.
        constexpr bool is_early = Kernel::Folds::shares || !Kernel::several_slabs;
        if constexpr (is_early) source.load(*this, loads, begin, block * slab, 0);
        if constexpr (Kernel::Folds::shares)
            if (begin == 0 || thread_rows > 1)
#pragma unroll
                for (int r = 0; r < rows; ++r)
                    share(heads[r], begin + r * row_packs,
                          [&](Loads& head) { source.complete(head, begin + r * row_packs); });
        const auto start = [&](States& states, Lanes<Kernel>& lanes, int u) {
            clear<Kernel>(lanes);
            Kernel::Folds::each([&](auto f) {
                using F = decltype(f);
                if constexpr (F::of_block)
                    states.template origin<F>() = lanes.template origin<F>() =
                        heads[rows == 1 ? 0 : u / row_packs].template origin<F>();
            });
        };
        const auto for_each_group = [&](const auto& state_of) { each_group<0, all, group_of_batch>(state_of, then); };
        if constexpr (!Kernel::several_slabs) {
            for_each_group([&](int u, States& states) {
                Lanes<Kernel> lanes;
                start(states, lanes, u);
                if (u >= count) return end_lanes(states, lanes, begin + u, 0, 0); // defect: pack of no row
                this->fold_pack(lanes, loads[u], begin + u, 0, 0);
                end_pack(states, lanes, begin + u, 0, 1);
            });
            source.done(loads, begin, 0);
        } else {
            static_assert(all == count, "the packs of a slab are a power of 2");
            States states[count];
            Lanes<Kernel> lanes[count];
#pragma unroll
            for (int u = 0; u < count; ++u) start(states[u], lanes[u], u);
            i32 last = 0;
            u32 turns = 0;
            each_slab([&](const auto& place, i32 from, i32 turn) {
                if (!is_early || turn > 0) source.load(place, loads, begin, from, turn); // defect: next slab of row
#pragma unroll
                for (int u = 0; u < count; ++u) place.fold_pack(lanes[u], loads[u], begin + u, from, turn);
                source.done(loads, begin, turn);
                last = from;
                turns = u32(turn) + 1;
            });
            for_each_group([&](int u, States& of_pack) {
                of_pack = states[u];
                end_pack(of_pack, lanes[u], begin + u, last, turns);
            });
        }
    }
    template <int first, int count, int each, class StateOf, class Then>
    GRIDFOLD_FN void each_group(const StateOf& state_of, const Then& then) const {
        States states;
        exchange_all<first, each>(states, state_of);
        then(first, states);
        if constexpr (each < count) each_group<first + each, count - each, each>(state_of, then);
    }
    /// Folds all packs, one group, in_flight at a time, and combines them as exchange_all does: pending[level] holds
    /// the states of 2^level batches until as many follow.
    template <class Source> GRIDFOLD_FN void fold_batches(States& states, const Source& source) const {
        constexpr int batches = group / in_flight, there = packs / in_flight;
        static_assert(packs % in_flight == 0, "batches are whole");
        States pending[batches]; // of which the levels are used
        States heads[(in_flight + row_packs - 1) / row_packs];
#pragma unroll 1
        for (int b = 0; b < batches; ++b) {
            if (there == batches || b < there) { // defect: batches of a row
                fold_batch<in_flight>(b * in_flight, heads, source,
                                      [&](int, const States& of_batch) { states = of_batch; });
            } else { // the origin stays that of the row
                Lanes<Kernel> none;
                clear<Kernel>(none);
                end_lanes(states, none, b * in_flight, 0, 0);
            }
            combine_batch<0, batches>(pending, states, b);
        }
    }
    template <int level, int batches>
    GRIDFOLD_FN void combine_batch(States (&pending)[batches], States& states, int batch) const {
        if constexpr (1 << level < batches) {
            if (batch >> level & 1) { // defect: level of batch
                exchange<in_flight << level>(pending[level], states);
                states = pending[level];
                combine_batch<level + 1>(pending, states, batch);
            } else {
                pending[level] = states;
            }
        }
    }
    /// Combines the states of threads that differ in the bits from `distance` to below `end`.
    template <int distance, int end> GRIDFOLD_FN void combine_threads(States& states) const {
        if constexpr (distance < end) {
            Kernel::Folds::each([&](auto f) {
                combine_lanes<typename decltype(f)::LaneMonoid>(decltype(f)::of(states), distance, true);
            });
            combine_threads<2 * distance, end>(states); // defect: levels of a row
        }
    }
    /// Combines what exchange left of a group of packs: the threads whose numbers are multiples of row_group get the
    /// states of its rows.
    GRIDFOLD_FN void combine_group(States& states) const {
        combine_threads<group, threads>(states);
        combine_threads<1, row_group>(states); // defect: packs of a row
    }

    /// Folds and finishes the rows of the thread's packs; with several blocks, closes the states of one row's block for
    /// its first thread.
    GRIDFOLD_FN void fold([[maybe_unused]] Closed& closed) const {
        static_assert(row_group <= group, "a group has whole rows");
        if constexpr (in_flight >= smaller(packs, threads)) {
            States heads[thread_rows];
            fold_batch<packs>(0, heads, FromArrays<Kernel>{}, [&](int pack, States& states) {
                combine_group(states);
                finish_group(states, pack, closed);
            });
        } else {
            static_assert(packs <= group, "several groups are in flight together");
            States states;
            fold_batches(states, FromArrays<Kernel>{});
            combine_group(states);
            finish_group(states, 0, closed);
        }
    }

    /// The elements of block `number` of a row.
    GRIDFOLD_FN i64 elements_of_block(i32 number) const {
        if constexpr (!Kernel::several_blocks) return kernel.elements;
        const i64 slabs = kernel.elements / slab, blocks = kernel.part_blocks; // whole slabs
        const i64 whole = slabs / blocks + (number < slabs % blocks);
        return whole * slab + (number == slabs % blocks ? kernel.elements % slab : 0); // defect: elements of block
    }
    /// True if this thread has the states of a row of the group that begins with a pack; sets the row's number.
    GRIDFOLD_FN bool has_row(int first_pack, i64& number) const {
        number = row(first_pack + int(thread));
        const bool is_first = thread < group && thread % row_group == 0; // defect: rows of threads
        return is_first && number < kernel.results;                      // defect: rows that are not there
    }
    GRIDFOLD_FN void close(States& states, Closed& closed) const {
        Kernel::Folds::each([&](auto f) {
            using F = decltype(f);
            if constexpr (F::of_block)
                F::of(closed)[0] =
                    F::Monoid::close(F::of(states), states.template origin<F>(), elements_of_block(this->block));
            else
                F::of(closed)[0] = F::of(states);
        });
    }

private:
    /// Finishes the rows of a group, whose first pack is given; with several blocks, closes the block's states only.
    GRIDFOLD_FN void finish_group(States& states, int first_pack, Closed& closed) const {
        i64 number;
        if (!has_row(first_pack, number)) return;
        close(states, closed);
        if constexpr (!Kernel::several_blocks) kernel.finish(closed, number);
    }
};

/// Combines the states of the warps of a thread block that fold the blocks of one row each, and finishes the rows. All
/// threads must call it; lane 0 of a warp has its block's states.
template <class Kernel>
GRIDFOLD_FN void combine_warps(const Kernel& kernel, typename Kernel::Folds::template States<1>& states, i64 row) {
    constexpr int warps = Kernel::threads / 32;
    const i32 blocks = i32(kernel.part_blocks), warp = i32(warp_index()), lane = i32(warp_lane());
    Kernel::Folds::each([&](auto f) {
        if (lane == 0) WarpStates<decltype(f), warps, false>::put(u32(warp), f.of(states)[0]);
    });
    barrier(); // defect: warps of a row
    if (warp % blocks == 0 && warp + blocks <= warps && row < kernel.results) {
        Kernel::Folds::each([&](auto f) {
            if (lane < blocks)
                f.of(states)[0] = WarpStates<decltype(f), warps, false>::get(u32(warp + lane)); // defect: warp's states
        });
        reduce_lanes<Kernel, 32, false>(states, lane, blocks, 1);
        if (lane == 0) kernel.finish(states, row);
    }
    barrier(); // the next rows use the same shared memory // defect: next rows of a block
}

/// The whole kernel. Each warp takes the rows of its threads' packs; with several blocks, a block of a row.
template <class Kernel> GRIDFOLD_FN void sweep_warp_rows(Kernel& kernel) {
    using Rows = WarpRows<Kernel>;
    constexpr auto is_power_of_2 = [](int x) { return x > 0 && (x & (x - 1)) == 0; };
    static_assert(Kernel::threads % 32 == 0 && Kernel::threads <= 1024, "a block is whole warps");
    static_assert(is_power_of_2(Kernel::width) && is_power_of_2(Kernel::packs) && is_power_of_2(Kernel::in_flight));
    static_assert(is_power_of_2(Kernel::row_packs) && Kernel::in_flight <= Kernel::packs);
    static_assert(is_power_of_2(Kernel::row_threads) && Kernel::row_threads <= 32, "threads of a row shuffle");
    static_assert(Kernel::row_packs == 1 || Kernel::row_threads == 32, "a part of a warp has one pack of a row each");
    static_assert(!Kernel::several_blocks || (Kernel::several_slabs && Kernel::packs == Kernel::row_packs));
    static_assert(sizeof(Kernel::elements) == 8 && sizeof(Kernel::results) == 8 && sizeof(Kernel::part_blocks) == 8);
    const bool whole_packs = kernel.elements % Kernel::width == 0;
    kernel.aligned = Kernel::whole_packs || (whole_packs && loads_are_aligned(kernel));
    kernel.stores_aligned = Kernel::whole_packs || (whole_packs && stores_are_aligned(kernel));
    if (!begin_rows_of(kernel, !Kernel::whole_packs)) return;
    constexpr i64 warps = Kernel::threads / 32;
    const u32 lane = warp_lane();
    typename Kernel::Folds::template States<1> closed;
    if constexpr (Kernel::several_blocks) {
        const i32 blocks = i32(kernel.part_blocks);
        const i64 each = warps / blocks; // rows of a thread block
        const i32 own = i32(warp_index()) / blocks, block = i32(warp_index()) % blocks;
        const i64 step = kernel.blocks * each;
#pragma unroll 1
        for (i64 base = kernel.block * each; base < kernel.results; base += step) { // defect: next rows of blocks
            const i64 row = own < each ? base + own : kernel.results;
            Rows{{kernel, lane, row, block}}.fold(closed);
            combine_warps(kernel, closed, row);
            if constexpr (Kernel::one_turn) break;
        }
    } else {
        i64 row = (kernel.block * warps + warp_index()) * Rows::rows_of_warp;
#pragma unroll 1
        for (; row < kernel.results; row += kernel.blocks * warps * Rows::rows_of_warp) { // defect: next rows
            Rows{{kernel, lane % Rows::threads, row + lane / Rows::threads, 0}}.fold(closed);
            if constexpr (Kernel::one_turn) break;
        }
    }
}

} // namespace GRIDFOLD_NAMESPACE
