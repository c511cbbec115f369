// A second definition of each row of map.def, independent of the prelude: exact integers in 128 bits, std:: functions,
// long double for inexact functions. `wanted::exp(x)` is the row exp.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace wanted {

__extension__ using Wide = __int128;
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept Real = std::floating_point<T>;

/// An exact integer, wrapped into T.
template <Integer T> T wrap(Wide x) { return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x)); }

inline bool add(bool a, bool b) { return a | b; }
template <Integer T> T add(T a, T b) { return wrap<T>(Wide(a) + Wide(b)); }
template <Real T> T add(T a, T b) { return a + b; }
template <Integer T> T sub(T a, T b) { return wrap<T>(Wide(a) - Wide(b)); }
template <Real T> T sub(T a, T b) { return a - b; }
inline bool mul(bool a, bool b) { return a & b; }
template <Integer T> T mul(T a, T b) {
    if constexpr (sizeof(T) == 8)
        return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    else
        return wrap<T>(Wide(a) * Wide(b));
}
template <Real T> T mul(T a, T b) { return a * b; }
template <Real T> T divide(T a, T b) { return a / b; }

template <Integer T> T floor_div(T a, T b) {
    if (b == 0) return 0;
    Wide quotient = Wide(a) / Wide(b);
    if (quotient * Wide(b) != Wide(a) && (a < 0) != (b < 0)) --quotient;
    return wrap<T>(quotient);
}
template <Integer T> T remainder(T a, T b) {
    if (b == 0) return 0;
    const Wide rest = Wide(a) % Wide(b);
    return wrap<T>(rest != 0 && (a < 0) != (b < 0) ? rest + Wide(b) : rest);
}

inline bool abs(bool a) { return a; }
template <Integer T> T neg(T a) { return wrap<T>(-Wide(a)); }
template <Real T> T neg(T a) { return std::copysign(a, std::signbit(a) ? T(1) : T(-1)); }
template <Integer T> T abs(T a) { return wrap<T>(a < 0 ? -Wide(a) : Wide(a)); }
template <Real T> T abs(T a) { return std::fabs(a); }
template <Integer T> T sign(T a) { return wrap<T>(a == 0 ? 0 : a < 0 ? -1 : 1); }
template <Real T> T sign(T a) { return std::isnan(a) ? a : a == 0 ? T(0) : std::copysign(T(1), a); }

/// a before b in the order −∞ … −0, +0 … ∞.
template <class T> bool before(T a, T b) {
    if constexpr (Real<T>)
        if (a == b) return std::signbit(a) && !std::signbit(b);
    return a < b;
}
template <class T> bool nan(T a) {
    if constexpr (Real<T>)
        return std::isnan(a);
    else
        return false;
}
template <class T> T min(T a, T b) { return nan(a) ? a : nan(b) ? b : before(b, a) ? b : a; }
template <class T> T max(T a, T b) { return nan(a) ? a : nan(b) ? b : before(a, b) ? b : a; }
template <class T> T clamp(T a, T low, T high) { return wanted::min(wanted::max(a, low), high); }
template <class T> T relu(T a) { return wanted::max(a, T(0)); }
template <Real T> T fma(T a, T b, T c) { return std::fma(a, b, c); }
template <std::integral T> T fma(T a, T b, T c) { return add(mul(a, b), c); }

template <Integer T> T pow(T a, T b) {
    if (b < 0) return a == 1 ? T(1) : a == T(-1) ? T(b % 2 == 0 ? 1 : -1) : T(0);
    // By definition: the exponents of the tests are small.
    T power = 1;
    for (T i = 0; i < b; ++i) power = mul(power, a);
    return power;
}

template <class T> T floor(T a) { return Real<T> ? static_cast<T>(std::floor(static_cast<long double>(a))) : a; }
template <class T> T ceil(T a) { return Real<T> ? static_cast<T>(std::ceil(static_cast<long double>(a))) : a; }
template <class T> T trunc(T a) { return Real<T> ? static_cast<T>(std::trunc(static_cast<long double>(a))) : a; }
template <class T> T round(T a) { return Real<T> ? static_cast<T>(std::nearbyint(static_cast<long double>(a))) : a; }

template <class T> bool isnan(T a) { return nan(a); }
template <class T> bool isinf(T a) { return Real<T> && std::isinf(static_cast<double>(a)); }
template <class T> bool isfinite(T a) { return !Real<T> || std::isfinite(static_cast<double>(a)); }
template <class T> bool less(T a, T b) { return a < b; }
template <class T> bool less_equal(T a, T b) { return a <= b; }
template <class T> bool greater(T a, T b) { return b < a; }
template <class T> bool greater_equal(T a, T b) { return b <= a; }
template <class T> bool equal(T a, T b) { return a == b; }
template <class T> bool not_equal(T a, T b) { return !(a == b); }
inline bool logical_and(bool a, bool b) { return a & b; }
inline bool logical_or(bool a, bool b) { return a | b; }
inline bool logical_xor(bool a, bool b) { return a ^ b; }
inline bool logical_not(bool a) { return a ? false : true; }
template <std::integral T> T bitwise_and(T a, T b) { return static_cast<T>(a & b); }
template <std::integral T> T bitwise_or(T a, T b) { return static_cast<T>(a | b); }
template <std::integral T> T bitwise_xor(T a, T b) { return static_cast<T>(a ^ b); }
inline bool bitwise_not(bool a) { return !a; }
template <Integer T> T bitwise_not(T a) { return wrap<T>(-Wide(a) - 1); }
template <Integer T> T shift_left(T a, T b) {
    if (b < 0 || Wide(b) >= Wide(8 * sizeof(T))) return 0;
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(static_cast<std::uint64_t>(a) << static_cast<int>(b)));
}
template <Integer T> T shift_right(T a, T b) {
    const bool in_range = b >= 0 && Wide(b) < Wide(8 * sizeof(T));
    return wrap<T>(Wide(a) >> (in_range ? static_cast<int>(b) : 100));
}
template <class T> T select(bool a, T b, T c) { return a ? b : c; }
template <class T> T choose(bool a, T b, T c) { return a ? b : c; }

// Computed in long double and rounded once.
#define ROUNDED_1(name, ...)                \
    template <Real T> T name(T x) {         \
        const long double a = x;            \
        return static_cast<T>(__VA_ARGS__); \
    }
#define ROUNDED_2(name, ...)                \
    template <Real T> T name(T x, T y) {    \
        const long double a = x, b = y;     \
        return static_cast<T>(__VA_ARGS__); \
    }
template <Real T> T sqrt(T a) { return std::sqrt(a); }
template <Real T> T rsqrt(T a) { return T(1) / std::sqrt(a); }
ROUNDED_1(cbrt, std::cbrt(a))
ROUNDED_1(exp, std::exp(a))
ROUNDED_1(exp2, std::exp2(a))
ROUNDED_1(expm1, std::expm1(a))
ROUNDED_1(log, std::log(a))
ROUNDED_1(log2, std::log2(a))
ROUNDED_1(log10, std::log10(a))
ROUNDED_1(log1p, std::log1p(a))
ROUNDED_1(sigmoid, 1 / (1 + std::exp(-a)))
ROUNDED_1(sin, std::sin(a))
ROUNDED_1(cos, std::cos(a))
ROUNDED_1(tan, std::tan(a))
ROUNDED_1(asin, std::asin(a))
ROUNDED_1(acos, std::acos(a))
ROUNDED_1(atan, std::atan(a))
ROUNDED_1(sinh, std::sinh(a))
ROUNDED_1(cosh, std::cosh(a))
ROUNDED_1(tanh, std::tanh(a))
ROUNDED_1(asinh, std::asinh(a))
ROUNDED_1(acosh, std::acosh(a))
ROUNDED_1(atanh, std::atanh(a))
ROUNDED_1(erf, std::erf(a))
ROUNDED_1(erfc, std::erfc(a))
ROUNDED_2(hypot, std::hypot(a, b))
ROUNDED_2(atan2, std::atan2(a, b))
ROUNDED_2(pow, std::pow(a, b))
#undef ROUNDED_1
#undef ROUNDED_2

// NumPy's definition for floats: the quotient of the exact multiple; prelude_test.cpp holds its own answers.
template <Real T> T remainder(T a, T b) {
    const T rest = std::fmod(a, b);
    if (rest == 0) return std::copysign(T(0), b);
    return b != 0 && std::signbit(rest) != std::signbit(b) ? rest + b : rest;
}
template <Real T> T floor_div(T a, T b) {
    if (b == 0) return a / b;
    if (std::isinf(a) || std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (std::isinf(b)) return a == 0 || std::signbit(a) == std::signbit(b) ? std::copysign(T(0), a / b) : T(-1);
    const T rest = std::fmod(a, b);
    const T whole = std::nearbyint((a - rest) / b);
    const T quotient = rest != 0 && std::signbit(rest) != std::signbit(b) ? whole - 1 : whole;
    return quotient == 0 ? std::copysign(T(0), a / b) : quotient;
}

} // namespace wanted
