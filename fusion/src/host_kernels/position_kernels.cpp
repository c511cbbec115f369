// The monoids of monoid.cuh as kernels over positions and short rows, for the instruction set that this file is
// compiled for.
#include <gridfold/ops/host/positions.hpp>

#include "host_kernels/extreme_keys.hpp"
#include "host_kernels/fold_table.hpp"
#include "host_kernels/joint_rows.hpp"
#include "host_kernels/moments_of_rows.hpp"
#include "host_kernels/registers.hpp"

namespace GRIDFOLD_NAMESPACE {

using gf::cpu::PositionKernels;

const PositionKernels* position_kernels(int monoid, int element, int accumulator);

namespace kernels {

// x86-64 without extensions is rare, and each loop takes compile time.
#if defined(__x86_64__) && !defined(__AVX2__)
GRIDFOLD_POSITIONS(OfPositions, Loops::single, );
#else
GRIDFOLD_POSITIONS(OfPositions, Loops::few, );
#endif

template <class M, class E> struct KernelsOfPositions {
    static constexpr const PositionKernels* address = &OfPositions_kernels<M, E>;
};

} // namespace kernels

const PositionKernels* position_kernels(int monoid, int element, int accumulator) {
    return kernels::find_in_fold_table<kernels::KernelsOfPositions, const PositionKernels*>(monoid, element,
                                                                                            accumulator);
}

} // namespace GRIDFOLD_NAMESPACE
