// The monoids of monoid.cuh as kernels over lanes, for the instruction set that this file is compiled for.
#include "host_kernels/any_order.hpp"
#include "host_kernels/element_types.hpp"
#include "host_kernels/masked_moments.hpp"

namespace GRIDFOLD_NAMESPACE {

const FoldKernels* fold_kernels(int monoid, int element, int accumulator);

namespace kernels {

/// The monoids by their position in reduce.def.
enum class Position : int {
#define GRIDFOLD_MONOID_OP(id, ...) id,
#define GRIDFOLD_REDUCE_OP(...)
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
};

#if defined(__AVX2__) && !defined(__AVX512F__)
template <class E> inline constexpr bool combines_in_fours<Sum<E, f32>> = true;
#endif

GRIDFOLD_FOLDS(Fold, Loops::all);
GRIDFOLD_STATES(States);

template <template <class, class> class M, AccumulatorRule rule, DType element, DType accumulator>
constexpr const FoldKernels* entry() {
    if constexpr (!is_half(element) && accumulates_in(rule, element, accumulator))
        return &kernels_of<Fold, States, M<Element<element>, Element<accumulator>>, Element<element>>;
    else
        return nullptr;
}

/// The kernels of one monoid over one element type, by accumulator type.
template <template <class, class> class M, AccumulatorRule rule, DType element> struct Row {
    static constexpr const FoldKernels* entries[] = {
#define GRIDFOLD_DTYPE(accumulator, ...) entry<M, rule, element, DType::accumulator>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
};

template <template <class, class> class M, AccumulatorRule rule> struct Table {
    static constexpr const FoldKernels* const* rows[] = {
#define GRIDFOLD_DTYPE(element, ...) Row<M, rule, DType::element>::entries,
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
};

} // namespace kernels

/// A monoid has kernels for all types that the rule of any of its reductions allows.
const FoldKernels* fold_kernels(int monoid, int element, int accumulator) {
    using namespace kernels;
    const FoldKernels* found = nullptr;
#define GRIDFOLD_MONOID_OP(...)
#define GRIDFOLD_REDUCE_OP(id, monoid_, rule, ...)                 \
    if (found == nullptr && Position(monoid) == Position::monoid_) \
        found = Table<monoid_, AccumulatorRule::rule>::rows[element][accumulator];
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
    return found;
}

} // namespace GRIDFOLD_NAMESPACE
