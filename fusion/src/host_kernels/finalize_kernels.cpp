// The finalisers of the reductions of reduce.def. Compiled once, for the baseline instruction set.
#include "host_kernels/accumulator_types.hpp"

#include <gridfold/ops/device/monoid.cuh>

namespace GRIDFOLD_NAMESPACE {

FinalizeKernel finalize_kernel(int reduction, int element, int accumulator, int result);

namespace kernels {

enum class Result { accumulator, element, floating, index, boolean };

/// True if a reduction of this rule may have a result of type `result`.
constexpr bool gives(Result rule, Type element, Type accumulator, Type result) {
    switch (rule) {
    case Result::accumulator: return result == accumulator;
    case Result::element: return result == element;
    case Result::floating: return result == Type::f64 || (result == Type::f32 && element == Type::f32);
    case Result::index: return result == Type::i64;
    case Result::boolean: return result == Type::boolean;
    }
    return false;
}

/// The finalize tokens of each reduction, in one struct a row.
#define GRIDFOLD_MONOID_OP(...)
#define GRIDFOLD_REDUCE_OP(id, monoid, accumulator_, result_, on_empty, takes_ddof, needs_elements, ulps, doc, ...) \
    struct id##_reduction {                                                                                         \
        static constexpr Accumulator accumulator = Accumulator::accumulator_;                                       \
        static constexpr Result result = Result::result_;                                                           \
        template <class E, class A, class R>                                                                        \
        static void finalize(const void* state, [[maybe_unused]] f64 ddof, void* out) {                             \
            using M = monoid<E, A>;                                                                                 \
            const auto& s = *static_cast<const typename M::State*>(state);                                          \
            *static_cast<R*>(out) = static_cast<R>(__VA_ARGS__);                                                    \
        }                                                                                                           \
    };
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP

template <class Reduction, Type element, Type accumulator, Type result> constexpr FinalizeKernel entry() {
    constexpr Kind e = TypeFacts<element>::kind, a = TypeFacts<accumulator>::kind;
    if constexpr (accumulates(Reduction::accumulator, element, e, accumulator, a) && !is_stored_only(result)) {
        if constexpr (gives(Reduction::result, element, accumulator, result))
            return &Reduction::template finalize<Element<element>, Element<accumulator>, Element<result>>;
    }
    return nullptr;
}

template <class Reduction, Type element, Type accumulator> struct Row {
    static constexpr FinalizeKernel entries[] = {
#define GRIDFOLD_DTYPE(result, ...) entry<Reduction, element, accumulator, Type::result>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
};

template <class Reduction, Type element> struct Rows {
    static constexpr const FinalizeKernel* entries[] = {
#define GRIDFOLD_DTYPE(accumulator, ...) Row<Reduction, element, Type::accumulator>::entries,
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
};

template <class Reduction> struct Table {
    static constexpr const FinalizeKernel* const* rows[] = {
#define GRIDFOLD_DTYPE(element, ...) Rows<Reduction, Type::element>::entries,
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
};

} // namespace kernels

FinalizeKernel finalize_kernel(int reduction, int element, int accumulator, int result) {
    static constexpr const FinalizeKernel* const* const* tables[] = {
#define GRIDFOLD_REDUCE_OP(id, ...) kernels::Table<kernels::id##_reduction>::rows,
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
    };
    return tables[reduction][element][accumulator][result];
}

} // namespace GRIDFOLD_NAMESPACE
