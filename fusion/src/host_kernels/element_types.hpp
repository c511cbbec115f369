// The C++ types of DTypes in the namespace of one instruction set. Includes nothing that has inline functions but
// prelude.cuh and loops.hpp, and the rules, which are always inlined.
#pragma once

#include <gridfold/ops/host/loops.hpp>
#include <gridfold/ops/rules.hpp>

#include "host_kernels/kernel_types.hpp"

namespace GRIDFOLD_NAMESPACE {

/// The type of a value. f16 and bf16 have none: their values are f32.
template <DType> struct ValueOf;
// clang-format off
template <> struct ValueOf<DType::boolean> { using type = bool; };
template <> struct ValueOf<DType::i8> { using type = i8; };
template <> struct ValueOf<DType::i16> { using type = i16; };
template <> struct ValueOf<DType::i32> { using type = i32; };
template <> struct ValueOf<DType::i64> { using type = i64; };
template <> struct ValueOf<DType::u8> { using type = u8; };
template <> struct ValueOf<DType::u16> { using type = u16; };
template <> struct ValueOf<DType::u32> { using type = u32; };
template <> struct ValueOf<DType::u64> { using type = u64; };
template <> struct ValueOf<DType::f32> { using type = f32; };
template <> struct ValueOf<DType::f64> { using type = f64; };
// clang-format on
template <DType type> using Element = typename ValueOf<type>::type;

} // namespace GRIDFOLD_NAMESPACE
