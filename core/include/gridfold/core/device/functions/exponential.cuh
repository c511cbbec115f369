// exp, exp2, expm1, sinh, cosh, tanh and sigmoid. Depends on real.cuh.
// x = n ln 2 + r with |r| ≤ ln 2 / 2, where n ln 2 is subtracted in two parts (Cody and Waite); e^r is a polynomial,
// and e^x = 2^n e^r. expm1 and sigmoid keep r and the two summands as pairs; tanh is a polynomial up to 1.
// Source of the methods: Muller, Elementary Functions, chapters 3 and 11.
#pragma once

GRIDFOLD_EXACT_BEGIN
namespace GRIDFOLD_NAMESPACE::elementary {

// By scripts/fit-functions: begin
/// (e^x − 1 − x) / x², for |x| ≤ ln 2 / 2
GRIDFOLD_FN f32 exp_rest(f32 x) {
    return polynomial(x, 0x1p-1f, 0x1.55549p-3f, 0x1.5554d2p-5f, 0x1.123ab8p-7f, 0x1.6d66p-10f);
}
GRIDFOLD_FN f64 exp_rest(f64 x) {
    return polynomial(x, 0x1.000000000000cp-1, 0x1.555555555555cp-3, 0x1.555555554fe02p-5, 0x1.111111110e8d6p-7,
                      0x1.6c16c186081d4p-10, 0x1.a01a01b4e2f7ap-13, 0x1.a01995b79b3e8p-16, 0x1.71ddecbb0f48p-19,
                      0x1.28b0f9eaf8e5dp-22, 0x1.af7191fe6d006p-26);
}
/// The same with a smaller error, for expm1 and sigmoid, in whose results the error is a larger part
GRIDFOLD_FN f32 expm1_rest(f32 x) {
    return polynomial(x, 0x1p-1f, 0x1.555556p-3f, 0x1.5554e6p-5f, 0x1.110fe8p-7f, 0x1.6d4f0ap-10f, 0x1.a2817ap-13f);
}
GRIDFOLD_FN f64 expm1_rest(f64 x) {
    return polynomial(x, 0x1p-1, 0x1.555555555555cp-3, 0x1.5555555555557p-5, 0x1.111111110e9d3p-7,
                      0x1.6c16c16c156bap-10, 0x1.a01a01b45a48ep-13, 0x1.a01a01ab7c83cp-16, 0x1.71ddee369b7dap-19,
                      0x1.27e4d0228fbffp-22, 0x1.af6eece6a374cp-26, 0x1.1f85e3f2b03cdp-29);
}
/// (2^x − 1 − x ln 2) / x², for |x| ≤ 1/2
GRIDFOLD_FN f32 exp2_rest(f32 x) {
    return polynomial(x, 0x1.ebfbep-3f, 0x1.c6af86p-5f, 0x1.3b2a4p-7f, 0x1.5f054ap-10f, 0x1.442daep-13f);
}
GRIDFOLD_FN f64 exp2_rest(f64 x) {
    return polynomial(x, 0x1.ebfbdff82c5a5p-3, 0x1.c6b08d704a0cbp-5, 0x1.3b2ab6fb9ff4fp-7, 0x1.5d87fe78a2a4cp-10,
                      0x1.4309130f30e4ep-13, 0x1.ffcbfc750ae63p-17, 0x1.62bfc6c97f213p-20, 0x1.b524db67cf46dp-24,
                      0x1.e61cad776d1f4p-28, 0x1.ea05986393b6dp-32);
}
/// (sinh r − r) / (r x) with x = r², for |r| ≤ ln 2 / 2
GRIDFOLD_FN f32 sinh_rest(f32 x) { return polynomial(x, 0x1.555556p-3f, 0x1.110fc2p-7f, 0x1.a2d6dap-13f); }
GRIDFOLD_FN f64 sinh_rest(f64 x) {
    return polynomial(x, 0x1.5555555555559p-3, 0x1.111111110f5adp-7, 0x1.a01a01b075f99p-13, 0x1.71ddf68f5760ap-19,
                      0x1.af6254ebbce02p-26);
}
/// (cosh r − 1) / x with x = r², for |r| ≤ ln 2 / 2
GRIDFOLD_FN f32 cosh_rest(f32 x) { return polynomial(x, 0x1p-1f, 0x1.5554e2p-5f, 0x1.6d54b8p-10f); }
GRIDFOLD_FN f64 cosh_rest(f64 x) {
    return polynomial(x, 0x1.000000000000dp-1, 0x1.555555554f7dap-5, 0x1.6c16c18770698p-10, 0x1.a01991c418969p-16,
                      0x1.28b4bb3028155p-22);
}
/// (tanh a − a) / (a x) with x = a², for |a| ≤ 1
GRIDFOLD_FN f32 tanh_rest(f32 x) {
    return polynomial(x, -0x1.55553cp-2f, 0x1.110be4p-3f, -0x1.b9623ap-5f, 0x1.6009acp-6f, -0x1.04602p-7f,
                      0x1.2da0f2p-9f, -0x1.77cff4p-12f);
}
GRIDFOLD_FN f64 tanh_rest(f64 x) {
    return polynomial(x, -0x1.555555555550fp-2, 0x1.111111110d7e5p-3, -0x1.ba1ba1b810224p-5, 0x1.664f483690787p-6,
                      -0x1.226e2ebd8bff4p-7, 0x1.d6d30fbd87092p-9, -0x1.7d9bc9dc341f3p-10, 0x1.35212e58dbc14p-11,
                      -0x1.f335f2671f206p-13, 0x1.8d79c1e9d0ae9p-14, -0x1.2eb1230c18d3bp-15, 0x1.9e0784ca9d83dp-17,
                      -0x1.cad2acb6feba4p-19, 0x1.5f2f7e61ed8a3p-21, -0x1.0d0d514875a0fp-24);
}
// By scripts/fit-functions: end

/// ln 2. In f32 the high part has so few bits that n · high is exact for every n in exp's range.
template <class T>
inline constexpr Pair<T> ln2 = {constant<T>(0x1.62e430p-1f, 0x1.62e42fefa39efp-1),
                                constant<T>(-0x1.05c610p-29f, 0x1.abc9e3b39803fp-56)};
/// What e^x overflows from and vanishes below, rounded outwards.
template <class T> inline constexpr T exp_least = constant<T>(-104, -746);
template <class T> inline constexpr T exp_most = constant<T>(89, 710);

/// x = n ln 2 + r, |r| ≤ ln 2 / 2; whole: the bits of n + to_whole.
template <class T> struct Reduced {
    Bits<T> whole;
    Pair<T> r;
};
template <class T> GRIDFOLD_FN Reduced<T> reduced_by_ln2(T x) {
    const T shifted = fma(x, constant<T>(0x1.715476p+0f, 0x1.71547652b82fep+0), Real<T>::to_whole),
            n = shifted - Real<T>::to_whole;
    const T first = fma(n, -ln2<T>.high, x); // exact
    const T high = fma(n, -ln2<T>.low, first);
    return {to_bits(shifted), {high, fma(n, -ln2<T>.low, first - high)}};
}
/// 2^n, from the bits of n + to_whole; 0 for n ≤ −bias. n ≤ bias
template <class T, Operands operands = Operands::any> GRIDFOLD_FN T power_of_2(Bits<T> whole) {
    constexpr Bits<T> bias = Bits<T>(Real<T>::bias);
    const T power = from_bits(Bits<T>((whole << Real<T>::fraction) + (bias << Real<T>::fraction)));
    if constexpr (operands == Operands::plain) return power;
    return pick(Int<T>(whole) > Int<T>(whole_0<T> - bias), power, T(0));
}
/// e^r − 1 − r.high
template <class T> GRIDFOLD_FN T expm1_tail(Pair<T> r) { return fma(r.high * r.high, expm1_rest(r.high), r.low); }

/// x limited to low … high, within which a plain x is.
template <Operands operands, class T> GRIDFOLD_FN T limited(T x, T low, T high) {
    return operands == Operands::plain ? x : between(x, low, high);
}

/// e^x is a normal number, and so is 2^n.
template <class T> GRIDFOLD_FN bool exp_is_plain(T x) { return abs(x) <= constant<T>(86, 707); } // defect: plain exp
template <Operands operands = Operands::any, class T> GRIDFOLD_FN T exp(T x) {
    const Reduced<T> e = reduced_by_ln2(limited<operands>(x, exp_least<T>, exp_most<T>));
    const T r = e.r.high;
    return scaled<operands>(fma(r, fma(r, exp_rest(r), T(1)), T(1)), e.whole);
}
template <class T> GRIDFOLD_FN bool exp_of_nonpositive_is_plain(T x) { return x >= constant<T>(-86, -707); }
/// e^x for x ≤ 0, the bits of exp(x): 2^n has no upper end, so its second factor is a constant.
template <Operands operands = Operands::any, class T> GRIDFOLD_FN T exp_of_nonpositive(T x) {
    if constexpr (operands == Operands::plain) return exp<operands>(x);
    constexpr int up = 64; // 2^(n + up) is normal for every n
    const Reduced<T> e = reduced_by_ln2(at_least(x, exp_least<T>));
    const T r = e.r.high, power = power_of_2<T, Operands::plain>(e.whole + up);
    return fma(r, fma(r, exp_rest(r), T(1)), T(1)) * power * T(0x1p-64);
}
template <class T> GRIDFOLD_FN bool exp2_is_plain(T x) { return abs(x) <= constant<T>(125, 1021); }
template <Operands operands = Operands::any, class T> GRIDFOLD_FN T exp2(T x) {
    x = limited<operands>(x, constant<T>(-150, -1076), constant<T>(128, 1024));
    const T shifted = x + Real<T>::to_whole, r = x - (shifted - Real<T>::to_whole);
    return scaled<operands>(fma(r, fma(r, exp2_rest(r), ln2<T>.high), T(1)), to_bits(shifted));
}
template <class T> GRIDFOLD_FN bool expm1_is_plain(T x) { return abs(x) <= constant<T>(29, 59); }
/// 2^n ((1 − 2^−n) + (e^r − 1))
template <Operands operands = Operands::any, class T> GRIDFOLD_FN T expm1(T x) {
    const Reduced<T> e = reduced_by_ln2(limited<operands>(x, constant<T>(-30, -60), exp_most<T>));
    const T power = power_of_2<T, operands>(2 * whole_0<T> - e.whole);
    if constexpr (sizeof(T) == 8) // up to 2 ulp
        return pick(x == T(0), x, scaled<operands>((T(1) - power) + (e.r.high + expm1_tail(e.r)), e.whole));
    const Pair<T> whole = ordered_sum(T(1), -power), s = ordered_sum(whole.high, e.r.high);
    const T y = scaled<operands>(s.high + (expm1_tail(Pair<T>{e.r.high, e.r.low + whole.low}) + s.low), e.whole);
    return pick(x == T(0), x, y);
}

/// a = n ln 2 + r for a ≥ 0; twice_down: −2n, as the bits of a whole number. e^a = 2^n e^r, e^−a = 2^n 2^−2n e^−r
template <class T> struct BothSigns {
    Reduced<T> e;
    Bits<T> twice_down;
};
template <Operands operands, class T> GRIDFOLD_FN BothSigns<T> both_signs(T a) {
    const Reduced<T> e = reduced_by_ln2(limited<operands>(a, T(0), constant<T>(90, 711)));
    return {e, 3 * whole_0<T> - 2 * e.whole};
}
/// 2^−2n is a normal number.
template <class T> GRIDFOLD_FN bool cosh_is_plain(T x) { return abs(x) <= constant<T>(40, 350); }
template <class T> GRIDFOLD_FN bool sinh_is_plain(T x) { return cosh_is_plain(x); }
/// With h = 2^−2n / 2, 2^n (even cosh(r) + odd sinh(r)), where even = 1/2 − h, as a pair, and odd = 1/2 + h.
template <Operands operands = Operands::any, class T> GRIDFOLD_FN T sinh(T x) {
    const auto [e, twice_down] = both_signs<operands>(abs(x));
    const T h = power_of_2<T, operands>(twice_down - 1);
    const Pair<T> even = ordered_sum(T(0.5), -h);
    const T odd = T(0.5) + h, r = e.r.high, z = r * r, high = fma(r, odd, even.high);
    const T of_sinh = fma(fma(r * z, sinh_rest(z), e.r.low), odd, even.low);
    const T tail = fma(z * cosh_rest(z), even.high, of_sinh);
    return with_sign_of(x, scaled<operands>(high + (fma(r, odd, even.high - high) + tail), e.whole));
}
/// 2^(n−1) (e^r + 2^−2n / e^r)
template <Operands operands = Operands::any, class T> GRIDFOLD_FN T cosh(T x) {
    const auto [e, twice_down] = both_signs<operands>(abs(x));
    const T r = e.r.high, slope = fma(r, exp_rest(r), T(1)), high = fma(r, slope, T(1)),
            low = fma(r, slope, T(1) - high);
    return scaled<operands>(high + fma(power_of_2<T, operands>(twice_down), inverse_of(high), low), e.whole - 1);
}

template <class T> inline constexpr T tanh_most = constant<T>(11, 21); ///< from there on tanh(x) is 1
template <class T> GRIDFOLD_FN bool tanh_is_plain(T x) { return abs(x) <= tanh_most<T>; }
/// From 1 on, 1 − 1 / (e^2a / 2 + 1/2) for a = |x|
template <Operands operands = Operands::any, class T> GRIDFOLD_FN T tanh(T x) {
    const T a = abs(x), z = x * x, near = fma(a * z, tanh_rest(z), a);
    const Reduced<T> e = reduced_by_ln2(T(2) * limited<operands>(a, T(0), tanh_most<T>));
    const T r = e.r.high, slope = fma(r, exp_rest(r), T(1));
    const T half_power = power_of_2<T, Operands::plain>(e.whole - 1);
    const T far = T(1) - inverse_of(fma(fma(r, slope, T(1)), half_power, T(0.5)));
    return with_sign_of(x, pick(a < T(1), near, far));
}
template <class T> GRIDFOLD_FN bool sigmoid_is_plain(T x) { return exp_is_plain(x); }
/// For a = −|x|: e^a / (1 + e^a) of a negative x, 1 / (1 + e^a) else
template <Operands operands = Operands::any, class T> GRIDFOLD_FN T sigmoid(T x) {
    const Reduced<T> e = reduced_by_ln2(limited<operands>(-abs(x), exp_least<T>, T(0)));
    const Pair<T> first = ordered_sum(T(1), e.r.high), g = ordered_sum(first.high, expm1_tail(e.r) + first.low);
    const T power = power_of_2<T, operands>(e.whole);
    const Pair<T> d = sum(T(1), g.high * power);
    const bool negative = x < T(0);
    const Pair<T> n = {pick(negative, g.high, T(1)), pick(negative, g.low, T(0))};
    const Pair<T> q = quotient(n, Pair<T>{d.high, fma(g.low, power, d.low)});
    return scaled<operands>(q.high + q.low, negative ? e.whole : whole_0<T>);
}

} // namespace GRIDFOLD_NAMESPACE::elementary

namespace GRIDFOLD_NAMESPACE {
GRIDFOLD_PLAIN_FUNCTION_1(exp)
GRIDFOLD_PLAIN_FUNCTION_1(exp_of_nonpositive)
GRIDFOLD_PLAIN_FUNCTION_1(exp2)
GRIDFOLD_PLAIN_FUNCTION_1(expm1)
GRIDFOLD_FUNCTION_1(sinh)
GRIDFOLD_FUNCTION_1(cosh)
GRIDFOLD_FUNCTION_1(tanh)
GRIDFOLD_FUNCTION_1(sigmoid)
} // namespace GRIDFOLD_NAMESPACE
GRIDFOLD_EXACT_END
