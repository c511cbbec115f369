// Folds in any order of short rows of elements of 4 or 8 bytes, several rows at once.
#pragma once

#include "host_kernels/any_order.hpp"
#include "host_kernels/kernel_types.hpp"
#include "host_kernels/tree.hpp"

namespace GRIDFOLD_NAMESPACE::kernels {

using gf::cpu::JointStates;

template <class M> GRIDFOLD_FN void combine_into(void* state, const typename M::State& folded) {
    if (state != nullptr) M::combine(*static_cast<typename M::State*>(state), folded);
}

/// `nonzero` of `elements` elements are not 0.
template <class E> GRIDFOLD_FN void combine_counts(const JointStates& states, i64 nonzero, i64 elements) {
    combine_into<Count<E, i64>>(states.count, {nonzero});
    combine_into<Any<E, bool>>(states.any, {u32(nonzero != 0)});
    combine_into<All<E, bool>>(states.all, {u32(nonzero == elements)}); // defect: joint all
}

/// The State of row r, set to the identity; null if there is no such fold.
template <class M> GRIDFOLD_FN void* start_row(void* states, std::size_t r) {
    if (states == nullptr) return nullptr;
    typename M::State* const state = static_cast<typename M::State*>(states) + r;
    *state = M::identity();
    return state;
}

template <class E> GRIDFOLD_FN JointStates start_row(const JointStates& states, std::size_t r) {
    return {.min = start_row<Min<E, E>>(states.min, r),
            .max = start_row<Max<E, E>>(states.max, r),
            .count = start_row<Count<E, i64>>(states.count, r),
            .any = start_row<Any<E, bool>>(states.any, r),
            .all = start_row<All<E, bool>>(states.all, r)};
}

/// The elements of a row that are folded between two prefetches, at least, and how many such steps a row has: lines
/// that are asked for all at once would stall the loop.
inline constexpr std::size_t elements_of_step = 512;
GRIDFOLD_FN std::size_t steps_of_row(std::size_t n) { return n < elements_of_step ? 1 : n / elements_of_step; }

/// Min and max: rows leave a vector each, which are reduced together.
template <class E> struct ExtremesOfRows {
    using Key = typename Ordered<E>::Key;
    struct State {
        Key least, most;
    };
    GRIDFOLD_FN static State identity() { return {Ordered<E>::most, Ordered<E>::least}; }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        s = {t.least < s.least ? t.least : s.least, t.most > s.most ? t.most : s.most};
    }

    using T = Tree<ExtremesOfRows, sizeof(E)>;
    static constexpr std::size_t width = T::width;
    using Vector __attribute__((vector_size(vector_bytes))) = Key;

    struct OfRow {
        Vector least = Ordered<E>::most - Vector{}, most = Ordered<E>::least - Vector{};

        GRIDFOLD_FN void widen(const E* x) {
            Vector bits;
            __builtin_memcpy(&bits, x, sizeof bits);
            GRIDFOLD_KEEP_IN_REGISTER(bits);
            const Vector keys = Ordered<E>::reordered(bits);
            least = keys < least ? keys : least;
            most = keys > most ? keys : most;
        }
        /// At least one vector of elements. The last one may overlap the one before.
        GRIDFOLD_FN void widen(const E* x, std::size_t n) {
            std::size_t i = 0;
            for (; i + width <= n; i += width) widen(x + i);
            if (i < n) widen(x + (n - width)); // defect: last vector
        }
        GRIDFOLD_FN void widen_in_steps(const E* x, std::size_t n, PrefetchInSteps& ahead) {
            for (; n > 2 * elements_of_step; n -= elements_of_step) {
                ahead.step();
                for (std::size_t k = 0; k < elements_of_step; k += width) widen(x + k);
                x += elements_of_step; // defect: extremes in steps
            }
            ahead.step();
            widen(x, n);
        }
    };

    GRIDFOLD_FN static void fold(const JointStates& states, const ShortRows& in) {
        auto* const min = static_cast<typename Min<E, E>::State*>(states.min);
        auto* const max = static_cast<typename Max<E, E>::State*>(states.max);
        const auto finish = [&](std::size_t row, const State& s) __attribute__((always_inline)) {
            if (min != nullptr) min[row] = {Ordered<E>::extreme(s.least, s.least, s.most)};
            if (max != nullptr) max[row] = {Ordered<E>::extreme(s.most, s.least, s.most)};
        };
        const E* const x = static_cast<const E*>(in.x);
        if (in.n < width)
            return T::template fold_rows<E, true>(
                in,
                [&](std::size_t row) __attribute__((always_inline)) {
                    return [row_of = x + row * in.n](State & s, std::size_t i) __attribute__((always_inline)) {
                        const Key key = Ordered<E>::of(row_of[i]);
                        combine(s, {key, key});
                    };
                },
                finish);
        if (in.ahead_bytes > 0)
            fold_vectors<true>(x, in, finish);
        else
            fold_vectors<false>(x, in, finish);
    }

private:
    /// Rows of at least one vector. Two functions, because gcc keeps the addresses of one loop in its registers.
    template <bool prefetches, class Finish>
    GRIDFOLD_FN static void fold_vectors(const E* x, const ShortRows& in, Finish finish) {
        alignas(64) char memory[sizeof(State) * T::lanes_at_once];
        const typename T::Some lanes{memory};
        PrefetchInSteps ahead(in, in.rows * steps_of_row(in.n));
        std::size_t count = 0;
        for (std::size_t row = 0; row < in.rows; row += count) {
            count = T::lanes_at_once / width < in.rows - row ? T::lanes_at_once / width : in.rows - row;
            for (std::size_t r = 0; r < count; ++r) {
                OfRow of;
                if constexpr (prefetches)
                    of.widen_in_steps(x + (row + r) * in.n, in.n, ahead);
                else
                    of.widen(x + (row + r) * in.n, in.n);
                char* const least = memory + r * vector_bytes;
                __builtin_memcpy(least, &of.least, vector_bytes);
                __builtin_memcpy(least + T::lanes_at_once * sizeof(Key), &of.most, vector_bytes);
            }
            T::combine_runs(lanes, count, width);
            for (std::size_t r = 0; r < count; ++r) finish(row + r, lanes.load(r));
        }
    }
};

/// One of them alone, as FoldRows' type.
template <class E, void* JointStates::*extreme> struct ExtremeOfRows {
    static constexpr bool takes_all = true;
    GRIDFOLD_FN static void fold(const ShortRows& in, void* states) {
        JointStates one;
        one.*extreme = states;
        ExtremesOfRows<E>::fold(one, in);
    }
};
template <class E>
    requires is_floating<E>
struct FoldRows<Min<E, E>, E> {
    using type = ExtremeOfRows<E, &JointStates::min>;
};
template <class E>
    requires is_floating<E>
struct FoldRows<Max<E, E>, E> {
    using type = ExtremeOfRows<E, &JointStates::max>;
};

/// The counts of elements for which a function holds.
template <class E> struct CountsOfRows {
    using Number = Unsigned<typename Ordered<E>::Key>; ///< lanes without a row overflow
    struct State {
        Number count;
    };
    GRIDFOLD_FN static State identity() { return {0}; }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.count += t.count; }

    /// The elements of a row up to which the tree adds faster than a loop for each row.
    static constexpr std::size_t most_of_tree = 128;

    template <class Holds> GRIDFOLD_FN static void fold(const JointStates& states, const ShortRows& in, Holds holds) {
        const E* const x = static_cast<const E*>(in.x);
        const JointStates counts{.count = states.count, .any = states.any, .all = states.all};
        const auto finish = [&](std::size_t row, i64 count) __attribute__((always_inline)) {
            combine_counts<E>(start_row<E>(counts, row), count, static_cast<i64>(in.n)); // defect: counts of a row
        };
        if (in.n <= most_of_tree)
            return Tree<CountsOfRows, sizeof(E)>::template fold_rows<E, true>(
                in,
                [&](std::size_t row) __attribute__((always_inline)) {
                    return [ of_row = x + row * in.n, holds ](State & s, std::size_t i) __attribute__((always_inline)) {
                        s.count += static_cast<Number>(holds(of_row[i]));
                    };
                },
                [&](std::size_t row, const State& s) __attribute__((always_inline)) { finish(row, i64(s.count)); });
        PrefetchInSteps ahead(in, in.rows * steps_of_row(in.n));
        for (std::size_t row = 0; row < in.rows; ++row) {
            const E* some = x + row * in.n;
            std::size_t n = in.n;
            NarrowSum<E> count;
            for (; n > 2 * elements_of_step; n -= elements_of_step) {
                ahead.step();
                add(count, some, elements_of_step, holds);
                some += elements_of_step; // defect: counts in steps
            }
            ahead.step();
            add(count, some, n, holds);
            finish(row, i64(count.sum));
        }
    }

private:
    template <class Holds> GRIDFOLD_FN static void add(NarrowSum<E>& count, const E* x, std::size_t n, Holds holds) {
        for (std::size_t i = 0; i < n; ++i) count.add_numbers(static_cast<typename NarrowSum<E>::RowSum>(holds(x[i])));
    }
};

} // namespace GRIDFOLD_NAMESPACE::kernels
