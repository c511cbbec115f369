// exp, exp2, expm1, sinh, cosh, tanh and sigmoid in double-double: Taylor's series of e^r − 1 after x = n ln 2 + r.
#pragma once

#include "double_double.cuh"

namespace gf::test::reference {

/// e^r − 1, for |r| ≤ 0.36
GRIDFOLD_BOTH Wide expm1_near_0(Wide r) {
    Wide sum = inverse_factorial(27);
    for (int k = 26; k >= 1; --k) sum = sum * r + inverse_factorial(k);
    return sum * r;
}
/// e^x. Beyond ±2000, which is far outside of every range, e^±2000.
GRIDFOLD_BOTH Exact exp_of(Wide x) {
    if (x.high > 2000) x = 2000;
    if (x.high < -2000) x = -2000;
    // ln 2 in three parts; the first two have so few bits that their products with n are exact.
    const double n = std::rint(x.high * 0x1.71547652b82fep0);
    const Wide r = x - n * 0x1.62e42fefa4p-1 - n * -0x1.8432a1b0e2p-43 - exact_product(n, -0x1.8cff81a12a17ep-85);
    return {Wide(1) + expm1_near_0(r), static_cast<int>(n)};
}

GRIDFOLD_BOTH Exact exp(double x) {
    if (std::isnan(x)) return exactly(x);
    if (std::isinf(x)) return exactly(x > 0 ? x : 0);
    return exp_of(x);
}
GRIDFOLD_BOTH Exact exp2(double x) {
    if (std::isnan(x)) return exactly(x);
    if (std::isinf(x)) return exactly(x > 0 ? x : 0);
    if (x > 3000) x = 3000;
    if (x < -3000) x = -3000;
    const double n = std::rint(x);
    return {Wide(1) + expm1_near_0(ln2() * (x - n)), static_cast<int>(n)};
}
GRIDFOLD_BOTH Exact expm1(double x) {
    if (std::isnan(x) || is_tiny(x)) return exactly(x);
    if (std::isinf(x)) return exactly(x > 0 ? x : -1);
    if (std::fabs(x) <= 0.36) return {expm1_near_0(x)};
    if (x < -130) return {Wide(-1, 0x1p-180)};
    const Exact e = exp_of(x);
    return e.exponent > 200 ? e : Exact{e.value - std::ldexp(1.0, -e.exponent), e.exponent};
}

/// (e^a + sign e^−a) / 2, for a > 0, and if sign is −1, a > 0.36: else digits cancel.
GRIDFOLD_BOTH Exact hyperbolic(double a, int sign) {
    Exact e = exp_of(a);
    if (e.exponent < 200) e.value = e.value + scaled(Wide(sign) / e.value, -2 * e.exponent);
    return {e.value, e.exponent - 1};
}
GRIDFOLD_BOTH Exact sinh(double x) {
    if (std::isnan(x) || std::isinf(x) || is_tiny(x)) return exactly(x);
    const double a = std::fabs(x);
    if (a > 0.36) return with_sign_of(x, hyperbolic(a, -1));
    const Wide t = expm1_near_0(a);
    return with_sign_of(x, {(t + t / (Wide(1) + t)) * 0.5});
}
GRIDFOLD_BOTH Exact cosh(double x) {
    if (std::isnan(x)) return exactly(x);
    if (std::isinf(x)) return exactly(infinity());
    return hyperbolic(std::fabs(x), 1);
}
GRIDFOLD_BOTH Exact tanh(double x) {
    if (std::isnan(x) || is_tiny(x)) return exactly(x);
    const double a = std::fabs(x);
    if (a > 100) return with_sign_of(x, std::isinf(x) ? exactly(1) : Exact{Wide(1, -0x1p-200)});
    if (a < 0.18) {
        const Wide t = expm1_near_0(2 * a);
        return with_sign_of(x, {t / (t + 2)});
    }
    const Exact e = exp_of(-2 * a);
    const Wide q = scaled(e.value, e.exponent);
    return with_sign_of(x, {(Wide(1) - q) / (Wide(1) + q)});
}
GRIDFOLD_BOTH Exact sigmoid(double x) {
    if (std::isnan(x)) return exactly(x);
    if (std::isinf(x)) return exactly(x > 0 ? 1 : 0);
    const Exact e = exp_of(-std::fabs(x));
    const Wide under = Wide(1) + (e.exponent < -200 ? Wide(0) : scaled(e.value, e.exponent));
    if (x < 0) return {e.value / under, e.exponent};
    return {e.exponent < -200 ? Wide(1, -0x1p-200) : Wide(1) / under};
}

} // namespace gf::test::reference
