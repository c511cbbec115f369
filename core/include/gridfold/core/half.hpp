// The 16-bit floating-point element types on the host: storage with conversions; arithmetic happens in float.
#pragma once

#include <cstdint>

#include <gridfold/core/device/prelude.cuh>

namespace gf {

/// IEEE 754 binary16. Conversion from float rounds to nearest, ties to even.
struct f16 {
    std::uint16_t bits = 0;
    f16() = default;
    explicit f16(float value) : bits(device::f32_to_f16(value)) {}
    explicit operator float() const { return device::f16_to_f32(bits); }
    friend bool operator==(f16 a, f16 b) { return float(a) == float(b); }
};

/// bfloat16: the upper half of a float. Conversion from float rounds to nearest, ties to even.
struct bf16 {
    std::uint16_t bits = 0;
    bf16() = default;
    explicit bf16(float value) : bits(device::f32_to_bf16(value)) {}
    explicit operator float() const { return device::bf16_to_f32(bits); }
    friend bool operator==(bf16 a, bf16 b) { return float(a) == float(b); }
};

static_assert(sizeof(f16) == 2 && sizeof(bf16) == 2);

} // namespace gf
