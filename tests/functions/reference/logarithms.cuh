// log, log2, log10, log1p, asinh, acosh, atanh and pow in double-double: Newton's iteration on e^y − 1, from an f64.
#pragma once

#include "exponentials.cuh"

namespace gf::test::reference {

/// log(1 + z), for −0.3 ≤ z ≤ 0.42
GRIDFOLD_BOTH Wide log1p_near_0(Wide z) {
    const double y = std::log1p(z.high);
    const Wide e = expm1_near_0(y), d = (z - e) / (Wide(1) + e); // |d| is some 2^-52 |z|
    return Wide(y) + (d - d * d * 0.5);
}
/// log(x), for 0 < x < infinity
GRIDFOLD_BOTH Wide log_of(Wide x) {
    int n = split(x.high).exponent;
    Wide m = scaled(x, -n);
    if (m.high < 0.70710678) {
        m = scaled(m, 1);
        --n;
    }
    return ln2() * n + log1p_near_0(m - 1);
}
/// log(1 + z), for z > −1
GRIDFOLD_BOTH Wide log1p_of(Wide z) { return z.high > -0.29 && z.high < 0.41 ? log1p_near_0(z) : log_of(Wide(1) + z); }

/// log(x) / unit
GRIDFOLD_BOTH Exact logarithm(double x, Wide unit) {
    if (std::isnan(x) || x < 0) return exactly(nan());
    if (x == 0) return exactly(-infinity());
    if (std::isinf(x)) return exactly(x);
    if (x == 1) return exactly(0);
    return {log_of(x) / unit};
}
GRIDFOLD_BOTH Exact log(double x) { return logarithm(x, 1); }
GRIDFOLD_BOTH Exact log2(double x) { return logarithm(x, ln2()); }
GRIDFOLD_BOTH Exact log10(double x) { return logarithm(x, ln10()); }
GRIDFOLD_BOTH Exact log1p(double x) {
    if (std::isnan(x) || x < -1) return exactly(nan());
    if (x == -1) return exactly(-infinity());
    if (std::isinf(x) || is_tiny(x)) return exactly(x);
    return {log1p_of(x)};
}

GRIDFOLD_BOTH Exact asinh(double x) {
    if (std::isnan(x) || std::isinf(x) || is_tiny(x)) return exactly(x);
    const double a = std::fabs(x);
    if (a > 0x1p200) return with_sign_of(x, {log_of(a) + ln2()});
    // x + sqrt(1 + x²) − 1, without cancellation
    const Wide square = exact_product(a, a);
    return with_sign_of(x, {log1p_of(Wide(a) + square / (Wide(1) + sqrt(Wide(1) + square)))});
}
GRIDFOLD_BOTH Exact acosh(double x) {
    if (std::isnan(x) || x < 1) return exactly(nan());
    if (std::isinf(x)) return exactly(x);
    if (x == 1) return exactly(0);
    if (x > 0x1p200) return {log_of(x) + ln2()};
    const Wide t = exact_sum(x, -1); // x + sqrt(x² − 1) = 1 + t + sqrt(t (t + 2))
    return {log1p_of(t + sqrt(t * (t + 2)))};
}
GRIDFOLD_BOTH Exact atanh(double x) {
    const double a = std::fabs(x);
    if (std::isnan(x) || a > 1) return exactly(nan());
    if (a == 1) return exactly(std::copysign(infinity(), x));
    if (is_tiny(x)) return exactly(x);
    return with_sign_of(x, {log1p_of(Wide(2 * a) / exact_sum(1, -a)) * 0.5});
}

GRIDFOLD_BOTH bool is_whole(double x) { return std::rint(x) == x; }
GRIDFOLD_BOTH bool is_odd(double x) { return !std::isinf(x) && is_whole(x) && !is_whole(x / 2); }
GRIDFOLD_BOTH Exact pow(double x, double y) {
    if (x == 1 || y == 0) return exactly(1);
    if (std::isnan(x) || std::isnan(y)) return exactly(nan());
    const double a = std::fabs(x);
    const double sign = std::signbit(x) && is_odd(y) ? -1 : 1;
    if (a == 1 && std::isinf(y)) return exactly(1);
    if (a == 0 || std::isinf(a) || std::isinf(y)) {
        const bool grows = a > 1 ? y > 0 : y < 0;
        return exactly(std::copysign(grows ? infinity() : 0, sign));
    }
    if (x < 0 && !is_whole(y)) return exactly(nan());
    if (a == 1) return exactly(sign);
    const Wide l = log_of(a);
    const double rough = l.high * y; // may be infinite
    return with_sign_of(sign, exp_of(std::fabs(rough) > 2000 ? Wide(std::copysign(2000, rough)) : l * y));
}

} // namespace gf::test::reference
