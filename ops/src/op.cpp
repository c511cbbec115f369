// The built-in rows, from map.def and reduce.def, and the text of the built-in monoids.
#include <gridfold/ops/op.hpp>

#include <type_traits>

#include <gridfold/core/error.hpp>
#include <gridfold/ops/device/monoid.cuh>
#include <gridfold/ops/device_text.hpp>
#include <gridfold/ops/fold_traits.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf {
namespace {

// The words of map.def's facts column.
enum : unsigned { none = 0, commutative = 1, associative = 2, idempotent = 4 };

constexpr Facts facts_of(unsigned words) {
    return {.commutative = (words & commutative) != 0,
            .associative = (words & associative) != 0,
            .idempotent = (words & idempotent) != 0};
}

enum class MapPosition : int {
#define GRIDFOLD_MAP_OP(name, ...) name,
#include <gridfold/ops/map.def>
#undef GRIDFOLD_MAP_OP
};
enum class ReducePosition : int {
#define GRIDFOLD_MONOID_OP(...)
#define GRIDFOLD_REDUCE_OP(name, ...) name,
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
};
enum class MonoidPosition : int {
#define GRIDFOLD_MONOID_OP(name, ...) name,
#define GRIDFOLD_REDUCE_OP(...)
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
};

/// For any monoid of monoid.cuh.
template <template <class, class> class Monoid> FoldTraits traits(DType element, DType accumulator, bool masked) {
    return with_value_type(element, [=]<class E>(E) {
        return with_value_type(accumulator, [masked]<class A>(A) -> FoldTraits {
            using State = typename Monoid<E, A>::State;
            static_assert(Monoid<E, A>::associative_and_commutative);
            static_assert(std::is_trivially_copyable_v<State> && sizeof(State) <= 64 * 4);
            if constexpr (sizeof(State) % 4 == 0) return detail::traits_of<Monoid<E, A>>(masked);
            throw InternalError("a monoid was asked for an accumulator that no reduction gives it");
        });
    });
}

static_assert(device::TopStates<std::uint32_t>::count == max_rank_of_largest + 1);

namespace monoid_op {
#define GRIDFOLD_MONOID_OP(name, file, operands, rule)                            \
    static_assert(device::operand_count<device::name<float, float>> == operands); \
    constinit const MonoidOp name{#name,                                          \
                                  "",                                             \
                                  static_cast<int>(MonoidPosition::name),         \
                                  operands,                                       \
                                  OperandRule::rule,                              \
                                  &traits<device::name>,                          \
                                  nullptr};
#define GRIDFOLD_REDUCE_OP(...)
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
} // namespace monoid_op

} // namespace

namespace map_op {
#define GRIDFOLD_MAP_OP(name, arity, rule, facts, low, high, doc, ...) \
    constinit const MapOp name{#name,                                  \
                               arity,                                  \
                               TypeRule::rule,                         \
                               facts_of(facts),                        \
                               low,                                    \
                               high,                                   \
                               doc,                                    \
                               #__VA_ARGS__,                           \
                               static_cast<int>(MapPosition::name),    \
                               nullptr};
#include <gridfold/ops/map.def>
#undef GRIDFOLD_MAP_OP
} // namespace map_op

namespace reduce_op {
#define GRIDFOLD_MONOID_OP(...)
#define GRIDFOLD_REDUCE_OP(name, monoid, accumulator, result, on_empty, argument, needs_elements, doc, ...) \
    static_assert((OnEmpty::on_empty == OnEmpty::undefined) == (needs_elements));                           \
    constinit const ReduceOp name{#name,                                                                    \
                                  &monoid_op::monoid,                                                       \
                                  AccumulatorRule::accumulator,                                             \
                                  ResultRule::result,                                                       \
                                  OnEmpty::on_empty,                                                        \
                                  ReduceArgument::argument,                                                 \
                                  needs_elements,                                                           \
                                  doc,                                                                      \
                                  #__VA_ARGS__,                                                             \
                                  static_cast<int>(ReducePosition::name),                                   \
                                  nullptr,                                                                  \
                                  nullptr};
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
} // namespace reduce_op

std::string_view monoid_source(const MonoidOp& row) {
#define GRIDFOLD_MONOID_OP(name, file, ...) \
    if (row.builtin == static_cast<int>(MonoidPosition::name)) return detail::file##_text();
#define GRIDFOLD_REDUCE_OP(...)
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
    return row.text;
}

} // namespace gf
