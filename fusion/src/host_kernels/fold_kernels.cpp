// The monoids of monoid.cuh as kernels over lanes, for the instruction set that this file is compiled for.
#include "host_kernels/any_order.hpp"
#include "host_kernels/fold_table.hpp"
#include "host_kernels/masked_moments.hpp"
#include "host_kernels/registers.hpp"

namespace GRIDFOLD_NAMESPACE {

const FoldKernels* fold_kernels(int monoid, int element, int accumulator);

namespace kernels {

// x86-64 without extensions is rare, and each loop takes compile time.
#if defined(__x86_64__) && !defined(__AVX2__)
GRIDFOLD_FOLDS(Fold, Loops::single);
#else
GRIDFOLD_FOLDS(Fold, Loops::all);
#endif
GRIDFOLD_STATES(States);

template <class M, class E> struct LaneKernels {
    static constexpr const FoldKernels* address = &kernels_of<Fold, States, M, E>;
};

} // namespace kernels

const FoldKernels* fold_kernels(int monoid, int element, int accumulator) {
    return kernels::find_in_fold_table<kernels::LaneKernels, const FoldKernels*>(monoid, element, accumulator);
}

} // namespace GRIDFOLD_NAMESPACE
