// cbrt, hypot and rsqrt in double-double.
#pragma once

#include "double_double.cuh"

namespace gf::test::reference {

GRIDFOLD_BOTH Exact cbrt(double x) {
    if (std::isnan(x) || std::isinf(x) || x == 0) return exactly(x);
    Split s = split(x);
    while (s.exponent % 3 != 0) {
        s.fraction /= 2;
        ++s.exponent;
    }
    const Wide y = std::cbrt(s.fraction), rest = Wide(s.fraction) - y * y * y;
    return {y + rest / (y * y * 3), s.exponent / 3}; // Newton
}
GRIDFOLD_BOTH Exact rsqrt(double x) {
    if (std::isnan(x) || x < 0) return exactly(nan());
    if (x == 0) return exactly(std::copysign(infinity(), x));
    if (std::isinf(x)) return exactly(0);
    Split s = split(x);
    if (s.exponent % 2 != 0) {
        s.fraction /= 2;
        ++s.exponent;
    }
    return {Wide(1) / sqrt(s.fraction), -s.exponent / 2};
}
GRIDFOLD_BOTH Exact hypot(double x, double y) {
    if (std::isinf(x) || std::isinf(y)) return exactly(infinity());
    if (std::isnan(x) || std::isnan(y)) return exactly(nan());
    const double more = std::fmax(std::fabs(x), std::fabs(y)), less = std::fmin(std::fabs(x), std::fabs(y));
    if (more == 0) return exactly(0);
    const int n = split(more).exponent;
    const double a = std::ldexp(more, -n), b = std::ldexp(less, -n); // b may vanish: then it does not matter
    return {sqrt(exact_product(a, a) + exact_product(b, b)), n};
}

} // namespace gf::test::reference
