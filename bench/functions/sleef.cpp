// Contender `sleef`: SLEEF's vector functions of at most 1.0 ulp, or the nearest bound that it has. Compiled once for
// each instruction set, which GRIDFOLD_TABLE names.
#include <immintrin.h>
#include <sleef.h>

#include "functions.hpp"

namespace bench::functions {
namespace {

template <class T> struct Vector;
#if defined(__AVX512F__)
#define GRIDFOLD_SLEEF(name, bound) &Sleef_##name##f16_##bound##avx512f, &Sleef_##name##d8_##bound##avx512f
template <> struct Vector<float> {
    using Type = __m512;
    static Type load(const float* x) { return _mm512_loadu_ps(x); }
    static void store(float* x, Type v) { _mm512_storeu_ps(x, v); }
};
template <> struct Vector<double> {
    using Type = __m512d;
    static Type load(const double* x) { return _mm512_loadu_pd(x); }
    static void store(double* x, Type v) { _mm512_storeu_pd(x, v); }
};
#else
#define GRIDFOLD_SLEEF(name, bound) &Sleef_##name##f8_##bound##avx2, &Sleef_##name##d4_##bound##avx2
template <> struct Vector<float> {
    using Type = __m256;
    static Type load(const float* x) { return _mm256_loadu_ps(x); }
    static void store(float* x, Type v) { _mm256_storeu_ps(x, v); }
};
template <> struct Vector<double> {
    using Type = __m256d;
    static Type load(const double* x) { return _mm256_loadu_pd(x); }
    static void store(double* x, Type v) { _mm256_storeu_pd(x, v); }
};
#endif

/// n is a multiple of the vector's length.
template <class T, auto f> void loop(T* out, const T* a, [[maybe_unused]] const T* b, std::size_t n) {
    using V = Vector<T>;
    for (std::size_t i = 0; i < n; i += sizeof(typename V::Type) / sizeof(T)) {
        if constexpr (requires { f(V::load(a)); })
            V::store(out + i, f(V::load(a + i)));
        else
            V::store(out + i, f(V::load(a + i), V::load(b + i)));
    }
}

template <auto of_f32, auto of_f64> Row row(std::string_view function) {
    return {function, loop<float, of_f32>, loop<double, of_f64>};
}

} // namespace

std::vector<Row> GRIDFOLD_TABLE() {
#define GRIDFOLD_ROW(name, bound) row<GRIDFOLD_SLEEF(name, bound)>(#name)
    return {GRIDFOLD_ROW(exp, u10),   GRIDFOLD_ROW(exp2, u10),  GRIDFOLD_ROW(expm1, u10), GRIDFOLD_ROW(log, u10),
            GRIDFOLD_ROW(log2, u10),  GRIDFOLD_ROW(log10, u10), GRIDFOLD_ROW(log1p, u10), GRIDFOLD_ROW(pow, u10),
            GRIDFOLD_ROW(cbrt, u10),  GRIDFOLD_ROW(hypot, u05), GRIDFOLD_ROW(sin, u10),   GRIDFOLD_ROW(cos, u10),
            GRIDFOLD_ROW(tan, u10),   GRIDFOLD_ROW(asin, u10),  GRIDFOLD_ROW(acos, u10),  GRIDFOLD_ROW(atan, u10),
            GRIDFOLD_ROW(atan2, u10), GRIDFOLD_ROW(sinh, u10),  GRIDFOLD_ROW(cosh, u10),  GRIDFOLD_ROW(tanh, u10),
            GRIDFOLD_ROW(asinh, u10), GRIDFOLD_ROW(acosh, u10), GRIDFOLD_ROW(atanh, u10), GRIDFOLD_ROW(erf, u10),
            GRIDFOLD_ROW(erfc, u15)};
}

} // namespace bench::functions
