// The states of a tile in shared memory, where the lanes of each result combine pairwise by number, lowest bit first;
// and the results that a thread then has. A tile is what a thread block of the courses of boxes and of columns folds.
// Depends on exchange.cuh and positions.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The states of `Folds`, some folds of a kernel, in a thread block's shared memory: by lane and result of a tile. The
/// results of a lane lie in another order in each lane, so that the threads of a warp, which have neighbouring lanes or
/// results, use all banks. All TileStates of a kernel share one memory.
template <class Kernel, class Folds = typename Kernel::Folds> struct TileStates {
    static constexpr int words = Folds::words;
    static constexpr int states = int(slab_elements<Kernel>);
    static constexpr bool fit = words * states <= tile_words; ///< a state of each of the threads' elements
    static constexpr int memory_words = smaller(Kernel::Folds::words * states, tile_words);
    static constexpr u32 room = u32(memory_words / words); ///< for states of each fold
    using Memory = Shared<u32, memory_words, 1>;

    i32 results;
    u32 mixed; ///< the bits of a result's number that its lane changes

    GRIDFOLD_FN explicit TileStates(i32 of_tile) : results(of_tile), mixed(u32(of_tile & -of_tile) - 1u) {}
    GRIDFOLD_FN u32 slot(i32 lane, i32 result) const {
        return u32(lane * results) + (u32(result) ^ (u32(lane) & mixed)); // defect: mixed slot
    }
    template <class F> GRIDFOLD_FN void put(F, u32 slot, const typename F::Monoid::State& state) const {
        WordsOf<typename F::Monoid::State> of;
        of.value = state;
#pragma unroll
        for (u32 i = 0; i < sizeof(of) / 4; ++i) Memory::put((first_word<F> + i) * room + slot, of.word[i]);
    }
    template <class F> GRIDFOLD_FN typename F::Monoid::State get(F, u32 slot) const {
        WordsOf<typename F::Monoid::State> of;
#pragma unroll
        for (u32 i = 0; i < sizeof(of) / 4; ++i) of.word[i] = Memory::get((first_word<F> + i) * room + slot);
        return of.value;
    }

private:
    template <class F> static constexpr u32 first_word = u32(Folds::template first_word<F>);
};

/// The numbers of the results of a tile whose states a thread has after its lanes have combined, by state; −1: none.
template <class Kernel> struct OwnResults {
    i32 number[Kernel::width];
};

/// Combines the lanes of each result, whose states the threads have put into memory: each thread combines `group`
/// neighbours at a time, a power of 2, with a barrier between. Neighbouring threads get neighbouring results. All
/// threads of the block must call it.
template <int group = 8, class Kernel, class Folds>
GRIDFOLD_FN void combine_in_memory(const TileStates<Kernel, Folds>& memory, i32 lanes,
                                   States<Kernel, Kernel::width>& states, OwnResults<Kernel>& own) {
    const i32 results = memory.results;
#pragma unroll 1
    for (i32 distance = 1; distance < lanes; distance *= group) { // defect: group distance
        barrier();                                                // defect: positions barrier
        const i32 groups = (lanes + group * distance - 1) / (group * distance);
#pragma unroll 1
        for (i32 item = i32(thread_index()); item < groups * results; item += Kernel::threads) {
            const i32 number = item / results, result = item - number * results, first = number * group * distance;
            const i32 count = smaller((lanes - first + distance - 1) / distance, group); // defect: group count
            Folds::each([&](auto f) {
                typename decltype(f)::Monoid::State of_lanes[group];
#pragma unroll
                for (int i = 0; i < group; ++i)
                    if (i < count) of_lanes[i] = memory.get(f, memory.slot(first + i * distance, result));
                reduce_thread<typename decltype(f)::Monoid>(of_lanes, count);
                memory.put(f, memory.slot(first, result), of_lanes[0]);
            });
        }
    }
    barrier(); // defect: combined lanes barrier
#pragma unroll
    for (int n = 0; n < Kernel::width; ++n) {
        const i32 result = i32(thread_index()) + n * Kernel::threads;
        own.number[n] = result < results ? result : -1; // defect: own results
        // Without a condition, so that no register holds the states before.
        const u32 slot = memory.slot(0, smaller(result, results - 1));
        Folds::each([&](auto f) { f.of(states)[n] = memory.get(f, slot); });
    }
}

/// Finishes and writes one result.
template <class Kernel> GRIDFOLD_FN void finish_one(const Kernel& kernel, const States<Kernel, 1>& states, i64 result) {
    typename Kernel::Results to;
    kernel.finish(states, result, to, 0);
    Kernel::each_result([&](auto* p, const auto& pack) { p[result] = pack[0]; }, kernel, to); // defect: one result
}

/// Finishes and writes a thread's results, neighbours in packs. `first`: the number of the tile's first result.
template <class Kernel>
GRIDFOLD_FN void finish_results(const Kernel& kernel, const States<Kernel, Kernel::width>& states, i64 first,
                                const OwnResults<Kernel>& own) {
    constexpr int width = Kernel::width;
    const i64 result = first + own.number[0];
    // Positions of a lane are neighbours; other results are a block's threads apart.
    const bool are_neighbours =
        own.number[0] >= 0 && own.number[width - 1] == own.number[0] + width - 1; // defect: neighbours
    typename Kernel::Results to;
#pragma unroll
    for (int n = 0; n < width; ++n)
        if (own.number[n] >= 0) {
            States<Kernel, 1> one;
            Kernel::Folds::each([&](auto f) { f.of(one)[0] = f.of(states)[n]; });
            if (are_neighbours)
                kernel.finish(one, result + n, to, n);
            else
                finish_one(kernel, one, first + own.number[n]); // defect: finish result
        }
    if (are_neighbours)
        Kernel::each_result(
            [&](auto* p, const auto& pack) {
                store_pack<true>(p + result, pack, width, is_aligned<width>(p + result));
            },
            kernel, to);
}

} // namespace GRIDFOLD_NAMESPACE
