// The operands with which functions are tried: a function of an index, so that the host, a GPU and every run have the
// same. First come special values, then points of eight kinds in turn. Uses only operations that are rounded correctly.
#pragma once

#include "functions/reference/double_double.cuh"

namespace gf::test {

/// one: a function of one operand. power: operands of pow. legs: the sides of a rectangle.
enum class OperandKind { one, power, legs };
struct Domain {
    OperandKind operands;
    double low, high; ///< an interval of typical operands
    double step;      ///< multiples of it are hard, or, if it is 0, powers of 2
};

template <class T> struct Point {
    T a, b;
};

template <class T> using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
template <class T> GRIDFOLD_BOTH T from_bits(BitsOf<T> bits) { return std::bit_cast<T>(bits); }
template <class T> GRIDFOLD_BOTH BitsOf<T> bits_of(T x) { return std::bit_cast<BitsOf<T>>(x); }

/// SplitMix64, seeded by a hash of the index (Steele, Lea and Flood, 2014). Two calls are in one
/// expression only within braces, where their order is fixed.
class Random {
public:
    GRIDFOLD_BOTH explicit Random(std::uint64_t index) : state_(mixed(index)) {}
    GRIDFOLD_BOTH std::uint64_t bits() { return mixed(state_ += 0x9e3779b97f4a7c15u); }
    /// A number below n, for a small n.
    GRIDFOLD_BOTH int below(int n) { return static_cast<int>(bits() % static_cast<unsigned>(n)); }
    GRIDFOLD_BOTH int between(int low, int high) { return low + below(high - low + 1); }
    /// In [0, 1)
    GRIDFOLD_BOTH double fraction() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
    GRIDFOLD_BOTH double between(double low, double high) { return low + (high - low) * fraction(); }
    /// A whole number of at most `most` bits, whose number of bits is uniform.
    GRIDFOLD_BOTH std::uint64_t of_any_size(int most) { return bits() >> (64 - between(1, most)); }
    /// x or −x
    template <class T> GRIDFOLD_BOTH T with_any_sign(T x) { return bits() >> 63 != 0 ? -x : x; }
    /// A number in ±[2^low, 2^high), whose exponent is uniform.
    GRIDFOLD_BOTH double of_exponents(int low, int high) {
        const double m = 1 + fraction();
        return with_any_sign(std::ldexp(m, between(low, high - 1)));
    }
    /// ±k · 2^n with a k of at most `most` bits and low ≤ n ≤ high: few bits, so that results may be exact.
    GRIDFOLD_BOTH double of_few_bits(int most, int low, int high) {
        const auto k = static_cast<double>(of_any_size(most));
        return with_any_sign(std::ldexp(k, between(low, high)));
    }

private:
    GRIDFOLD_BOTH static std::uint64_t mixed(std::uint64_t x) {
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        return x ^ (x >> 31);
    }
    std::uint64_t state_;
};

/// Where functions have zeros, poles, thresholds and saddle points, or where algorithms change. Positive.
constexpr int centre_count = 48;
template <class T> GRIDFOLD_BOTH T centre(int i) {
    using Limits = std::numeric_limits<T>;
    static constexpr T of[centre_count] = {
        T(0), Limits::denorm_min(), Limits::min(), Limits::max(), Limits::infinity(), T(0.25), T(0.5), T(1), T(2), T(3),
        T(4), T(0.70710678118654752), T(1.41421356237309505), T(0.34657359027997264), T(0.69314718055994531),
        T(0.78539816339744831), T(1.57079632679489662), T(3.14159265358979324), T(0.84375), T(2.5), T(6), T(0x1p-28),
        T(0x1p-13), T(0x1p28), T(0x1p57), T(0x1p100), T(0x1p-60), T(0x1p60),
        // thresholds of exp, exp2, sinh and tanh, of erf and erfc, of f32 and of f64; where angles become large
        T(88.722839), T(87.336545), T(103.97208), T(709.782712893384), T(708.396418532264), T(745.133219101941), T(127),
        T(128), T(149), T(150), T(1022), T(1024), T(1074), T(1075), T(10.0546), T(26.5433), T(27.2262),
        T(710.475860073944), T(0x1p17), T(0x1p40)};
    return of[i];
}
/// The special values: the centres, both neighbours of each where there are some, all of both signs, and NaN.
constexpr int special_count = 6 * centre_count + 1;
template <class T> GRIDFOLD_BOTH T special(int i) {
    if (i == special_count - 1) return std::numeric_limits<T>::quiet_NaN();
    BitsOf<T> bits = bits_of(centre<T>(i / 6));
    const int which = i / 2 % 3;
    if (which == 1 && bits != 0) --bits;
    if (which == 2 && bits != bits_of(std::numeric_limits<T>::infinity())) ++bits;
    return i % 2 == 0 ? from_bits<T>(bits) : -from_bits<T>(bits);
}
/// A number near x, of which it has a random number of leading bits. |x| may be anything but NaN.
template <class T> GRIDFOLD_BOTH T near(T x, Random& random) {
    constexpr int digits = std::numeric_limits<T>::digits;
    const auto away = static_cast<BitsOf<T>>(random.of_any_size(digits));
    const BitsOf<T> size = bits_of(x < 0 ? -x : x), most = bits_of(std::numeric_limits<T>::max());
    const bool down = random.below(2) == 0 && size >= away;
    const BitsOf<T> moved = down ? size - away : size + away;
    const T y = from_bits<T>(moved > most ? most : moved);
    return x < 0 ? -y : y;
}
template <class T> GRIDFOLD_BOTH T near_centre(Random& random) {
    return random.with_any_sign(near(centre<T>(random.below(centre_count)), random));
}

/// log2(x) with some 30 bits, for 0 < x < infinity: atanh's series.
GRIDFOLD_BOTH double rough_log2(double x) {
    const reference::Split p = reference::split(x);
    const bool low = p.fraction < 0.7071;
    const double m = low ? 2 * p.fraction : p.fraction, s = (m - 1) / (m + 1), z = s * s;
    double sum = 0;
    for (int k = 13; k >= 1; k -= 2) sum = sum * z + 1.0 / k;
    return (low ? p.exponent - 1 : p.exponent) + sum * s * 2.8853900817779268;
}

template <class T> GRIDFOLD_BOTH T one_operand(const Domain& d, int kind, Random& random) {
    switch (kind) {
    case 0: return from_bits<T>(static_cast<BitsOf<T>>(random.bits()));
    case 1: return T(random.of_exponents(-70, 70));
    case 2:
    case 3: return near_centre<T>(random);
    case 4: { // a hard multiple, or near it
        const T x = d.step == 0 ? T(random.with_any_sign(std::ldexp(1.0, random.between(-120, 120))))
                                : T(random.with_any_sign(static_cast<double>(random.of_any_size(50)) * d.step));
        return random.below(2) == 0 ? x : near(x, random);
    }
    case 5: // few bits: results may be exact
        return T(random.of_few_bits(12, -20, 0));
    case 6: {
        const double x = random.between(d.low, d.high);
        return T(std::ldexp(x, -random.between(0, 40)));
    }
    default: return T(random.between(d.low, d.high));
    }
}
/// An exponent for which base^exponent is near 2^log2_of_result. The base is positive.
template <class T> GRIDFOLD_BOTH T exponent_for(T base, double log2_of_result) {
    const double l = rough_log2(static_cast<double>(base));
    const double y = l == 0 ? log2_of_result : log2_of_result / l;
    return T(y < -0x1p120 ? -0x1p120 : y > 0x1p120 ? 0x1p120 : y);
}
template <class T> GRIDFOLD_BOTH Point<T> power_operands(const Domain& d, int kind, Random& random) {
    using Limits = std::numeric_limits<T>;
    constexpr double overflow = Limits::max_exponent, underflow = Limits::min_exponent - Limits::digits;
    switch (kind) {
    case 0:
        return {from_bits<T>(static_cast<BitsOf<T>>(random.bits())),
                from_bits<T>(static_cast<BitsOf<T>>(random.bits()))};
    case 1: { // the result is in range
        const T a = T(std::fabs(random.of_exponents(-20, 20)));
        return {a, exponent_for(a, random.between(underflow, overflow))};
    }
    case 2: { // near 1
        const T a = near(T(1), random);
        return {a, exponent_for(a, random.between(underflow, overflow))};
    }
    case 3: { // near overflow, underflow and the largest denormal
        const T a = from_bits<T>(static_cast<BitsOf<T>>(random.bits() % bits_of(Limits::infinity())));
        const int which = random.below(3);
        const double at = which == 0 ? overflow : which == 1 ? underflow : Limits::min_exponent - 1;
        return {a == 0 ? T(1) : a, exponent_for(a == 0 ? T(1) : a, at + random.of_exponents(-20, 2))};
    }
    case 4: // few bits: results may be exact
        return {T(random.of_few_bits(8, -4, 4)), T(random.of_few_bits(6, -3, 0))};
    case 5: { // a negative base, a whole exponent
        const T a = random.below(2) == 0 ? near(T(1), random) : T(std::fabs(random.of_exponents(-20, 20)));
        return {-a, T(std::rint(static_cast<double>(exponent_for(a, random.between(underflow, overflow)))))};
    }
    case 6: return {near_centre<T>(random), near_centre<T>(random)};
    default: return {T(random.between(d.low, d.high)), T(random.between(-d.high, d.high))};
    }
}
template <class T> GRIDFOLD_BOTH Point<T> legs(const Domain& d, int kind, Random& random) {
    constexpr int most = std::numeric_limits<T>::max_exponent;
    switch (kind) {
    case 0:
        return {from_bits<T>(static_cast<BitsOf<T>>(random.bits())),
                from_bits<T>(static_cast<BitsOf<T>>(random.bits()))};
    case 1: { // of like size, also near the ends of the range
        const int n = random.between(-most, most - 4);
        return {T(std::ldexp(random.of_exponents(0, 4), n)), T(std::ldexp(random.of_exponents(0, 4), n))};
    }
    case 2: return {T(random.of_exponents(-35, 35)), T(random.of_exponents(-35, 35))};
    case 3: { // nearly equal
        const T a = T(random.of_exponents(-most / 2, most / 2));
        return {a, random.with_any_sign(near(a, random))};
    }
    case 4: { // Pythagorean triples
        const auto m = static_cast<double>(random.of_any_size(11)), n = static_cast<double>(random.of_any_size(11));
        const int k = random.between(-100, 100);
        return {T(random.with_any_sign(std::ldexp(m * m - n * n, k))),
                T(random.with_any_sign(std::ldexp(2 * m * n, k)))};
    }
    case 5: return {near_centre<T>(random), near_centre<T>(random)};
    case 6: // one is tiny beside the other
        return {T(random.of_exponents(-most / 2, most / 2)), T(random.of_exponents(-most / 2, most / 2))};
    default: return {T(random.between(d.low, d.high)), T(random.between(d.low, d.high))};
    }
}

/// The number of special points with which a domain begins: all special values, or all pairs of them.
GRIDFOLD_BOTH std::uint64_t special_points(const Domain& d) {
    constexpr std::uint64_t one = special_count;
    return d.operands == OperandKind::one ? one : one * one;
}
/// The point of an index.
template <class T> GRIDFOLD_BOTH Point<T> point(const Domain& d, std::uint64_t index) {
    const bool single = d.operands == OperandKind::one;
    if (index < special_points(d))
        return {special<T>(static_cast<int>(index % special_count)),
                special<T>(static_cast<int>(index / special_count))};
    Random random(index);
    const int kind = static_cast<int>(index % 8);
    if (single) return {one_operand<T>(d, kind, random), T(0)};
    return d.operands == OperandKind::power ? power_operands<T>(d, kind, random) : legs<T>(d, kind, random);
}

} // namespace gf::test
