// CUDA's functions instead of ours, for fast_math, which does not promise bits. Depends on mathematics.cuh.
#pragma once

/// What called() of lanes.cuh takes instead of real.cuh's: there is one form.
#define GRIDFOLD_CALLABLE(name)                                                                                \
    namespace callable {                                                                                       \
    struct name {                                                                                              \
        template <class... T> GRIDFOLD_FN static f32 of_any(T... x) { return GRIDFOLD_NAMESPACE::name(x...); } \
        template <class... T> GRIDFOLD_FN static f32 of_plain(T... x) { return of_any(x...); }                 \
        template <class... T> GRIDFOLD_FN static bool is_plain(T...) { return true; }                          \
    };                                                                                                         \
    }
#define GRIDFOLD_CUDA_1(name)                            \
    GRIDFOLD_FN f32 name(f32 x) { return ::name##f(x); } \
    GRIDFOLD_FN f64 name(f64 x) { return ::name(x); }    \
    GRIDFOLD_CALLABLE(name)
#define GRIDFOLD_CUDA_2(name)                                      \
    GRIDFOLD_FN f32 name(f32 x, f32 y) { return ::name##f(x, y); } \
    GRIDFOLD_FN f64 name(f64 x, f64 y) { return ::name(x, y); }    \
    GRIDFOLD_CALLABLE(name)

namespace GRIDFOLD_NAMESPACE {

GRIDFOLD_CUDA_1(exp)
GRIDFOLD_CUDA_1(exp2)
GRIDFOLD_CUDA_1(expm1)
GRIDFOLD_CUDA_1(sinh)
GRIDFOLD_CUDA_1(cosh)
GRIDFOLD_CUDA_1(tanh)
GRIDFOLD_CUDA_1(log)
GRIDFOLD_CUDA_1(log2)
GRIDFOLD_CUDA_1(log10)
GRIDFOLD_CUDA_1(log1p)
GRIDFOLD_CUDA_1(asinh)
GRIDFOLD_CUDA_1(acosh)
GRIDFOLD_CUDA_1(atanh)
GRIDFOLD_CUDA_1(cbrt)
GRIDFOLD_CUDA_1(sin)
GRIDFOLD_CUDA_1(cos)
GRIDFOLD_CUDA_1(tan)
GRIDFOLD_CUDA_1(asin)
GRIDFOLD_CUDA_1(acos)
GRIDFOLD_CUDA_1(atan)
GRIDFOLD_CUDA_1(erf)
GRIDFOLD_CUDA_1(erfc)
GRIDFOLD_CUDA_2(hypot)
GRIDFOLD_CUDA_2(atan2)
GRIDFOLD_FN f32 pow(f32 a, f32 b) { return b == 2.0f ? a * a : ::powf(a, b); }
GRIDFOLD_FN f64 pow(f64 a, f64 b) { return b == 2.0 ? a * a : ::pow(a, b); }
GRIDFOLD_CALLABLE(pow)
template <class T> GRIDFOLD_FN T exp_of_nonpositive(T a) { return exp(a); }
GRIDFOLD_CALLABLE(exp_of_nonpositive)
template <class T> GRIDFOLD_FN T sigmoid(T a) { return T(1) / (T(1) + exp(-a)); }

} // namespace GRIDFOLD_NAMESPACE
