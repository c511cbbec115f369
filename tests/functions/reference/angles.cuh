// sin, cos, tan, asin, acos, atan and atan2 in double-double: Taylor's series after Payne and Hanek's reduction with
// 288 bits of 2/π, and Newton's iteration for the inverse functions.
#pragma once

#include "double_double.cuh"

namespace gf::test::reference {

/// x = quadrant · π/2 + rest, |rest| ≤ π/4; the quadrant modulo 4.
struct Angle {
    unsigned quadrant;
    Wide rest;
};
/// 32 bits of 2/π: its value is the sum of word i · 2^(−32 (i + 1)).
GRIDFOLD_BOTH std::uint32_t word_of_2_over_pi(int i) {
    static constexpr std::uint32_t words[] = {
        0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u,
        0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u,
        0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu,
        0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu,
        0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u, 0xfc7b6babu, 0xf0cfbc20u, 0x9af4361du};
    return words[i];
}
GRIDFOLD_BOTH Angle reduced_angle(double x) {
    if (std::fabs(x) < 0.78) return {0, x};
    const Split s = split(std::fabs(x));
    const auto m = static_cast<std::uint64_t>(std::ldexp(s.fraction, 53)); // |x| = m · 2^e
    const int e = s.exponent - 53;
    // Leave out the words whose product with |x| is a multiple of 4, and use 9 from there on.
    constexpr int used = 9, size = used + 2;
    const int first = e < 34 ? 0 : (e - 2) / 32;
    std::uint32_t product[size] = {}; // of |x| and the words, lowest word first
    for (int j = used - 1; j >= 0; --j) {
        const std::uint64_t word = word_of_2_over_pi(first + j);
        std::uint64_t carry = 0;
        for (int k = 0; used - 1 - j + k < size; ++k) {
            std::uint32_t& digit = product[used - 1 - j + k];
            const std::uint64_t factor = k == 0 ? m & 0xffffffffu : k == 1 ? m >> 32 : 0;
            const std::uint64_t sum = word * factor + digit + carry; // never exceeds 2^64 − 1
            digit = static_cast<std::uint32_t>(sum);
            carry = sum >> 32;
        }
    }
    const int point = 32 * (first + used) - e; // so many bits are after the point
    const auto bit = [&](int i) { return product[i / 32] >> (i % 32) & 1u; };
    const bool more = bit(point - 1) != 0; // than half a quadrant: the rest is negative
    const unsigned quadrant = bit(point) + 2 * bit(point + 1) + (more ? 1 : 0);
    Wide rest = 0;
    std::uint64_t carry = more ? 1 : 0;
    std::uint32_t digits[size];
    for (int i = 0; i < size; ++i) { // the bits after the point, or the negative of them
        const int bits = point - 32 * i;
        const std::uint32_t mask = bits >= 32 ? 0xffffffffu : bits <= 0 ? 0 : (1u << bits) - 1;
        carry += more ? ~product[i] : product[i];
        digits[i] = static_cast<std::uint32_t>(carry) & mask;
        carry >>= 32;
    }
    for (int i = size - 1; i >= 0; --i) rest = rest + std::ldexp(static_cast<double>(digits[i]), 32 * i - point);
    rest = rest * half_pi();
    if (more) rest = -rest;
    return x < 0 ? Angle{(0u - quadrant) % 4, -rest} : Angle{quadrant % 4, rest};
}

/// The sine, for |r| ≤ π/4
GRIDFOLD_BOTH Wide sin_near_0(Wide r) {
    const Wide z = -(r * r);
    Wide sum = inverse_factorial(29);
    for (int k = 27; k >= 1; k -= 2) sum = sum * z + inverse_factorial(k);
    return sum * r;
}
/// The cosine, for |r| ≤ π/4
GRIDFOLD_BOTH Wide cos_near_0(Wide r) {
    const Wide z = -(r * r);
    Wide sum = inverse_factorial(28);
    for (int k = 26; k >= 0; k -= 2) sum = sum * z + inverse_factorial(k);
    return sum;
}
/// The sine of an angle plus `turned` quadrants.
GRIDFOLD_BOTH Wide sin_of(Angle a, unsigned turned) {
    const unsigned quadrant = (a.quadrant + turned) % 4;
    const Wide y = quadrant % 2 != 0 ? cos_near_0(a.rest) : sin_near_0(a.rest);
    return quadrant >= 2 ? -y : y;
}
GRIDFOLD_BOTH Exact sin(double x) {
    if (std::isnan(x) || std::isinf(x)) return exactly(nan());
    return is_tiny(x) ? exactly(x) : Exact{sin_of(reduced_angle(x), 0)};
}
GRIDFOLD_BOTH Exact cos(double x) {
    if (std::isnan(x) || std::isinf(x)) return exactly(nan());
    return is_tiny(x) ? Exact{Wide(1, -0x1p-200)} : Exact{sin_of(reduced_angle(x), 1)};
}
GRIDFOLD_BOTH Exact tan(double x) {
    if (std::isnan(x) || std::isinf(x)) return exactly(nan());
    if (is_tiny(x)) return exactly(x);
    const Angle a = reduced_angle(x);
    return {sin_of(a, 0) / sin_of(a, 1)};
}

/// The angle of the point (x, y), whose coordinates are neither both 0 nor near the ends of f64's range.
GRIDFOLD_BOTH Wide angle_of(Wide y, Wide x) {
    const double rough = std::atan2(y.high, x.high);
    const Angle a = reduced_angle(rough);
    const Wide s = sin_of(a, 0), c = sin_of(a, 1);
    // The tangent of what is missing is some 2^-52 of the angle: its cube is nothing.
    return Wide(rough) + (y * c - x * s) / (x * c + y * s);
}
GRIDFOLD_BOTH Exact asin(double x) {
    if (std::isnan(x) || std::fabs(x) > 1) return exactly(nan());
    if (is_tiny(x)) return exactly(x);
    return {angle_of(x, sqrt(exact_sum(1, -x) * exact_sum(1, x)))};
}
GRIDFOLD_BOTH Exact acos(double x) {
    if (std::isnan(x) || std::fabs(x) > 1) return exactly(nan());
    if (x == 1) return exactly(0);
    if (is_tiny(x)) return {half_pi()};
    return {angle_of(sqrt(exact_sum(1, -x) * exact_sum(1, x)), x)};
}
GRIDFOLD_BOTH Exact atan(double x) {
    if (std::isnan(x) || is_tiny(x)) return exactly(x);
    if (std::fabs(x) > 0x1p200) return with_sign_of(x, {half_pi()});
    return {angle_of(x, 1)};
}
GRIDFOLD_BOTH Exact atan2(double y, double x) {
    if (std::isnan(x) || std::isnan(y)) return exactly(nan());
    const bool back = std::signbit(x);
    if (std::isinf(y)) {
        const double eighths = std::isinf(x) ? (back ? 1.5 : 0.5) : 1;
        return with_sign_of(y, {half_pi() * eighths});
    }
    if (y == 0 || std::isinf(x)) return with_sign_of(y, back ? Exact{half_pi() * 2} : exactly(0));
    if (x == 0) return with_sign_of(y, {half_pi()});
    const Split sy = split(y), sx = split(x);
    if (sy.exponent - sx.exponent > 200) return with_sign_of(y, {half_pi()});
    if (sx.exponent - sy.exponent > 200)
        return back ? with_sign_of(y, {half_pi() * 2})
                    : Exact{Wide(sy.fraction) / Wide(sx.fraction), sy.exponent - sx.exponent};
    return {angle_of(std::ldexp(sy.fraction, sy.exponent - sx.exponent), sx.fraction)};
}

} // namespace gf::test::reference
