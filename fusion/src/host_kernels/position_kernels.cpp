// The monoids of monoid.cuh as kernels over positions and short rows, for the instruction set that this file is
// compiled for.
#include <gridfold/ops/host/positions.hpp>

#include "host_kernels/any_order.hpp"
#include "host_kernels/element_types.hpp"

#include <gridfold/ops/device/monoid.cuh>

namespace GRIDFOLD_NAMESPACE {

using gf::cpu::PositionKernels;

const PositionKernels* position_kernels(int monoid, int element, int accumulator);

namespace kernels {

/// The monoids by their position in reduce.def.
enum class PositionInTable : int {
#define GRIDFOLD_MONOID_OP(id, ...) id,
#define GRIDFOLD_REDUCE_OP(...)
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
};

// x86-64 without extensions is rare, and each loop takes compile time.
#if defined(__x86_64__) && !defined(__AVX2__)
GRIDFOLD_POSITIONS(OfPositions, Loops::single, );
#else
GRIDFOLD_POSITIONS(OfPositions, Loops::few, );
#endif

template <template <class, class> class M, AccumulatorRule rule, DType element, DType accumulator>
constexpr const PositionKernels* position_entry() {
    if constexpr (!is_half(element) && accumulates_in(rule, element, accumulator))
        return &OfPositions_kernels<M<Element<element>, Element<accumulator>>, Element<element>>;
    else
        return nullptr;
}

/// The kernels of one monoid over one element type, by accumulator type.
template <template <class, class> class M, AccumulatorRule rule, DType element> struct PositionRow {
    static constexpr const PositionKernels* entries[] = {
#define GRIDFOLD_DTYPE(accumulator, ...) position_entry<M, rule, element, DType::accumulator>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
};

template <template <class, class> class M, AccumulatorRule rule> struct PositionTable {
    static constexpr const PositionKernels* const* rows[] = {
#define GRIDFOLD_DTYPE(element, ...) PositionRow<M, rule, DType::element>::entries,
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
};

} // namespace kernels

/// A monoid has kernels for all types that the rule of any of its reductions allows.
const PositionKernels* position_kernels(int monoid, int element, int accumulator) {
    using namespace kernels;
    const PositionKernels* found = nullptr;
#define GRIDFOLD_MONOID_OP(...)
#define GRIDFOLD_REDUCE_OP(id, monoid_, rule, ...)                               \
    if (found == nullptr && PositionInTable(monoid) == PositionInTable::monoid_) \
        found = PositionTable<monoid_, AccumulatorRule::rule>::rows[element][accumulator];
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
    return found;
}

} // namespace GRIDFOLD_NAMESPACE
