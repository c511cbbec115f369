// The finalisers of the reductions of reduce.def. Compiled once, for the baseline instruction set.
#include "host_kernels/element_types.hpp"

#include <gridfold/ops/device/monoid.cuh>

namespace GRIDFOLD_NAMESPACE {

FinalizeKernel finalize_kernel(int reduction, int element, int accumulator, int result);

namespace kernels {

// The monoids' operands.
#define GRIDFOLD_REDUCE_OP(...)
#define GRIDFOLD_MONOID_OP(id, file, count, rule)                      \
    struct id##_operands {                                             \
        static constexpr int operands = count;                         \
        static constexpr OperandRule operand_rule = OperandRule::rule; \
    };
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_MONOID_OP
#undef GRIDFOLD_REDUCE_OP

/// The finalize tokens of each reduction, in one struct a row.
#define GRIDFOLD_MONOID_OP(...)
#define GRIDFOLD_REDUCE_OP(id, monoid, accumulator_, result_, on_empty, argument_, needs_elements, doc, ...) \
    struct id##_reduction : monoid##_operands {                                                              \
        static constexpr AccumulatorRule accumulator = AccumulatorRule::accumulator_;                        \
        static constexpr ResultRule result = ResultRule::result_;                                            \
        template <class E, class A, class R>                                                                 \
        static void finalize(const void* states, [[maybe_unused]] f64 argument, void* out, std::size_t n) {  \
            using M = monoid<E, A>;                                                                          \
            for (std::size_t i = 0; i < n; ++i) {                                                            \
                const auto& s = static_cast<const typename M::State*>(states)[i];                            \
                static_cast<R*>(out)[i] = static_cast<R>(__VA_ARGS__);                                       \
            }                                                                                                \
        }                                                                                                    \
    };
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP

template <class Reduction, DType element, DType accumulator, DType result> constexpr FinalizeKernel entry() {
    if constexpr (folds_elements(Reduction::operand_rule, Reduction::operands, element) && !is_half(result) &&
                  accumulates_in(Reduction::accumulator, element, accumulator)) {
        constexpr bool may_widen = accumulator == DType::f64;
        if constexpr (result == result_of(Reduction::result, element, accumulator, false, result) ||
                      (may_widen && result == result_of(Reduction::result, element, accumulator, true, result)))
            return &Reduction::template finalize<Element<element>, Element<accumulator>, Element<result>>;
    }
    return nullptr;
}

template <class Reduction, DType element, DType accumulator> struct Row {
    static constexpr FinalizeKernel entries[] = {
#define GRIDFOLD_DTYPE(result, ...) entry<Reduction, element, accumulator, DType::result>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
};

template <class Reduction, DType element> struct Rows {
    static constexpr const FinalizeKernel* entries[] = {
#define GRIDFOLD_DTYPE(accumulator, ...) Row<Reduction, element, DType::accumulator>::entries,
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
};

template <class Reduction> struct Table {
    static constexpr const FinalizeKernel* const* rows[] = {
#define GRIDFOLD_DTYPE(element, ...) Rows<Reduction, DType::element>::entries,
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
