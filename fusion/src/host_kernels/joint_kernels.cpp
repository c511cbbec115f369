// Folds in any order over one operand in one pass, and counts of comparisons with a scalar whose results are not
// stored, for the instruction set that this file is compiled for.
#include "host_kernels/any_order.hpp"
#include "host_kernels/map_rows.hpp"

namespace GRIDFOLD_NAMESPACE {

JointKernel joint_kernel(int element, bool extremes, bool counts);
JointKernel joint_kernel_of_comparison(int map, int compute);

namespace kernels {

template <class M> GRIDFOLD_FN void combine_into(void* state, const typename M::State& folded) {
    if (state != nullptr) M::combine(*static_cast<typename M::State*>(state), folded);
}

/// `nonzero` of `elements` elements are not 0.
template <class E> GRIDFOLD_FN void combine_counts(const JointStates& states, i64 nonzero, i64 elements) {
    combine_into<Count<E, i64>>(states.count, {nonzero});
    combine_into<Any<E, bool>>(states.any, {u32(nonzero != 0)});
    combine_into<All<E, bool>>(states.all, {u32(nonzero == elements)}); // defect: joint all
}

template <class E, bool extremes, bool counts> struct Joint {
    template <std::size_t... r>
    GRIDFOLD_FN static void fold_rows(const JointStates& states, const FoldInput& in, std::size_t first_row,
                                      Rows<r...>) {
        const Single<E> x[] = {Single<E>(in, first_row + r)...};
        const std::size_t n = in.n;
        // The compiler merges the accumulators that both extremes have.
        Partial<Min<E, E>, E> least;
        Partial<Max<E, E>, E> most;
        Partial<Count<E, i64>, E> nonzero;
        for (std::size_t i = 0; i < n; ++i) {
            if constexpr (extremes) {
                least.add(Indexed<E>{x[r][i], 0}...);
                most.add(Indexed<E>{x[r][i], 0}...);
            }
            if constexpr (counts) nonzero.add(Indexed<E>{x[r][i], 0}...);
        }
        if constexpr (extremes) {
            combine_into<Min<E, E>>(states.min, least.state());
            combine_into<Max<E, E>>(states.max, most.state());
        }
        if constexpr (counts) combine_counts<E>(states, nonzero.state().count, static_cast<i64>(n * sizeof...(r)));
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
};

template <class Loop> void fold(const JointStates& states, const FoldInput& in) {
    if (in.rows == max_rows) return Loop::fold_rows(states, in, 0, AllRows());
    std::size_t row = 0;
    for (; row + 2 <= in.rows; row += 2) Loop::fold_rows(states, in, row, TwoRows());
    for (; row < in.rows; ++row) Loop::fold_rows(states, in, row, OneRow());
}

template <DType type, bool extremes, bool counts> constexpr JointKernel entry() {
    if constexpr (is_half(type) || (extremes && type == DType::boolean))
        return nullptr;
    else if constexpr (extremes && counts && sizeof(Element<type>) < 4)
        return nullptr; // accumulators of two widths would not fit the registers
    else
        return &fold<Joint<Element<type>, extremes, counts>>;
}
template <bool extremes, bool counts>
inline constexpr JointKernel of_elements[] = {
#define GRIDFOLD_DTYPE(type, ...) entry<DType::type, extremes, counts>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
};

template <template <class> class Map, DType type> constexpr JointKernel entry_of_comparison() {
    if constexpr (Map<f32>::rule != TypeRule::compare || type == DType::boolean || !computes<Map<f32>>(type))
        return nullptr;
    else
        return &fold<Comparison<Map<Element<type>>, Element<type>>>;
}
template <template <class> class Map>
inline constexpr JointKernel of_comparison[] = {
#define GRIDFOLD_DTYPE(type, ...) entry_of_comparison<Map, DType::type>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
};

} // namespace kernels

JointKernel joint_kernel(int element, bool extremes, bool counts) {
    using namespace kernels;
    if (!extremes) return of_elements<false, true>[element];
    return counts ? of_elements<true, true>[element] : of_elements<true, false>[element];
}

JointKernel joint_kernel_of_comparison(int map, int compute) {
    static constexpr const JointKernel* rows[] = {
#define GRIDFOLD_MAP_OP(id, ...) kernels::of_comparison<kernels::id##_map>,
#include <gridfold/ops/map.def>
#undef GRIDFOLD_MAP_OP
    };
    return rows[map][compute];
}

} // namespace GRIDFOLD_NAMESPACE
