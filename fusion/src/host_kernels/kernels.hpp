// The kernels with which the CPU backend interprets programs, by row, types and instruction set.
//
// Every built-in kernel is compiled for each InstructionSet of the target architecture; all give the same bits. Users'
// kernels come from their rows, compiled by the user.
#pragma once

#include <cstdint>
#include <string_view>

#include <gridfold/core/dtype.hpp>
#include <gridfold/ops/op.hpp>
#include <gridfold/ops/position_kernels.hpp>

#include "host_kernels/kernel_types.hpp"
#include "host_kernels/row_values.hpp"
#include "host_kernels/streaming.hpp"

namespace gf::cpu {

/// "baseline", "AVX2", "AVX-512"
std::string_view to_text(InstructionSet set);

/// True if this machine supports the instruction set.
bool has(InstructionSet set);

/// The best instruction set of this machine, or the one in the environment variable GRIDFOLD_CPU (baseline, avx2,
/// avx512). Throws InvalidOption for another value, or if the machine does not support it.
InstructionSet chosen_instruction_set();

/// The kernel of a map that computes in `compute`; null if the map does not take the type.
MapKernel map_kernel(const MapOp& row, DType compute, InstructionSet set = InstructionSet::baseline);

/// A faster kernel with the same bits for a map whose second operand is one scalar, of which it reads a single element.
/// Null if there is none; then map_kernel() is used with the scalar repeated.
MapKernel map_kernel_by_scalar(const MapOp& row, DType compute, InstructionSet set);

/// The kernel of a map whose second operand is a value for each row; null if there is none.
RowValueKernel row_value_kernel(const MapOp& row, DType compute, InstructionSet set);

/// The conversion of array elements or values. From a type to itself it copies (and normalises bools to 0 or 1); f16
/// and bf16 convert only to and from f32, the type of their values. Null for other pairs.
ConvertKernel cast_kernel(DType from, DType to, InstructionSet set = InstructionSet::baseline);

/// A value of type `from`, rounded once to the nearest f16 or bf16, as f32. Null for other types.
ConvertKernel round_kernel(DType from, DType to, InstructionSet set = InstructionSet::baseline);

/// The kernels of a monoid, built-in or a user's. Null if it does not take the types, or only elements that were
/// converted to the accumulator's type, which change no result (fold_table.hpp).
const FoldKernels* fold_kernels(const MonoidOp& row, DType element, DType accumulator, InstructionSet set);

/// The kernels of a built-in monoid for whole blocks; null if it has none, or does not take the types.
const BlockKernels* block_kernels(const MonoidOp& row, DType element, DType accumulator, InstructionSet set);

/// The kernels that fold min and max, or counts, any and all, or all of them; null if there are none.
const JointKernels* joint_kernels(DType element, bool extremes, bool counts, InstructionSet set);

/// The kernels that fold the results of a comparison with a scalar by count, any and all; null for other maps.
const JointKernels* joint_kernels_of_comparison(const MapOp& row, DType compute, InstructionSet set);

/// The same monoid's kernels over positions and short rows.
const PositionKernels* position_kernels(const MonoidOp& row, DType element, DType accumulator, InstructionSet set);

/// Null if the target has no such stores.
StreamKernel stream_kernel(InstructionSet set);

/// The finaliser of a built-in reduction with a `result`; null if the types do not fit. (A user's is
/// ReduceOp::user_finalize.)
FinalizeKernel finalize_kernel(const ReduceOp& row, DType element, DType accumulator, DType result);

} // namespace gf::cpu
