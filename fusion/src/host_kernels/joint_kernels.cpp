// Folds in any order over one operand in one pass, and counts of comparisons with a scalar whose results are not
// stored, for the instruction set that this file is compiled for.
#include "host_kernels/extreme_keys.hpp"
#include "host_kernels/joint_rows.hpp"
#include "host_kernels/map_rows.hpp"

namespace GRIDFOLD_NAMESPACE {

const JointKernels* joint_kernels(int element, bool extremes, bool counts);
const JointKernels* joint_kernels_of_comparison(int map, int compute);

namespace kernels {

/// The States of all positions of a slab.
template <class M> GRIDFOLD_FN Lanes<typename M::State, lane_count> positions_of(void* states) {
    return {static_cast<char*>(states)};
}

template <class E, bool extremes, bool counts> struct Joint {
    template <std::size_t... r>
    GRIDFOLD_FN static void fold_rows(const JointStates& states, const FoldInput& in, std::size_t first_row,
                                      Rows<r...>) {
        const Single<E> x[] = {Single<E>(in, first_row + r)...};
        const std::size_t n = in.n;
        Extremes<E> range;
        Partial<Count<E, i64>, E> nonzero;
        for (std::size_t i = 0; i < n; ++i) {
            if constexpr (extremes) range.add(Indexed<E>{x[r][i], 0}...);
            if constexpr (counts) nonzero.add(Indexed<E>{x[r][i], 0}...);
        }
        if constexpr (extremes) {
            combine_into<Min<E, E>>(states.min, range.min());
            combine_into<Max<E, E>>(states.max, range.max());
        }
        if constexpr (counts) combine_counts<E>(states, nonzero.state().count, static_cast<i64>(n * sizeof...(r)));
    }

    GRIDFOLD_FN static void fold_short(const JointStates& states, const ShortRows& in) {
        ShortRows rest = in;
        if constexpr (extremes) {
            ExtremesOfRows<E>::fold(states, in);
            rest.ahead_bytes = 0;
        }
        if constexpr (counts) CountsOfRows<E>::fold(states, rest, [](E x) { return x != E(0); });
    }

    static constexpr bool has_positions = extremes && !counts && (!is_floating<E> || has_integer_extremes<E>);
    template <std::size_t... r>
    GRIDFOLD_FN static void fold_positions(const JointStates& states, std::size_t first, const PositionInput& in,
                                           std::size_t first_row, Rows<r...>) {
        const Single<E> x[] = {Single<E>(in, first_row + r)...};
        const auto least = positions_of<Min<E, E>>(states.min);
        const auto most = positions_of<Max<E, E>>(states.max);
        const std::size_t n = in.n;
        using Key = typename Ordered<E>::Key;
        const Key zero = hidden_zero<Key>();
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < n; ++i) {
            const auto& [low_element] = least.load(first + i);
            const auto& [high_element] = most.load(first + i);
            Extremes<E> of{Ordered<E>::of(static_cast<E>(low_element)), Ordered<E>::of(static_cast<E>(high_element))};
            const Key keys[] = {Ordered<E>::reordered(Key(__builtin_bit_cast(Key, x[r][i]) ^ zero))...};
            ((of.widen(keys[r])), ...);
            least.store(first + i, of.min());
            most.store(first + i, of.max());
        }
    }
};

/// Counts the elements for which a comparison with the scalar *y holds.
template <class Map, class T> struct Comparison {
    template <std::size_t... r>
    GRIDFOLD_FN static void fold_rows(const JointStates& states, const FoldInput& in, std::size_t first_row,
                                      Rows<r...>) {
        const Single<T> x[] = {Single<T>(in, first_row + r)...};
        const T y = *static_cast<const T*>(in.y);
        const std::size_t n = in.n;
        NarrowSum<T> holds;
        for (std::size_t i = 0; i < n; ++i)
            holds.add_numbers(static_cast<typename NarrowSum<T>::RowSum>(Map::apply(x[r][i], y, T{}))...);
        combine_counts<bool>(states, i64(holds.sum), static_cast<i64>(n * sizeof...(r)));
    }

    GRIDFOLD_FN static void fold_short(const JointStates& states, const ShortRows& in) {
        const T y = *static_cast<const T*>(in.y);
        CountsOfRows<T>::fold(states, in, [y](T x) { return Map::apply(x, y, T{}); });
    }

    static constexpr bool has_positions = true;
    template <std::size_t... r>
    GRIDFOLD_FN static void fold_positions(const JointStates& states, std::size_t first, const PositionInput& in,
                                           std::size_t first_row, Rows<r...>) {
        const Single<T> x[] = {Single<T>(in, first_row + r)...};
        const T y = *static_cast<const T*>(in.y[0]);
        const std::size_t n = in.n;
        /// Calls add(State&, how many of the rows' elements hold) for each position.
        const auto fold = [&](auto positions, auto add) __attribute__((always_inline)) {
            using State = decltype(positions.load(0));
            GRIDFOLD_INDEPENDENT
            for (std::size_t i = 0; i < n; ++i) {
                const auto holding = static_cast<i32>((i32(Map::apply(x[r][i], y, T{})) + ...));
                positions.update(
                    first + i, [&](State & s) __attribute__((always_inline)) { add(s, holding); });
            }
        };
        using Counts = Count<bool, i64>;
        using AnyHolds = Any<bool, bool>;
        using AllHold = All<bool, bool>;
        constexpr i32 rows = sizeof...(r);
        if (states.count != nullptr)
            fold(positions_of<Counts>(states.count),
                 [](auto& s, i32 holding) { s.count += holding; }); // defect: count of positions
        if (states.any != nullptr)
            fold(positions_of<AnyHolds>(states.any),
                 [](auto& s, i32 holding) { AnyHolds::combine(s, {u32(holding != 0)}); });
        if (states.all != nullptr)
            fold(positions_of<AllHold>(states.all),
                 [](auto& s, i32 holding) { AllHold::combine(s, {u32(holding == rows)}); }); // defect: all of positions
    }
};

/// The functions of JointKernels over elements of E.
template <class Loop, class E> struct OfLoop {
    static void fold(const JointStates& states, const FoldInput& in) {
        if (in.rows == max_rows) return Loop::fold_rows(states, in, 0, AllRows());
        std::size_t row = 0;
        for (; row + 2 <= in.rows; row += 2) Loop::fold_rows(states, in, row, TwoRows());
        for (; row < in.rows; ++row) Loop::fold_rows(states, in, row, OneRow());
    }
    static void fold_rows(const JointStates& states, const ShortRows& rows) {
        if constexpr (sizeof(E) >= 4) return Loop::fold_short(states, rows);
        const FoldInput in{.n = rows.n, .rows = 1, .x = rows.x, .x_row = rows.n * sizeof(E), .y = rows.y};
        PrefetchInSteps ahead(rows, rows.rows);
        for (std::size_t r = 0; r < rows.rows; ++r) {
            ahead.step();
            Loop::fold_rows(start_row<E>(states, r), in, r, OneRow());
        }
    }
    static void fold_positions(const JointStates& positions, std::size_t first, const PositionInput& in) {
        if constexpr (Loop::has_positions) {
            if (in.rows == max_rows) return Loop::fold_positions(positions, first, in, 0, AllRows());
            for (std::size_t row = 0; row < in.rows; ++row) Loop::fold_positions(positions, first, in, row, OneRow());
        }
    }
    static constexpr JointKernels kernels{&fold, &fold_rows, Loop::has_positions ? &fold_positions : nullptr};
};

template <DType type, bool extremes, bool counts> constexpr const JointKernels* entry() {
    if constexpr (is_half(type) || (extremes && type == DType::boolean))
        return nullptr;
    else if constexpr (extremes && counts && sizeof(Element<type>) < 4)
        return nullptr; // accumulators of two widths would not fit the registers
    else
        return &OfLoop<Joint<Element<type>, extremes, counts>, Element<type>>::kernels;
}
template <bool extremes, bool counts>
inline constexpr const JointKernels* of_elements[] = {
#define GRIDFOLD_DTYPE(type, ...) entry<DType::type, extremes, counts>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
};

template <template <class> class Map, DType type> constexpr const JointKernels* entry_of_comparison() {
    if constexpr (Map<f32>::rule != TypeRule::compare || type == DType::boolean || !computes<Map<f32>>(type))
        return nullptr;
    else
        return &OfLoop<Comparison<Map<Element<type>>, Element<type>>, Element<type>>::kernels;
}
template <template <class> class Map>
inline constexpr const JointKernels* of_comparison[] = {
#define GRIDFOLD_DTYPE(type, ...) entry_of_comparison<Map, DType::type>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
};

} // namespace kernels

const JointKernels* joint_kernels(int element, bool extremes, bool counts) {
    using namespace kernels;
    if (!extremes) return of_elements<false, true>[element];
    return counts ? of_elements<true, true>[element] : of_elements<true, false>[element];
}

const JointKernels* joint_kernels_of_comparison(int map, int compute) {
    static constexpr const JointKernels* const* rows[] = {
#define GRIDFOLD_MAP_OP(id, ...) kernels::of_comparison<kernels::id##_map>,
#include <gridfold/ops/map.def>
#undef GRIDFOLD_MAP_OP
    };
    return rows[map][compute];
}

} // namespace GRIDFOLD_NAMESPACE
