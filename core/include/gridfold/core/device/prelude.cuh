// What every generated kernel starts with: types, exact arithmetic and the few device primitives, under names that the
// host compiler understands too. Header-free: NVRTC reads it as it stands; the host includes it as a header.
//
// On the host it is `gf::device`, unless GRIDFOLD_NAMESPACE says otherwise: the CPU backend compiles it once for each
// instruction set, each in a namespace of its own, so that no inline function is shared between them.
#pragma once

#if defined(__CUDACC__)
#define GRIDFOLD_FN __device__ __forceinline__
#else
#define GRIDFOLD_FN [[maybe_unused]] inline
#endif
#ifndef GRIDFOLD_NAMESPACE
#define GRIDFOLD_NAMESPACE gf::device
#endif

namespace GRIDFOLD_NAMESPACE {

using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using f32 = float;
using f64 = double;

} // namespace GRIDFOLD_NAMESPACE
