// Division of many numbers by one, which costs less than as many divisions and gives the same bits. Depends on
// prelude.cuh.
//
// q ≈ a y with y = 1 / b rounded correctly, and twice q ← q + (a − b q) y. The first step leaves q within a unit in the
// last place, so that the second rounds correctly (P. Markstein, 1990; Muller et al., Handbook of Floating-Point
// Arithmetic). Both need remainders a − b q that are exact: other quotients are divided as usual.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The denominator of many quotients.
struct Divisor {
    f32 value, reciprocal; ///< 0 if |value| is too small or too large
};

GRIDFOLD_FN Divisor divisor(f32 value) {
    const f32 size = value < 0 ? -value : value;
    const bool is_safe = size > 0x1p-40f && size < 0x1p40f;
    return {value, is_safe ? 1.0f / value : 0.0f};
}

/// a / d.value
GRIDFOLD_FN f32 divided(f32 a, const Divisor& d) {
#if defined(__CUDACC__) && !defined(GRIDFOLD_FAST_MATH)
    const auto corrected = [&](f32 q) { return __fmaf_rn(__fmaf_rn(-d.value, q, a), d.reciprocal, q); };
    const f32 q = corrected(corrected(a * d.reciprocal));
    if (fabsf(q) > 0x1p-60f && fabsf(q) < 0x1p60f) return q;
#endif
    return a / d.value;
}

} // namespace GRIDFOLD_NAMESPACE
