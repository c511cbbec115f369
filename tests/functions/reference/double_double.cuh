// Numbers of twice the precision of f64, as the sum of two, for the host and for nvcc. Sums, products, quotients and
// roots have relative errors below 2^-100 while nothing overflows and no low part is denormal.
//
// Source: Joldes, Muller and Popescu, Tight and rigorous error bounds for basic building blocks of double-word
// arithmetic, 2017 (AccurateDWPlusDW, DWTimesDW3, DWDivDW2). Needs -ffp-contract=off, -fmad=false for nvcc.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#if defined(__CUDACC__)
#define GRIDFOLD_BOTH __host__ __device__ inline
#else
#define GRIDFOLD_BOTH inline
#endif

namespace gf::test::reference {

/// high + low, where high is the sum rounded to f64.
struct Wide {
    double high, low;
    // An f64 is such a number: sums of both kinds read as formulas.
    GRIDFOLD_BOTH constexpr Wide(double h, double l = 0) : high(h), low(l) {}
};

/// a + b without error.
GRIDFOLD_BOTH Wide exact_sum(double a, double b) {
    const double s = a + b, t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}
/// a + b without error, for |a| ≥ |b| or a = 0.
GRIDFOLD_BOTH Wide ordered_sum(double a, double b) {
    const double s = a + b;
    return {s, b - (s - a)};
}
/// a · b without error.
GRIDFOLD_BOTH Wide exact_product(double a, double b) {
    const double p = a * b;
    return {p, std::fma(a, b, -p)};
}

GRIDFOLD_BOTH Wide operator-(Wide a) { return {-a.high, -a.low}; }
GRIDFOLD_BOTH Wide operator+(Wide a, Wide b) {
    const Wide s = exact_sum(a.high, b.high), t = exact_sum(a.low, b.low);
    const Wide u = ordered_sum(s.high, s.low + t.high);
    return ordered_sum(u.high, t.low + u.low);
}
GRIDFOLD_BOTH Wide operator-(Wide a, Wide b) { return a + -b; }
GRIDFOLD_BOTH Wide operator*(Wide a, Wide b) {
    const Wide p = exact_product(a.high, b.high);
    return ordered_sum(p.high, p.low + std::fma(a.low, b.high, std::fma(a.high, b.low, a.low * b.low)));
}
GRIDFOLD_BOTH Wide operator/(Wide a, Wide b) {
    const double q = a.high / b.high;
    const Wide rest = a - b * q;
    return ordered_sum(q, rest.high / b.high);
}
/// The root, for a ≥ 0.
GRIDFOLD_BOTH Wide sqrt(Wide a) {
    if (a.high == 0) return a;
    const double s = std::sqrt(a.high);
    return ordered_sum(s, (std::fma(-s, s, a.high) + a.low) / (2 * s));
}
/// a · 2^n
GRIDFOLD_BOTH Wide scaled(Wide a, int n) { return {std::ldexp(a.high, n), std::ldexp(a.low, n)}; }

/// value · 2^exponent: results far outside of the range of f64. Zeros, infinities and NaN are exact values.
struct Exact {
    Wide value;
    int exponent = 0;
};
GRIDFOLD_BOTH Exact exactly(double value) { return {Wide(value), 0}; }
GRIDFOLD_BOTH Exact negated(Exact a) { return {-a.value, a.exponent}; }
GRIDFOLD_BOTH Exact with_sign_of(double x, Exact size) { return std::signbit(x) ? negated(size) : size; }

GRIDFOLD_BOTH double infinity() { return std::numeric_limits<double>::infinity(); }
GRIDFOLD_BOTH double nan() { return std::numeric_limits<double>::quiet_NaN(); }

/// x = fraction · 2^exponent with 1/2 ≤ |fraction| < 1.
struct Split {
    double fraction;
    int exponent;
};
GRIDFOLD_BOTH Split split(double x) {
    int exponent = 0;
    const double fraction = std::frexp(x, &exponent);
    return {fraction, exponent};
}
/// Below, f(x) = x (1 + c x + …) rounds to x for each such function.
GRIDFOLD_BOTH bool is_tiny(double x) { return std::fabs(x) < 0x1p-200; }

GRIDFOLD_BOTH Wide half_pi() { return {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54}; }
GRIDFOLD_BOTH Wide ln2() { return {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}; }
GRIDFOLD_BOTH Wide ln10() { return {0x1.26bb1bbb55516p+1, -0x1.f48ad494ea3e9p-53}; }
GRIDFOLD_BOTH Wide one_over_root_pi() { return {0x1.20dd750429b6dp-1, 0x1.1ae3a914fed80p-57}; }

/// 1 / k! for 1 ≤ k ≤ 29
GRIDFOLD_BOTH Wide inverse_factorial(int k) {
    static constexpr double of[][2] = {{0x1p0, 0},
                                       {0x1p0, 0},
                                       {0x1p-1, 0},
                                       {0x1.5555555555555p-3, 0x1.5555555555555p-57},
                                       {0x1.5555555555555p-5, 0x1.5555555555555p-59},
                                       {0x1.1111111111111p-7, 0x1.1111111111111p-63},
                                       {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65},
                                       {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73},
                                       {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76},
                                       {0x1.71de3a556c734p-19, -0x1.c154f8ddc6c00p-73},
                                       {0x1.27e4fb7789f5cp-22, 0x1.cbbc05b4fa99ap-76},
                                       {0x1.ae64567f544e4p-26, -0x1.c062e06d1f209p-80},
                                       {0x1.1eed8eff8d898p-29, -0x1.2aec959e14c06p-83},
                                       {0x1.6124613a86d09p-33, 0x1.f28e0cc748ebep-87},
                                       {0x1.93974a8c07c9dp-37, 0x1.05d6f8a2efd1fp-92},
                                       {0x1.ae7f3e733b81fp-41, 0x1.1d8656b0ee8cbp-97},
                                       {0x1.ae7f3e733b81fp-45, 0x1.1d8656b0ee8cbp-101},
                                       {0x1.952c77030ad4ap-49, 0x1.ac981465ddc6cp-103},
                                       {0x1.6827863b97d97p-53, 0x1.eec01221a8b0bp-107},
                                       {0x1.2f49b46814157p-57, 0x1.2650f61dbdcb4p-112},
                                       {0x1.e542ba4020225p-62, 0x1.ea72b4afe3c2fp-120},
                                       {0x1.71b8ef6dcf572p-66, -0x1.d043ae40c4647p-120},
                                       {0x1.0ce396db7f853p-70, -0x1.aebcdbd20331cp-124},
                                       {0x1.761b41316381ap-75, -0x1.3423c7d91404fp-130},
                                       {0x1.f2cf01972f578p-80, -0x1.9ada5fcc1ab14p-135},
                                       {0x1.3f3ccdd165fa9p-84, -0x1.58ddadf344487p-139},
                                       {0x1.88e85fc6a4e5ap-89, -0x1.71c37ebd16540p-143},
                                       {0x1.d1ab1c2dccea3p-94, 0x1.054d0c78aea14p-149},
                                       {0x1.0a18a2635085dp-98, 0x1.b9e2e28e1aa54p-153},
                                       {0x1.259f98b4358adp-103, 0x1.eaf8c39dd9bc5p-157}};
    return {of[k][0], of[k][1]};
}

} // namespace gf::test::reference
