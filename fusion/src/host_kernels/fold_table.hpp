// A table of kernels by monoid, element type and accumulator type, for the files of one instruction set.
#pragma once

#include <gridfold/ops/device/monoid.cuh>

#include <gridfold/core/device/fold.cuh>

#include "host_kernels/element_types.hpp"

namespace GRIDFOLD_NAMESPACE::kernels {

/// The monoids by their position in reduce.def.
enum class Position : int {
#define GRIDFOLD_MONOID_OP(id, ...) id,
#define GRIDFOLD_REDUCE_OP(...)
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
};

/// The operand rules, by Position.
inline constexpr OperandRule operand_rules[] = {
#define GRIDFOLD_MONOID_OP(id, file, operands, rule) OperandRule::rule,
#define GRIDFOLD_REDUCE_OP(...)
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
};

/// True if there are no kernels for the element type, because the caller converts elements to the accumulator's type
/// first: kernels take long to compile, and these types are folded rarely. Only for monoids that begin with the same
/// conversion.
constexpr bool is_converted_first(Position monoid, DType element, DType accumulator) {
    if (gf::is_floating(element) || element == accumulator) return false;
    switch (monoid) {
    case Position::Sum:
    case Position::SumOfSquares: return gf::is_floating(accumulator);
    case Position::Product:
    case Position::LogSumExp: return true;
    case Position::Moments: return element != DType::u8; // pixels
    default: return false;
    }
}

/// Kernels<M, E>::address is the address of M's kernels, of type Address, or null.
template <template <class, class> class Kernels, class Address, template <class, class> class M, AccumulatorRule rule,
          Position monoid, DType element, DType accumulator>
constexpr Address entry() {
    constexpr OperandRule operands = operand_rules[static_cast<int>(monoid)];
    if constexpr (folds_elements(operands, operand_count<M<f32, f32>>, element) &&
                  accumulates_in(rule, element, accumulator) && !is_converted_first(monoid, element, accumulator))
        return Kernels<M<Element<element>, Element<accumulator>>, Element<element>>::address;
    else
        return nullptr;
}

/// The kernels of one monoid over one element type, by accumulator type.
template <template <class, class> class Kernels, class Address, template <class, class> class M, AccumulatorRule rule,
          Position monoid, DType element>
struct Row {
    static constexpr Address entries[] = {
#define GRIDFOLD_DTYPE(accumulator, ...) entry<Kernels, Address, M, rule, monoid, element, DType::accumulator>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
};

template <template <class, class> class Kernels, class Address, template <class, class> class M, AccumulatorRule rule,
          Position monoid>
struct Table {
    static constexpr const Address* rows[] = {
#define GRIDFOLD_DTYPE(element, ...) Row<Kernels, Address, M, rule, monoid, DType::element>::entries,
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
};

/// A monoid has kernels for all types that the rule of any of its reductions allows.
template <template <class, class> class Kernels, class Address>
Address find_in_fold_table(int monoid, int element, int accumulator) {
    Address found = nullptr;
#define GRIDFOLD_MONOID_OP(...)
#define GRIDFOLD_REDUCE_OP(id, monoid_, rule, ...)                 \
    if (found == nullptr && Position(monoid) == Position::monoid_) \
        found = Table<Kernels, Address, monoid_, AccumulatorRule::rule, Position::monoid_>::rows[element][accumulator];
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
    return found;
}

} // namespace GRIDFOLD_NAMESPACE::kernels
