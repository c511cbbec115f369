// The benchmarks' element types: CUDA's type, gridfold's type, and the type of a sum.
#pragma once

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <gridfold/core/half.hpp>

namespace bench {

template <class GridfoldType, class SumType> struct ElementTypes {
    using Gridfold = GridfoldType;
    using Sum = SumType; ///< gridfold's and NumPy's choice: integers in 64 bits, 16-bit floats in f32
};

template <class T> struct Element;
template <> struct Element<std::int8_t> : ElementTypes<std::int8_t, std::int64_t> {
    static constexpr const char* name = "i8";
};
template <> struct Element<std::uint8_t> : ElementTypes<std::uint8_t, std::uint64_t> {
    static constexpr const char* name = "u8";
};
template <> struct Element<std::int16_t> : ElementTypes<std::int16_t, std::int64_t> {
    static constexpr const char* name = "i16";
};
template <> struct Element<std::int32_t> : ElementTypes<std::int32_t, std::int64_t> {
    static constexpr const char* name = "i32";
};
template <> struct Element<std::int64_t> : ElementTypes<std::int64_t, std::int64_t> {
    static constexpr const char* name = "i64";
};
template <> struct Element<__half> : ElementTypes<gf::f16, float> {
    static constexpr const char* name = "f16";
};
template <> struct Element<__nv_bfloat16> : ElementTypes<gf::bf16, float> {
    static constexpr const char* name = "bf16";
};
template <> struct Element<float> : ElementTypes<float, float> {
    static constexpr const char* name = "f32";
};
template <> struct Element<double> : ElementTypes<double, double> {
    static constexpr const char* name = "f64";
};

} // namespace bench
