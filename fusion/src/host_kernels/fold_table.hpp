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

// The operand rule of each monoid.
#define GRIDFOLD_MONOID_OP(id, file, operands, rule) inline constexpr OperandRule rule_of_##id = OperandRule::rule;
#define GRIDFOLD_REDUCE_OP(...)
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP

/// Kernels<M, E>::address is the address of M's kernels, of type Address, or null.
template <template <class, class> class Kernels, class Address, template <class, class> class M, AccumulatorRule rule,
          OperandRule operands, DType element, DType accumulator>
constexpr Address entry() {
    if constexpr (folds_elements(operands, operand_count<M<f32, f32>>, element) &&
                  accumulates_in(rule, element, accumulator))
        return Kernels<M<Element<element>, Element<accumulator>>, Element<element>>::address;
    else
        return nullptr;
}

/// The kernels of one monoid over one element type, by accumulator type.
template <template <class, class> class Kernels, class Address, template <class, class> class M, AccumulatorRule rule,
          OperandRule operands, DType element>
struct Row {
    static constexpr Address entries[] = {
#define GRIDFOLD_DTYPE(accumulator, ...) entry<Kernels, Address, M, rule, operands, element, DType::accumulator>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
};

template <template <class, class> class Kernels, class Address, template <class, class> class M, AccumulatorRule rule,
          OperandRule operands>
struct Table {
    static constexpr const Address* rows[] = {
#define GRIDFOLD_DTYPE(element, ...) Row<Kernels, Address, M, rule, operands, DType::element>::entries,
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
        found = Table<Kernels, Address, monoid_, AccumulatorRule::rule, rule_of_##monoid_>::rows[element][accumulator];
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
    return found;
}

} // namespace GRIDFOLD_NAMESPACE::kernels
