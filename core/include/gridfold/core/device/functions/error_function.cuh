// erf and erfc. Depends on exponential.cuh.
// erf: a polynomial up to 1, then 1 − e^−p(|x|) with a polynomial p. erfc: 1 − erf near 0, else e^(−x²) times a
// polynomial in t = (|x| − 3) / (|x| + 3), over |x| + 3, with x² and what it multiplies as pairs.
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
    return polynomial(x, 0x1.06eba8214db69p-3, -0x1.812746b037a21p-2, 0x1.ce2f21a045475p-4, -0x1.b82ce3133d533p-6,
                      0x1.565bcd2899a21p-8, -0x1.c02db88037a6bp-11, 0x1.f9a3a4bef7f81p-14, -0x1.f4db66942f15dp-17,
                      0x1.ba557d00eb203p-20, -0x1.62ed36f741795p-23, 0x1.0fc2338dfcdaep-26, -0x1.b0614231f0705p-30,
                      0x1.20d0e0006783ep-33);
}
/// −log(1 − erf(x)) = x · erf_exponent(x) + erf_exponent_first, for 1 ≤ x ≤ 3.95 (f32), 5.95 (f64)
template <class T> inline constexpr T erf_exponent_first = constant<T>(-0x1.8b3656p-13f, 0x1.dda87122a8058p-26);
GRIDFOLD_FN f32 erf_exponent(f32 x) {
    return polynomial(x, 0x1.212c2cp0f, 0x1.4434f2p-1f, 0x1.bc18d8p-4f, -0x1.9d0c26p-6f, 0x1.1399d4p-8f,
                      -0x1.ceeeecp-12f, 0x1.6c0d78p-16f);
}
GRIDFOLD_FN f64 erf_exponent(f64 x) {
    return polynomial(x, 0x1.20dd70cc84331p0, 0x1.45f327220c13ep-1, 0x1.a4f302e137309p-4, -0x1.3964d6e5b78dap-6,
                      -0x1.a842329de3835p-13, 0x1.b714c0172df7fp-10, -0x1.2197ea529394dp-11, -0x1.71527c48781d4p-16,
                      0x1.d0ad6a55d563cp-14, -0x1.0fa33b0a2a933p-14, 0x1.975f48881fd6cp-16, -0x1.c74ca1947eeefp-18,
                      0x1.8a8b73d7e0d09p-20, -0x1.0a74c0ba326e2p-22, 0x1.1492b352a0595p-25, -0x1.ab3986c36f475p-29,
                      0x1.cf0037f96ae66p-33, -0x1.3a3125cdead33p-37, 0x1.91bf3b6e3901p-43);
}
/// (a + 3) e^(a²) erfc(a) = erfc_first + t · erfc_rest(t) with t = (a − 3) / (a + 3), for 1/2 ≤ a ≤ 10.1 (f32),
/// 27.3 (f64). erfc_slope is roughly the derivative.
template <class T>
inline constexpr Pair<T> erfc_first = {constant<T>(0x1.12f21ep0f, 0x1.12f21ddd9f5e2p0),
                                       constant<T>(-0x1.e3b64p-28f, -0x1.9c32e07ea619ap-54)};
GRIDFOLD_FN f32 erfc_rest(f32 x) {
    return polynomial(x, -0x1.c44c48p-1f, 0x1.2e3266p-1f, -0x1.3deadcp-2f, 0x1.e9980ep-4f, -0x1.b7b644p-6f,
                      -0x1.427a1cp-10f, 0x1.92e21p-9f, -0x1.f4a0a4p-12f, -0x1.4ca43p-12f);
}
GRIDFOLD_FN f64 erfc_rest(f64 x) {
    return polynomial(x, -0x1.c44c471baa376p-1, 0x1.2e326945de2bcp-1, -0x1.3deb21415dccp-2, 0x1.e995f11b1662bp-4,
                      -0x1.b78993d6b1186p-6, -0x1.3dd3e70c429fbp-10, 0x1.8dae3a263d11ap-9, -0x1.1f78e1acb3d37p-11,
                      -0x1.2238fd7acb7a1p-12, 0x1.c3254d8ba4a38p-14, 0x1.fdff4521e10ep-16, -0x1.251c62d9b5facp-16,
                      -0x1.3eb6fed110adcp-18, 0x1.7344fde2f0a1cp-19, 0x1.0c0427e46d1f2p-20, -0x1.b8102df821e6ep-22,
                      -0x1.f2061a8ffcb8fp-23, 0x1.a315ed8830f3cp-25, 0x1.9b8c002712654p-25, -0x1.bfe4e98160397p-29,
                      -0x1.a2ba85d86527p-28);
}
GRIDFOLD_FN f32 erfc_slope(f32 x) {
    return polynomial(x, -0x1.c44p-1f, 0x1.2e6p0f, -0x1.de8p-1f, 0x1.e5p-2f, -0x1.df2p-4f);
}
GRIDFOLD_FN f64 erfc_slope(f64 x) { return polynomial(x, -0x1.c44p-1, 0x1.2e6p0, -0x1.de4p-1, 0x1.e3ap-2, -0x1.e9p-4); }
// By scripts/fit-functions: end

/// e^r for a pair of |r| ≤ ln 2 / 2, as a pair
template <class T> GRIDFOLD_FN Pair<T> exp_of_rest(Pair<T> r) {
    const Pair<T> first = ordered_sum(T(1), r.high);
    return ordered_sum(first.high, first.low + fma(r.high * r.high, exp_rest(r.high), fma(r.high, r.low, r.low)));
}
template <class T> GRIDFOLD_FN T erf(T x) {
    const T a = abs(x), near = fma(a, erf_rest(a * a), a);
    const T b = between(a, T(1), constant<T>(3.95f, 5.95)); // beyond, erf is 1, rounded
    const T rate = erf_exponent(b), p = fma(-b, rate, -erf_exponent_first<T>);
    const Reduced<T> e = reduced_by_ln2(p);
    const T r = e.r.high, slope = fma(r, exp_rest(r), T(1));
    T y = fma(r, slope, T(1));
    if constexpr (sizeof(T) == 4) // the rounding of p and r
        y = fma(r, slope, e.r.low + (fma(-b, rate, -p) - erf_exponent_first<T>)) + T(1);
    const T far = fma(-y, from_bits(Bits<T>((e.exponent - Bits<T>(Real<T>::bias)) << Real<T>::fraction)), T(1));
    return with_sign_of(x, pick(a < T(1), near, far));
}
template <class T> GRIDFOLD_FN T erfc(T x) {
    const T a = between(abs(x), T(0), constant<T>(10.1f, 27.3)); // beyond, erfc is 0, rounded
    const Pair<T> square = product(a, a);
    const Reduced<T> e = reduced_by_ln2(-square.high);
    const Pair<T> g = exp_of_rest(sum(e.r.high, e.r.low - square.low));
    const Pair<T> under = sum(a, T(3)), t = quotient(sum(a, T(-3)), under);
    const Pair<T> first = product(t.high, erfc_rest(t.high)), second = sum(erfc_first<T>.high, first.high);
    const T low = second.low + (erfc_first<T>.low + fma(t.low, erfc_slope(t.high), first.low));
    const Pair<T> y = quotient(product(g, ordered_sum(second.high, low)), under);
    const T far = scaled(y.high + y.low, e.exponent);
    const T b = between(x, T(-0.5), T(0.5));
    const Pair<T> h = ordered_sum(T(1), -b);
    const T near = h.high + fma(-b, erf_rest(b * b), h.low);
    return pick(x != x, x, pick(abs(x) < T(0.5), near, pick(x < T(0), T(2) - far, far)));
}

} // namespace GRIDFOLD_NAMESPACE::elementary

namespace GRIDFOLD_NAMESPACE {
GRIDFOLD_FUNCTION_1(erf)
GRIDFOLD_FUNCTION_1(erfc)
} // namespace GRIDFOLD_NAMESPACE
GRIDFOLD_EXACT_END
