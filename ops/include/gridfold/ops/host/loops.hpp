// Helpers for loops over elements that compilers can vectorise. Compiled once for each instruction set, in its own
// namespace: of headers with inline functions it includes only prelude.cuh.
#pragma once

#include <cstddef>

#include <gridfold/core/device/prelude.cuh>

// Tells the compiler that the iterations of the next loop are independent although its pointers may alias.
#if defined(__clang__)
#define GRIDFOLD_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define GRIDFOLD_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace GRIDFOLD_NAMESPACE {

/// The unsigned integer with `bytes` bytes.
template <std::size_t bytes> struct BitsOf;
// clang-format off
template <> struct BitsOf<1> { using type = u8; };
template <> struct BitsOf<2> { using type = u16; };
template <> struct BitsOf<4> { using type = u32; };
template <> struct BitsOf<8> { using type = u64; };
// clang-format on

/// The bits of `yes` where `mask` has ones, else those of `no`.
template <class T, class Bits = typename BitsOf<sizeof(T)>::type> GRIDFOLD_FN T blend(Bits mask, T yes, T no) {
    return __builtin_bit_cast(T, Bits((__builtin_bit_cast(Bits, yes) & mask) | (__builtin_bit_cast(Bits, no) & ~mask)));
}
/// `yes` if `accept` is true, else `no`; by their bits, so that no compiler writes a branch that it cannot vectorise.
template <class T> GRIDFOLD_FN T choose(bool accept, T yes, T no) {
    using Bits = typename BitsOf<sizeof(T)>::type;
    return blend(Bits(Bits(0) - Bits(accept)), yes, no);
}

} // namespace GRIDFOLD_NAMESPACE
