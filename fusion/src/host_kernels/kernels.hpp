// The kernels that the CPU backend interprets programs with, by row, types and instruction set.
//
// Every built-in kernel exists once for each instruction set of InstructionSet that the target can have, all giving the
// same bits. Users' kernels come from their rows, compiled by the user.
#pragma once

#include <cstdint>
#include <string_view>

#include <gridfold/core/dtype.hpp>
#include <gridfold/ops/op.hpp>

#include "host_kernels/kernel_types.hpp"

namespace gf::cpu {

/// "baseline", "AVX2", "AVX-512"
std::string_view to_text(InstructionSet set);

/// Can this machine run it?
bool has(InstructionSet set);

/// The best that this machine has; or what the environment variable GRIDFOLD_CPU says (baseline, avx2, avx512). Throws
/// InvalidOption if that is none of these or more than the machine has.
InstructionSet chosen_instruction_set();

/// The kernel of a map that computes in `compute`; null where the map has no meaning for the type.
MapKernel map_kernel(const MapOp& row, DType compute, InstructionSet set = InstructionSet::baseline);

/// The same where the second operand is one scalar, of which the kernel reads a single element: the same bits, sooner.
/// Null where there is none: map_kernel with the scalar repeated does it.
MapKernel map_kernel_by_scalar(const MapOp& row, DType compute, InstructionSet set);

/// The conversion of array elements or values: from a type to itself it copies (and makes bools 0 or 1); f16 and bf16
/// convert only to and from f32, the type of their values. Null for what else there is.
ConvertKernel cast_kernel(DType from, DType to, InstructionSet set = InstructionSet::baseline);

/// A value of type `from`, rounded once to the nearest f16 or bf16, as f32. Null for other types.
ConvertKernel round_kernel(DType from, DType to, InstructionSet set = InstructionSet::baseline);

/// The kernels of a monoid, built-in or a user's; null where it has no meaning for the types.
const FoldKernels* fold_kernels(const MonoidOp& row, DType element, DType accumulator, InstructionSet set);

/// What a built-in reduction reads off a state, as a `result`; null where that has no meaning. (A user's:
/// ReduceOp::user_finalize.)
FinalizeKernel finalize_kernel(const ReduceOp& row, DType element, DType accumulator, DType result);

} // namespace gf::cpu
