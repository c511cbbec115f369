// The folds of a monoid over the positions of a slab, and over short rows, on the CPU, built-in or a user's. Functions
// are inlined (GRIDFOLD_FN) into those that GRIDFOLD_POSITIONS defines, and get their attributes.
#pragma once

#include <gridfold/ops/host/folds.hpp>
#include <gridfold/ops/position_kernels.hpp>

// Not every loop vectorises, on every instruction set and level of optimisation: clang would warn in the user's file.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

namespace GRIDFOLD_NAMESPACE::kernels {

using gf::cpu::PositionKernels;

/// Combines the lanes of each of `runs` runs of `lanes` lanes, a power of two, pairwise, lowest bit first. Run r's
/// State is then lane r.
template <class Any, std::size_t count>
GRIDFOLD_FN void combine_runs(Lanes<typename Any::State, count> states, std::size_t runs, std::size_t lanes) {
    for (; lanes > 1; lanes /= 2) {
        const std::size_t pairs = runs * lanes / 2;
        // Lane i is written after lanes 2i and 2i + 1 were read, and not read again on this level.
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < pairs; ++i) {
            typename Any::State s = states.load(2 * i);
            Any::combine(s, states.load(2 * i + 1));
            states.store(i, s);
        }
    }
}

template <class M, class E, Loops loops> struct Positions {
    using State = typename M::State;
    using States = Lanes<State, lane_count>;
    using Origin = typename OriginOf<M>::Type;

    GRIDFOLD_FN static void identity(States positions, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) positions.store(i, M::identity());
    }

    template <class Source, bool masked, std::size_t... r>
    GRIDFOLD_FN static void fold_rows(States positions, std::size_t first, const PositionInput& in, std::size_t row,
                                      Rows<r...>) {
        const Source x[] = {Source(in, row + r)...};
        const Elements<bool> mask[] = {{reinterpret_cast<const u8*>(in.mask[row + r])}...};
        const i64* const lane = in.lane;
        const i64 index[] = {in.index[row + r]...};
        const std::size_t n = in.n;
        if constexpr (!masked && requires { typename FoldKeys<M, E>::type; }) {
            const typename FoldKeys<M, E>::type keys;
            GRIDFOLD_INDEPENDENT
            for (std::size_t i = 0; i < n; ++i) {
                auto key = keys.of(positions.load(first + i));
                ((key = keys.fold(key, keys.of(x[r][i]))), ...);
                positions.store(first + i, keys.state(key));
            }
            return;
        }
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < n; ++i)
            positions.update(
                first + i, [&](State & s) __attribute__((always_inline)) {
                    (fold_element(s, x[r][i], !masked || mask[r][i], index[r] + lane[i]), ...);
                });
    }
    template <class X> GRIDFOLD_FN static void fold_element(State& s, const X& x, bool accept, i64 index) {
        if (accept) accumulate_in<M>(s, x, index);
    }

    template <class Source> GRIDFOLD_FN static void fold(States positions, std::size_t first, const PositionInput& in) {
        std::size_t row = 0;
        if (in.mask[0] != nullptr) {
            for (; row < in.rows; ++row) fold_rows<Source, true>(positions, first, in, row, OneRow());
            return;
        }
        if constexpr (loops != Loops::single)
            if (in.rows == max_rows) return fold_rows<Source, false>(positions, first, in, 0, AllRows());
        for (; row < in.rows; ++row) fold_rows<Source, false>(positions, first, in, row, OneRow());
    }
    GRIDFOLD_FN static void fold(States positions, std::size_t first, const PositionInput& in) {
        if constexpr (takes_products<M>)
            if (in.y[0] != nullptr) return fold<Products<E>>(positions, first, in);
        fold<typename SourceOf<M, E>::Type>(positions, first, in);
    }

    GRIDFOLD_FN static void permute(States to, States positions, const std::int64_t* lane, const std::int64_t* result,
                                    std::size_t results, std::size_t n) {
        for (std::size_t p = 0; p < n; ++p)
            to.store(static_cast<std::size_t>(lane[p]) * results + static_cast<std::size_t>(result[p]),
                     positions.load(p));
    }

    GRIDFOLD_FN static void finish(States positions, std::size_t rows, std::size_t results, State* states) {
        for (; rows > 1; rows = (rows + 1) / 2) {
            for (std::size_t row = 0; row < rows / 2; ++row) {
                // Row `row` is written after rows 2 * row and 2 * row + 1 were read.
                GRIDFOLD_INDEPENDENT
                for (std::size_t i = 0; i < results; ++i) {
                    State s = positions.load(2 * row * results + i);
                    M::combine(s, positions.load((2 * row + 1) * results + i));
                    positions.store(row * results + i, s);
                }
            }
            if (rows % 2 == 1)
                for (std::size_t i = 0; i < results; ++i)
                    positions.store(rows / 2 * results + i, positions.load((rows - 1) * results + i));
        }
        for (std::size_t i = 0; i < results; ++i) states[i] = positions.load(i);
    }

    // Short rows ------------------------------------------------------------------------------------------------------

    /// Unmasked lanes are combined in a way of their own.
    static constexpr bool has_tree = requires { typename CombineLanes<typename LaneMonoidOf<M, false>::Type>::type; };

    /// PositionKernels::longest_row. Others have one element a lane, and of more they are faster as long rows.
    static constexpr std::size_t longest_row(bool masked) {
        return is_one_number<M> || (has_tree && !masked) ? std::size_t(-1) : lane_count / 2;
    }

    /// The elements from which a row by itself is faster than lanes of many rows, where any order is exact.
    static constexpr std::size_t least_of_one_number = 32;

    /// The lanes with a shared origin that are combined at a time: they have several numbers each, and stay in the
    /// first-level cache. Others gain nothing (bench/NOTES.md).
    static constexpr std::size_t lanes_at_once = 256;

    template <bool masked, class Source>
    GRIDFOLD_FN static void fold_short(void* memory, const ShortRows& in, State* states) {
        if constexpr (!masked && requires { typename FoldRows<M, E>::type; }) {
            using OfRows = typename FoldRows<M, E>::type;
            if constexpr (OfRows::takes_all)
                return OfRows::fold(in, states);
            else if (OfRows::takes(in.n))
                return OfRows::fold(in, states);
        }
        if constexpr (is_one_number<M>)
            if (in.n >= least_of_one_number) {
                PrefetchInSteps ahead(in, in.rows);
                for (std::size_t row = 0; row < in.rows; ++row) {
                    ahead.step();
                    states[row] = M::identity();
                    OneNumber<M, E, loops>::template fold_rows<masked, Source>(states[row], of_row(in, row), 0,
                                                                               OneRow());
                }
                return;
            }
        if constexpr (!masked && has_tree) {
            fold_in_tree<Source>(in, states);
        } else if constexpr (!masked && LaneMonoidOf<M, false>::of_block) {
            using OfBlock = typename M::OfBlock;
            fold_lanes<lanes_at_once, 4, OfBlock, Source, false>(
                memory, in,
                [](typename OfBlock::State & s, const auto& x, i64, const Origin& origin)
                    __attribute__((always_inline)) { accumulate_in<OfBlock>(s, x, origin); },
                [&](std::size_t row, const typename OfBlock::State& s) __attribute__((always_inline)) {
                    states[row] = M::close(s, origin_of<M>(Source(of_row(in, row), 0)[0]), static_cast<i64>(in.n));
                });
        } else {
            fold_lanes<lane_count, 1, M, Source, masked>(
                memory, in, [](State & s, const auto& x, i64 index, const Origin&) __attribute__((always_inline)) {
                    accumulate_in<M>(s, x, index);
                },
                [&](std::size_t row, const State& s) __attribute__((always_inline)) { states[row] = s; });
        }
    }

    /// The same by the tree of M's lanes.
    template <class Source> GRIDFOLD_FN static void fold_in_tree(const ShortRows& in, State* states) {
        using Lane = LaneMonoidOf<M, false>;
        using Any = typename Lane::Type;
        CombineLanes<Any>::type::template fold_rows<E, !Lane::of_block>(
            in,
            [&](std::size_t row) __attribute__((always_inline)) {
                const Source x(of_row(in, row), 0);
                Origin origin{};
                if constexpr (Lane::of_block) origin = origin_of<M>(x[0]);
                return [=](typename Any::State & s, std::size_t i) __attribute__((always_inline)) {
                    if constexpr (Lane::of_block)
                        accumulate_in<Any>(s, x[i], origin);
                    else
                        accumulate_in<Any>(s, x[i], static_cast<i64>(i));
                };
            },
            [&](std::size_t row, const typename Any::State& s) __attribute__((always_inline)) {
                if constexpr (Lane::of_block)
                    states[row] = M::close(s, origin_of<M>(Source(of_row(in, row), 0)[0]), static_cast<i64>(in.n));
                else
                    states[row] = s;
            });
    }

    /// Folds each row's elements into its lanes, one each, combines `at_once` of them at a time, and calls
    /// finish(row, State). Combines each `group` lanes in registers, if a row has as many.
    template <std::size_t at_once, std::size_t group, class Any, class Source, bool masked, class F, class Finish>
    GRIDFOLD_FN static void fold_lanes(void* memory, const ShortRows& in, F accumulate, Finish finish) {
        std::size_t lanes = 1; // of a row
        while (lanes < in.n) lanes *= 2;
        if constexpr (group > 1)
            if (lanes < group) return fold_lanes<at_once, 1, Any, Source, masked>(memory, in, accumulate, finish);
        const Lanes<typename Any::State, at_once> some{static_cast<char*>(memory)};
        const std::size_t width = lanes < at_once ? lanes : at_once, pieces = lanes / width;
        typename Any::State of_piece[lane_count / at_once] = {};
        PrefetchInSteps ahead(in, in.rows);
        std::size_t rows = 0; // at a time
        for (std::size_t row = 0; row < in.rows; row += rows) {
            rows = at_once / width < in.rows - row ? at_once / width : in.rows - row;
            for (std::size_t piece = 0; piece < pieces; ++piece) {
                for (std::size_t r = 0; r < rows; ++r) {
                    if (piece == 0) ahead.step();
                    start_lanes<group, Any, Source, masked>(some, r * (width / group), of_row(in, row + r),
                                                            piece * width, width, accumulate);
                }
                combine_runs<Any>(some, rows, width / group);
                of_piece[piece] = some.load(0);
            }
            if constexpr (at_once < lane_count) {
                for (std::size_t distance = 1; distance < pieces; distance *= 2)       // defect: pieces
                    for (std::size_t piece = 0; piece < pieces; piece += 2 * distance) // defect: pieces
                        Any::combine(of_piece[piece], of_piece[piece + distance]);
                some.store(0, of_piece[0]);
            }
            for (std::size_t r = 0; r < rows; ++r) finish(row + r, some.load(r));
        }
    }

    /// One row as a fold's input.
    GRIDFOLD_FN static FoldInput of_row(const ShortRows& in, std::size_t row) {
        constexpr std::size_t bytes = sizeof(E), bytes_of_y = sizeof(typename SecondOperandOf<M, E>::Type);
        FoldInput one;
        one.n = in.n;
        one.rows = 1;
        one.x = static_cast<const char*>(in.x) + row * in.n * bytes;
        if (operand_count<M> > 1 || in.y != nullptr) one.y = static_cast<const char*>(in.y) + row * in.n * bytes_of_y;
        if (operand_count<M> > 2) one.z = static_cast<const char*>(in.z) + row * in.n * bytes;
        if (in.mask != nullptr) one.mask = in.mask + row * in.n;
        return one;
    }
    /// Folds elements [first, first + count) of a row into as many lanes, of which those after its last element are
    /// empty, and combines each `group` lanes into one, from lane `to` on.
    template <std::size_t group, class Any, class Source, bool masked, std::size_t at_once, class F>
    GRIDFOLD_FN static void start_lanes(Lanes<typename Any::State, at_once> lanes, std::size_t to, const FoldInput& row,
                                        std::size_t first, std::size_t count, F accumulate) {
        using S = typename Any::State;
        const Source x(row, 0);
        const Elements<bool> mask = mask_row(row, 0);
        Origin origin{};
        if constexpr (LaneMonoidOf<M, false>::of_block) origin = origin_of<M>(x[0]);
        const auto lane = [&](std::size_t i) __attribute__((always_inline)) {
            S s = Any::identity();
            if (!masked || mask[i]) accumulate(s, x[i], static_cast<i64>(i), origin);
            return s;
        };
        const std::size_t left = row.n > first ? row.n - first : 0, n = left < count ? left : count;
        const std::size_t whole = n / group; // defect: groups
        GRIDFOLD_INDEPENDENT
        for (std::size_t g = 0; g < whole; ++g) {
            const std::size_t i = first + g * group;
            S s = lane(i);
            if constexpr (group == 4) {
                S t = lane(i + 2);
                Any::combine(s, lane(i + 1));
                Any::combine(t, lane(i + 3));
                Any::combine(s, t);
            }
            lanes.store(to + g, s);
        }
        for (std::size_t g = whole; g < count / group; ++g) {
            S of_group[group];
            for (std::size_t i = 0; i < group; ++i) of_group[i] = Any::identity();
            if constexpr (group == 4) {
                for (std::size_t i = 0; g * group + i < n; ++i) of_group[i] = lane(first + g * group + i);
                Any::combine(of_group[0], of_group[1]);
                Any::combine(of_group[2], of_group[3]);
                Any::combine(of_group[0], of_group[2]);
            }
            lanes.store(to + g, of_group[0]);
        }
    }

    GRIDFOLD_FN static void fold_short(void* memory, const ShortRows& in, State* states) {
        using Source = typename SourceOf<M, E>::Type;
        const bool masked = in.mask != nullptr;
        if constexpr (takes_products<M>) {
            using Product = Products<E>;
            if (in.y != nullptr)
                return masked ? fold_short<true, Product>(memory, in, states)
                              : fold_short<false, Product>(memory, in, states);
        }
        return masked ? fold_short<true, Source>(memory, in, states) : fold_short<false, Source>(memory, in, states);
    }

    GRIDFOLD_FN static void combine(State* s, const State* t, std::size_t n) {
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < n; ++i) M::combine(s[i], t[i]);
    }
};

} // namespace GRIDFOLD_NAMESPACE::kernels

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

/// Defines name<M, E>, the functions of PositionKernels with these loops and attributes, name_states<M>, those of
/// States alone, and name_kernels<M, E>. Must be used inside GRIDFOLD_NAMESPACE::kernels. `own`: see GRIDFOLD_FOLDS.
#define GRIDFOLD_POSITIONS(name, loops, ...)                                                                      \
    template <class M> struct name##_states {                                                                     \
        using State = typename M::State;                                                                          \
        using Of = Positions<M, u8, loops>;                                                                       \
        using States = typename Of::States;                                                                       \
        __VA_ARGS__ static void identity(void* positions, std::size_t n) {                                        \
            Of::identity(States{static_cast<char*>(positions)}, n);                                               \
        }                                                                                                         \
        __VA_ARGS__ static void permute(void* to, const void* positions, const std::int64_t* lane,                \
                                        const std::int64_t* result, std::size_t results, std::size_t n) {         \
            Of::permute(States{static_cast<char*>(to)}, States{static_cast<char*>(const_cast<void*>(positions))}, \
                        lane, result, results, n);                                                                \
        }                                                                                                         \
        __VA_ARGS__ static void finish(void* positions, std::size_t rows, std::size_t results, void* states) {    \
            [[maybe_unused]] const f64 own = static_cast<f64>(rows);                                              \
            Of::finish(States{static_cast<char*>(positions)}, rows, results, static_cast<State*>(states));        \
        }                                                                                                         \
        __VA_ARGS__ static void combine(void* states, const void* others, std::size_t n) {                        \
            [[maybe_unused]] const f64 own = static_cast<f64>(n);                                                 \
            Of::combine(static_cast<State*>(states), static_cast<const State*>(others), n);                       \
        }                                                                                                         \
    };                                                                                                            \
    template <class M, class E> struct name {                                                                     \
        using Own = name##_states<typename StatesOf<M>::Type>;                                                    \
        using Of = Positions<M, E, loops>;                                                                        \
        __VA_ARGS__ static void fold(void* positions, std::size_t first, const PositionInput& in) {               \
            [[maybe_unused]] const f64 own = static_cast<f64>(in.n);                                              \
            Of::fold(typename Of::States{static_cast<char*>(positions)}, first, in);                              \
        }                                                                                                         \
        __VA_ARGS__ static void fold_short(void* positions, const ShortRows& in, void* states) {                  \
            [[maybe_unused]] const f64 own = static_cast<f64>(in.n);                                              \
            Of::fold_short(positions, in, static_cast<typename M::State*>(states));                               \
        }                                                                                                         \
    };                                                                                                            \
    template <class M, class E> inline constexpr PositionKernels name##_kernels {                                 \
        sizeof(typename M::State), &name<M, E>::Own::identity, &name<M, E>::fold, &name<M, E>::Own::permute,      \
            &name<M, E>::Own::finish, &name<M, E>::fold_short, &name<M, E>::Own::combine,                         \
            name<M, E>::Of::longest_row(false), name<M, E>::Of::longest_row(true)                                 \
    }
