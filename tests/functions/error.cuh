// The error of a result in units in the last place (ulp) of the exact one, and what many errors amount to.
#pragma once

#include "functions/points.cuh"
#include "functions/reference/angles.cuh"
#include "functions/reference/error_functions.cuh"
#include "functions/reference/logarithms.cuh"
#include "functions/reference/roots.cuh"

namespace gf::test {

GRIDFOLD_BOTH reference::Exact applied(reference::Exact (*f)(double), double a, double) { return f(a); }
GRIDFOLD_BOTH reference::Exact applied(reference::Exact (*f)(double, double), double a, double b) { return f(a, b); }

/// <name>_name::exact(a, b): the exact result of a function; b is not read where it takes one operand.
#define GRIDFOLD_FUNCTION(name, ...)                                                                               \
    struct name##_name {                                                                                           \
        GRIDFOLD_BOTH static reference::Exact exact(double a, double b) { return applied(reference::name, a, b); } \
    };
#include "functions/functions.def"
#undef GRIDFOLD_FUNCTION

/// A unit is the spacing of T's numbers at the exact result: that of denormals if it is one, and of the largest numbers
/// if it is beyond them; an infinite result is the next number after the largest. Infinite if the result is NaN where
/// the exact one is not, or the reverse, if signs differ, or if an exact zero or infinity is missed.
template <class T> GRIDFOLD_BOTH double error_in_ulps(T result, reference::Exact exact) {
    using Limits = std::numeric_limits<T>;
    const double wrong = reference::infinity(), high = exact.value.high;
    const auto actual = static_cast<double>(result);
    if (std::isnan(high) || std::isnan(actual)) return std::isnan(high) && std::isnan(actual) ? 0 : wrong;
    if (std::signbit(high) != std::signbit(actual)) return wrong;
    if (high == 0 || std::isinf(high)) return actual == high ? 0 : wrong;
    const reference::Split s = reference::split(high);
    int exponent = s.exponent + exact.exponent; // |exact| is in [2^(exponent − 1), 2^exponent]
    const bool below_power_of_2 =
        std::fabs(s.fraction) == 0.5 && exact.value.low != 0 && std::signbit(exact.value.low) != std::signbit(high);
    if (below_power_of_2) --exponent;
    if (exponent > Limits::max_exponent && std::isinf(actual)) return 0;
    if (exponent > Limits::max_exponent + 2) return wrong;
    if (exponent > Limits::max_exponent) exponent = Limits::max_exponent;
    if (exponent < Limits::min_exponent) exponent = Limits::min_exponent;
    const int unit = exponent - Limits::digits;
    const double units =
        std::isinf(actual) ? std::copysign(std::ldexp(1.0, Limits::digits), high) : std::ldexp(actual, -unit);
    const reference::Wide wanted = reference::scaled(exact.value, exact.exponent - unit);
    const double error = std::fabs((units - wanted.high) - wanted.low);
    return std::isinf(actual) && exponent < Limits::max_exponent ? wrong : error;
}

/// What the errors of many results amount to. Indices are those of points.
struct Tally {
    std::uint64_t points = 0, misrounded = 0, wrong = 0; ///< wrong: infinite errors, not counted as `most`
    double most = 0;                                     ///< ulp
    std::uint64_t at = 0, wrong_at = 0;                  ///< where `most` is, and some wrong result

    GRIDFOLD_BOTH void add(double error, std::uint64_t index) {
        ++points;
        if (error > 0.5) ++misrounded;
        if (!(error < reference::infinity())) {
            if (wrong == 0 || index < wrong_at) wrong_at = index;
            ++wrong;
        } else if (error > most || (error == most && index < at)) {
            most = error;
            at = index;
        }
    }
    GRIDFOLD_BOTH void add(const Tally& other) {
        points += other.points;
        misrounded += other.misrounded;
        if (other.wrong != 0 && (wrong == 0 || other.wrong_at < wrong_at)) wrong_at = other.wrong_at;
        wrong += other.wrong;
        if (other.most > most || (other.most == most && other.points != 0 && other.at < at)) {
            most = other.most;
            at = other.at;
        }
    }
};

/// Elements whose bits differ, where all NaN are equal.
struct Difference {
    std::uint64_t count = 0, at = 0; ///< and the first of them
};
template <class T> GRIDFOLD_BOTH bool same_bits(T a, T b) { return (a != a && b != b) || bits_of(a) == bits_of(b); }

} // namespace gf::test
