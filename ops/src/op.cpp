// The built-in rows, from map.def and reduce.def, and the text of the built-in monoids.
#include <gridfold/ops/op.hpp>

#include <type_traits>

#include <gridfold/core/error.hpp>
#include <gridfold/ops/device/monoid.cuh>
#include <gridfold/ops/device_text.hpp>

namespace gf {
namespace {

// The words of map.def's facts column.
enum : unsigned { none = 0, commutative = 1, associative = 2, idempotent = 4, inexact = 8 };

constexpr Facts facts_of(unsigned words) {
    return {.commutative = (words & commutative) != 0,
            .associative = (words & associative) != 0,
            .idempotent = (words & idempotent) != 0,
            .exact = (words & inexact) == 0};
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

/// Words of a State, for any monoid of monoid.cuh.
template <template <class, class> class Monoid> int state_words(DType element, DType accumulator) {
    return with_value_type(element, [accumulator]<class E>(E) {
        return with_value_type(accumulator, []<class A>(A) -> int {
            using State = typename Monoid<E, A>::State;
            static_assert(Monoid<E, A>::associative_and_commutative);
            static_assert(std::is_trivially_copyable_v<State> && sizeof(State) <= 64 * 4);
            if constexpr (sizeof(State) % 4 == 0) return static_cast<int>(sizeof(State) / 4);
            throw InternalError("a monoid was asked for an accumulator that no reduction gives it");
        });
    });
}

template <template <class, class> class Monoid> constexpr bool in_steps = requires { &Monoid<float, float>::start; };
template <template <class, class> class Monoid> constexpr int of_block_words() {
    if constexpr (requires { typename Monoid<float, float>::OfBlock; })
        return sizeof(typename Monoid<float, float>::OfBlock::State) / 4;
    else
        return 0;
}
template <template <class, class> class Monoid>
constexpr bool in_packs = requires { &Monoid<int, std::int64_t>::template accumulate_pack<1>; };

namespace monoid_op {
#define GRIDFOLD_MONOID_OP(name, integers, floats)                        \
    constinit const MonoidOp name{#name,                                  \
                                  "",                                     \
                                  integers,                               \
                                  floats,                                 \
                                  static_cast<int>(MonoidPosition::name), \
                                  &state_words<device::name>,             \
                                  nullptr,                                \
                                  in_steps<device::name>,                 \
                                  of_block_words<device::name>(),         \
                                  in_packs<device::name>};
#define GRIDFOLD_REDUCE_OP(...)
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
} // namespace monoid_op

} // namespace

namespace map_op {
#define GRIDFOLD_MAP_OP(name, arity, rule, facts, ulps, low, high, doc, ...)        \
    constinit const MapOp name{#name,          arity,                               \
                               TypeRule::rule, facts_of(facts),                     \
                               ulps,           low,                                 \
                               high,           doc,                                 \
                               #__VA_ARGS__,   static_cast<int>(MapPosition::name), \
                               nullptr};
#include <gridfold/ops/map.def>
#undef GRIDFOLD_MAP_OP
} // namespace map_op

namespace reduce_op {
#define GRIDFOLD_MONOID_OP(...)
#define GRIDFOLD_REDUCE_OP(name, monoid, accumulator, result, on_empty, takes_ddof, needs_elements, ulps, doc, ...) \
    static_assert((OnEmpty::on_empty == OnEmpty::undefined) == (needs_elements));                                   \
    constinit const ReduceOp name{#name,                                                                            \
                                  &monoid_op::monoid,                                                               \
                                  AccumulatorRule::accumulator,                                                     \
                                  ResultRule::result,                                                               \
                                  OnEmpty::on_empty,                                                                \
                                  takes_ddof,                                                                       \
                                  needs_elements,                                                                   \
                                  ulps,                                                                             \
                                  doc,                                                                              \
                                  #__VA_ARGS__,                                                                     \
                                  static_cast<int>(ReducePosition::name),                                           \
                                  nullptr,                                                                          \
                                  nullptr};
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
} // namespace reduce_op

std::string_view monoid_source(const MonoidOp& row) {
    if (row.builtin < 0) return row.text;
    // monoid.cuh promises: `template <` and `};` are alone at the start of a line around each definition.
    const std::string_view text = detail::monoid_text();
    std::string struct_head = " struct ";
    struct_head.append(row.name).append(" {\n");
    const std::size_t head = text.find(struct_head);
    const std::size_t end = text.find("\n};\n", head);
    std::size_t begin = text.rfind("\ntemplate <", head);
    if (head == std::string_view::npos || end == std::string_view::npos || begin == std::string_view::npos)
        throw InternalError("monoid.cuh holds no definition of " + std::string(row.name));
    // The comment above belongs to it.
    for (std::size_t line = text.rfind('\n', begin - 1);
         line != std::string_view::npos && text.substr(line + 1, 3) == "///"; line = text.rfind('\n', begin - 1))
        begin = line;
    return text.substr(begin + 1, end + 4 - (begin + 1));
}

} // namespace gf
