// The function types of the CPU backend's kernels. Depends on the kernel types of ops alone: the files that are
// compiled once for each instruction set include it, and share no inline function with the rest of the library.
#pragma once

#include <gridfold/ops/position_kernels.hpp>

namespace gf::cpu {

/// out[i] = the conversion of in[i]. The arrays do not overlap, except that out may equal `in` for elements of one
/// size.
using ConvertKernel = void (*)(void* out, const void* in, std::size_t n);

/// Writes n results of type R, one after the other, of a reduction with as many final States.
using FinalizeKernel = void (*)(const void* states, double argument, void* out, std::size_t n);

/// Folds of whole blocks without a mask: of lanes [first, first + n), all rows of the block, of any number. Combines
/// the n lanes, a power of two from 256 on, into lane first / n, from which FoldKernels::finish goes on; reads none.
struct BlockKernels {
    void (*fold)(void* lanes, const FoldInput& input);
    void (*fold_product)(void* lanes, const FoldInput& input); ///< the same of products, or null
};

/// The States of folds in any order, of built-in monoids, that one call folds together; null for others.
struct JointStates {
    void *min = nullptr, *max = nullptr, *count = nullptr, *any = nullptr, *all = nullptr;
};
/// Folds of elements without a mask; those of a comparison with a scalar compare each with *y, of positions *y[0].
struct JointKernels {
    void (*fold)(const JointStates& states, const FoldInput& input);
    /// Folds each row into States of its own, which follow those of the row before.
    void (*fold_rows)(const JointStates& states, const ShortRows& rows);
    /// Folds into positions, as PositionKernels::fold does; null if a call for each fold is as fast. Extremes: of both
    /// min and max.
    void (*fold_positions)(const JointStates& positions, std::size_t first, const PositionInput& input);
};

} // namespace gf::cpu
