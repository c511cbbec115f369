// erf and erfc. Depends on exponential.cuh.
// erf: a polynomial up to 1; from there on 1 minus a polynomial (f32), or 1 − e^−p(|x|) with a polynomial p (f64).
// erfc: e^(−x²) w g, where w = 1 / (|x| + d) and g is a polynomial in w − erfc_middle. x², w and g are pairs.
// Source of erfc's form: Shepherd and Laframboise, 1981.
#pragma once

GRIDFOLD_EXACT_BEGIN
namespace GRIDFOLD_NAMESPACE::elementary {

// By scripts/fit-functions: begin
/// erf(a) / a − 1 with x = a², for |a| ≤ 1
GRIDFOLD_FN f32 erf_rest(f32 x) {
    return polynomial(x, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2ceep-4f, -0x1.b7f824p-6f, 0x1.53fdb4p-8f,
                      -0x1.a3bacap-11f, 0x1.48c4d4p-14f);
}
GRIDFOLD_FN f64 erf_rest(f64 x) {
    return polynomial(x, 0x1.06eba8214db68p-3, -0x1.812746b0379aap-2, 0x1.ce2f21a040431p-4, -0x1.b82ce311dde6ap-6,
                      0x1.565bccf60e663p-8, -0x1.c02dafd5c229ep-11, 0x1.f9a2b2008340bp-14, -0x1.f4c9d530d7d9bp-17,
                      0x1.b97b96a82990fp-20, -0x1.5bef2f0a4f881p-23, 0x1.d680cd1281d16p-27, -0x1.a9ff1d7f6c44dp-31);
}
/// 1 − erf(erf_middle + x), for 1 ≤ erf_middle + x ≤ 3.9
inline constexpr f32 erf_middle = 2.25f;
GRIDFOLD_FN f32 far_erf_rest(f32 x) {
    return polynomial(x, 0x1.7f70eap-10f, -0x1.d414ccp-8f, 0x1.074c94p-6f, -0x1.63ecd8p-6f, 0x1.389e1ap-6f,
                      -0x1.5d538ap-7f, 0x1.7dfdb4p-9f, 0x1.6263aep-11f, -0x1.0ac4dcp-10f, 0x1.7f3b38p-12f,
                      0x1.e92c82p-16f, -0x1.12cd96p-14f, 0x1.c42e1ep-17f, 0x1.aee676p-19f, -0x1.32a0fp-20f);
}
/// −log(1 − erf(x)), for 1 ≤ x ≤ 5.95
GRIDFOLD_FN f64 erf_exponent(f64 x) {
    return polynomial(x, 0x1.0e1ca27b52dd2p-21, 0x1.20dd1fc901c3ap0, 0x1.45f627b299631p-1, 0x1.a4ac54b330d22p-4,
                      -0x1.37225aecdb39p-6, -0x1.aea6c3b0530a8p-12, 0x1.f645cfe065205p-10, -0x1.9411f3cbe6fc6p-11,
                      0x1.1b4c6ad4ba558p-13, 0x1.53b7243454112p-16, -0x1.7ec80e863fa42p-16, 0x1.22c063e32df98p-17,
                      -0x1.1e949209eb4dap-19, 0x1.90bd1b2d03ce5p-22, -0x1.8eacb1aa79b3fp-25, 0x1.0e4b035fb7ee4p-28,
                      -0x1.c19346dc1862dp-33, 0x1.5aba3d9c91bap-38);
}
/// (a + d) e^(a²) erfc(a) = erfc_first + t · erfc_second + t² · erfc_rest(t) with d = erfc_shift and
/// t = 1 / (a + d) − erfc_middle, for a ≤ 10.1 (f32), 27.3 (f64). erfc_slope is roughly the derivative.
template <class T> inline constexpr T erfc_shift = T(sizeof(T) == 4 ? 3 : 4);
template <class T> inline constexpr T erfc_middle = constant<T>(0x1.ap-3f, 0x1p-3);
template <class T>
inline constexpr Pair<T> erfc_first = {constant<T>(0x1.4c8d34p0f, 0x1.18932bf08e154p0),
                                       constant<T>(-0x1.b57d7p-25f, 0x1.0e6f44e6f5edep-54)};
template <class T> inline constexpr T erfc_second = constant<T>(0x1.c988a2p2f, 0x1.f3fe31ecb49cp2);
GRIDFOLD_FN f32 erfc_rest(f32 x) {
    return polynomial(x, 0x1.deab5ep4f, 0x1.71425p6f, 0x1.7c8e54p7f, 0x1.5549ep7f, -0x1.26268ep8f, -0x1.d6faf4p9f,
                      0x1.0891a6p8f, 0x1.99a3e8p11f);
}
GRIDFOLD_FN f64 erfc_rest(f64 x) {
    return polynomial(x, 0x1.8be202d26c703p5, 0x1.14eacb1ad02ep8, 0x1.52cac23710263p10, 0x1.645fd8a4bf3b9p12,
                      0x1.38dbd2c8dcce9p14, 0x1.b00c052a9abf5p15, 0x1.908f4727d091cp16, 0x1.269b55b7c2e4fp15,
                      -0x1.dd284685674d9p18, -0x1.72cdcdf61745p20, -0x1.e7e7085400cc7p17, 0x1.3c72c98518ab9p23,
                      0x1.3b084014a8142p24, -0x1.7ed1b1919c14dp25, -0x1.c634f1b6e5f42p27, 0x1.4f06b2aa01ba1p27,
                      0x1.0a2de3793abfp31, -0x1.698782e869518p28, -0x1.086a8a3f89d51p34, 0x1.acbc645562a02p31,
                      0x1.16ebb90a4a0b6p36);
}
GRIDFOLD_FN f32 erfc_slope(f32 x) { return polynomial(x, 0x1.d4ap2f, 0x1.10ep6f, 0x1.076p8f); }
GRIDFOLD_FN f64 erfc_slope(f64 x) { return polynomial(x, 0x1.f58p2, 0x1.75cp6, 0x1.802p9, 0x1.c78p12, 0x1.412p15); }
// By scripts/fit-functions: end

/// erf(a) for a ≥ 1. Beyond the limits it is 1, rounded.
GRIDFOLD_FN f32 far_erf(f32 a) { return pick(a > 3.9f, 1.0f, 1.0f - far_erf_rest(a - erf_middle)); }
GRIDFOLD_FN f64 far_erf(f64 a) {
    const Reduced<f64> e = reduced_by_ln2(-erf_exponent(at_most(a, 5.95)));
    const f64 r = e.r.high, y = fma(r, fma(r, exp_rest(r), 1.0), 1.0);
    return fma(-y, power_of_2<f64, Operands::plain>(e.whole), 1.0);
}
template <class T> GRIDFOLD_FN T erf(T x) {
    const T a = abs(x), near = fma(a, erf_rest(a * a), a);
    return with_sign_of(x, pick(a < T(1), near, far_erf(a)));
}
template <class T> GRIDFOLD_FN T erfc(T x) {
    const T a = at_most(abs(x), constant<T>(10.1f, 27.3)); // beyond, erfc is 0, rounded
    // e^(−a²) = 2^n (1 + r.high + of_exp)
    const Pair<T> square = product(a, a);
    const Reduced<T> e = reduced_by_ln2(-square.high);
    const Pair<T> r = sum(e.r.high, e.r.low - square.low);
    const T of_exp = fma(r.high * r.high, exp_rest(r.high), fma(r.high, r.low, r.low));
    // 1 / (a + d). The sum is exact although a may be larger.
    const Pair<T> under = ordered_sum(erfc_shift<T>, a);
    const T inverse = inverse_of(under.high), rest = fma(-inverse, under.low, fma(-inverse, under.high, T(1)));
    const Pair<T> w = {inverse, rest * inverse};
    // g = (a + d) e^(a²) erfc(a), f = g w, y = f (1 + r.high + of_exp)
    const T t = w.high - erfc_middle<T>;
    // The low parts are what rounding slope and g lost.
    const T rest_of_g = erfc_rest(t), slope = fma(t, rest_of_g, erfc_second<T>),
            slope_low = fma(t, rest_of_g, erfc_second<T> - slope);
    const T g = fma(t, slope, erfc_first<T>.high), of_w = fma(w.low, erfc_slope(t), erfc_first<T>.low);
    const T g_low = fma(t, slope, erfc_first<T>.high - g) + fma(t, slope_low, of_w);
    const Pair<T> f = product(Pair<T>{g, g_low}, w);
    const T low = fma(f.high, of_exp, fma(f.low, r.high + of_exp, f.low)), high = fma(f.high, r.high, f.high);
    const T y = scaled(high + (fma(f.high, r.high, f.high - high) + low), e.whole);
    return pick(x < T(0), T(2) - y, y);
}

} // namespace GRIDFOLD_NAMESPACE::elementary

namespace GRIDFOLD_NAMESPACE {
GRIDFOLD_FUNCTION_1(erf)
GRIDFOLD_FUNCTION_1(erfc)
} // namespace GRIDFOLD_NAMESPACE
GRIDFOLD_EXACT_END
