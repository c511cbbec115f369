// The function types of the CPU backend's kernels. Depends on host_kernels.hpp alone: the files that are compiled once
// for each instruction set include it, and share no inline function with the rest of the library.
#pragma once

#include <gridfold/ops/host_kernels.hpp>

namespace gf::cpu {

/// out[i] = the conversion of in[i]. The arrays do not overlap, except that out may equal `in` for elements of one
/// size.
using ConvertKernel = void (*)(void* out, const void* in, std::size_t n);

/// Writes one R, the result of a reduction with a final State.
using FinalizeKernel = void (*)(const void* state, double ddof, void* out);

} // namespace gf::cpu
