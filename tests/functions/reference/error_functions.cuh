// erf and erfc in double-double: a series of positive terms up to 2.5, a continued fraction from there on.
// Source: Abramowitz and Stegun, 7.1.6 and 7.1.14.
#pragma once

#include "exponentials.cuh"

namespace gf::test::reference {

constexpr double error_function_switch = 2.5;

/// e^(−x²)
GRIDFOLD_BOTH Exact gaussian(double x) { return exp_of(-exact_product(x, x)); }
/// erf(x), for 0 ≤ x ≤ 2.5: 2/√π e^(−x²) (x + 2 x³ / 3 + 4 x⁵ / 15 + …)
GRIDFOLD_BOTH Wide erf_by_series(double x) {
    const Wide square = exact_product(x, x) * 2;
    Wide term = x, sum = x;
    for (int k = 3; term.high > 0x1p-110 * sum.high; k += 2) {
        term = term * square / k;
        sum = sum + term;
    }
    const Exact g = gaussian(x);
    return one_over_root_pi() * 2 * scaled(g.value, g.exponent) * sum;
}
/// erfc(x), for x ≥ 2.5: e^(−x²) / √π / (x + (1/2) / (x + (2/2) / (x + (3/2) / …)))
GRIDFOLD_BOTH Exact erfc_by_fraction(double x) {
    if (x > 40) x = 40; // far below each denormal
    Wide under = x;
    for (int k = static_cast<int>(20 + 1100 / (x * x)); k > 0; --k) under = Wide(x) + Wide(0.5 * k) / under;
    const Exact g = gaussian(x);
    return {one_over_root_pi() * g.value / under, g.exponent};
}

GRIDFOLD_BOTH Exact erf(double x) {
    if (std::isnan(x) || x == 0) return exactly(x);
    if (std::isinf(x)) return exactly(std::copysign(1.0, x));
    const double a = std::fabs(x);
    if (is_tiny(x)) {
        const Split s = split(x);
        return {one_over_root_pi() * 2 * s.fraction, s.exponent};
    }
    if (a < error_function_switch) return with_sign_of(x, {erf_by_series(a)});
    if (a > 9) return with_sign_of(x, {Wide(1, -0x1p-120)});
    const Exact rest = erfc_by_fraction(a);
    return with_sign_of(x, {Wide(1) - scaled(rest.value, rest.exponent)});
}
GRIDFOLD_BOTH Exact erfc(double x) {
    if (std::isnan(x)) return exactly(x);
    if (std::isinf(x)) return exactly(x > 0 ? 0 : 2);
    if (is_tiny(x)) return {Wide(1, x > 0 ? -0x1p-200 : 0x1p-200)};
    if (x >= error_function_switch) return erfc_by_fraction(x);
    if (x > -error_function_switch) {
        const Wide y = erf_by_series(std::fabs(x));
        return {x < 0 ? Wide(1) + y : Wide(1) - y};
    }
    if (x < -9) return {Wide(2, -0x1p-120)};
    const Exact rest = erfc_by_fraction(-x);
    return {Wide(2) - scaled(rest.value, rest.exponent)};
}

} // namespace gf::test::reference
