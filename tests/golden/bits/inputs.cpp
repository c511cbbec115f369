// The numbers. Any change here changes every hash. See inputs.hpp.
#include "inputs.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <iterator>
#include <limits>

namespace gf::golden {

namespace {

/// SplitMix64.
class Random {
public:
    explicit Random(const InputKey& key) {
        Hash hash;
        for (const std::string_view name : {key.graph, key.input, key.size}) {
            hash.add(name);
            hash.add(0);
        }
        state_ = hash.value();
    }
    std::uint64_t bits() {
        state_ += 0x9e3779b97f4a7c15;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    /// In [0, n).
    std::uint64_t below(std::uint64_t n) { return bits() % n; }
    /// In [-most, most].
    std::int64_t within(std::int64_t most) {
        return static_cast<std::int64_t>(below(2 * static_cast<std::uint64_t>(most) + 1)) - most;
    }
    template <class C> auto pick(const C& choices) { return choices[below(std::size(choices))]; }

private:
    std::uint64_t state_ = 0;
};

// Numbers as 16 bits: rounded to nearest, ties away from 0.

std::uint16_t f16_bits(double x) {
    const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    const double magnitude = std::abs(x);
    if (std::isnan(x)) return 0x7e00;
    if (magnitude >= 65520) return sign | 0x7c00;
    if (magnitude < 0x1p-14) return static_cast<std::uint16_t>(sign + static_cast<int>(magnitude * 0x1p24 + 0.5));
    const int exponent = std::ilogb(magnitude);
    const double fraction = std::ldexp(magnitude, -exponent) - 1;
    return static_cast<std::uint16_t>(sign + ((exponent + 15) << 10) + static_cast<int>(fraction * 1024 + 0.5));
}

std::uint16_t bf16_bits(double x) {
    if (std::isnan(x)) return 0x7fc0;
    const auto word = std::bit_cast<std::uint32_t>(static_cast<float>(x));
    return static_cast<std::uint16_t>((word + (std::isinf(x) ? 0 : 0x8000)) >> 16);
}

std::uint64_t floating_bits(double x, DType type) {
    switch (type) {
    case DType::f16: return f16_bits(x);
    case DType::bf16: return bf16_bits(x);
    case DType::f32: return std::bit_cast<std::uint32_t>(static_cast<float>(x));
    default: return std::bit_cast<std::uint64_t>(x);
    }
}

/// The least denormal, the least normal and the largest number of a type.
struct Range {
    double least, normal, largest;
};
Range range_of(DType type) {
    switch (type) {
    case DType::f16: return {0x1p-24, 0x1p-14, 65504};
    case DType::bf16: return {0x1p-133, 0x1p-126, 0x1.fep127};
    case DType::f32: return {0x1p-149, 0x1p-126, 0x1.fffffep127};
    default: return {0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023};
    }
}

enum class Style { whole, fractions, any_magnitude, far_from_0, rarely_special, often_special, near_1, any_number };

Style style_of(Random& random, std::string_view input) {
    constexpr std::array styles{
        Style::whole,          Style::whole,        Style::whole,      Style::fractions,     Style::fractions,
        Style::fractions,      Style::fractions,    Style::fractions,  Style::any_magnitude, Style::any_magnitude,
        Style::any_magnitude,  Style::far_from_0,   Style::far_from_0, Style::far_from_0,    Style::rarely_special,
        Style::rarely_special, Style::often_special};
    if (input.starts_with("near_1")) return Style::near_1;
    if (input.starts_with("any_number")) return Style::any_number;
    return random.pick(styles);
}

double special_floating(Random& random, DType type) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const Range range = range_of(type);
    const std::array choices{std::numeric_limits<double>::quiet_NaN(),
                             infinity,
                             -infinity,
                             range.largest,
                             -range.largest,
                             0.0,
                             -0.0,
                             range.least,
                             -range.least * 5,
                             range.normal,
                             -range.normal};
    return random.pick(choices);
}

/// Those that leave a sum finite.
double harmless_special_floating(Random& random, DType type) {
    const Range range = range_of(type);
    const std::array choices{0.0, -0.0, -0.0, range.least, -range.least * 3, range.normal, -range.normal};
    return random.pick(choices);
}

/// A number in steps of 1e-5 within 10 of `centre`, rounded once: contraction of its arithmetic changes nothing.
double fraction(Random& random, std::int64_t centre = 0) {
    return static_cast<double>(centre * 100'000 + random.within(999'999)) * 1e-5;
}

/// What the domains of elementary functions are tried with: numbers within 10, within 1, of any size, and special ones.
double any_number(Random& random, DType type) {
    switch (random.below(8)) {
    case 0: return special_floating(random, type);
    case 1:
    case 2: return static_cast<double>(random.within(std::int64_t{1} << 24)) * 0x1p-24;
    case 3: {
        const auto mantissa = static_cast<double>(random.within(std::int64_t{1} << 50));
        return std::ldexp(mantissa, static_cast<int>(random.within(1100)));
    }
    case 4: {
        const auto mantissa = static_cast<double>(random.within(std::int64_t{1} << 50));
        return std::ldexp(mantissa, -50 + static_cast<int>(random.within(type == DType::f16 ? 15 : 127)));
    }
    default: return fraction(random);
    }
}

double floating(Random& random, Style style, DType type) {
    switch (style) {
    case Style::whole: return static_cast<double>(random.within(9));
    case Style::fractions: return fraction(random);
    case Style::any_magnitude: {
        const auto mantissa = static_cast<double>(random.within(std::int64_t{1} << 40));
        return std::ldexp(mantissa, -26 - static_cast<int>(random.below(36)));
    }
    case Style::far_from_0: return fraction(random, 10'000);
    case Style::rarely_special:
        return random.below(64) == 0 ? harmless_special_floating(random, type) : fraction(random);
    case Style::often_special: return random.below(8) == 0 ? special_floating(random, type) : fraction(random);
    case Style::near_1: return 1 + static_cast<double>(random.within(1 << 20)) * 0x1p-28;
    case Style::any_number: return any_number(random, type);
    }
    return 0;
}

/// The lowest `8 * size_of(type)` bits count.
std::uint64_t integer(Random& random, Style style, DType type) {
    const bool is_signed = kind_of(type) == Kind::signed_integer;
    const auto within = [&](std::int64_t most) {
        const std::int64_t number = random.within(most);
        return static_cast<std::uint64_t>(is_signed || number > 0 ? number : -number);
    };
    switch (style) {
    case Style::whole: return within(9);
    case Style::fractions: return within(1000);
    case Style::near_1: return within(1) * 2 + 1; // odd: a product of many is not 0
    case Style::any_number:
    case Style::any_magnitude:
    case Style::far_from_0:
    case Style::rarely_special: return random.bits();
    case Style::often_special: {
        const std::uint64_t sign_bit = std::uint64_t{1} << (8 * size_of(type) - 1);
        const std::array<std::uint64_t, 6> choices{0, 1, ~std::uint64_t{0}, sign_bit, sign_bit - 1, sign_bit + 1};
        return random.below(4) == 0 ? random.pick(choices) : within(100);
    }
    }
    return 0;
}

/// Where a bool array is true.
class Truth {
public:
    explicit Truth(Random& random) : pattern_(random.pick(patterns)) {}
    bool at(std::size_t i, Random& random) const {
        switch (pattern_) {
        case in_odd_slabs: return i / 2048 % 2 == 1;
        case in_first_lanes: return i % 2048 < 1000;
        case from_the_third_slab_on: return i / 2048 >= 2;
        default: return static_cast<int>(random.below(256)) < pattern_;
        }
    }

private:
    static constexpr int in_odd_slabs = -1, in_first_lanes = -2, from_the_third_slab_on = -3;
    /// So many of 256, or one of the above.
    static constexpr std::array patterns{
        0, 1, 16, 16, 64, 128, 128, 128, 200, 240, 255, in_odd_slabs, in_first_lanes, from_the_third_slab_on};
    int pattern_;
};

/// Calls put(i, bits) for each element.
template <class Put> void draw(const InputKey& key, DType type, std::size_t count, Put put) {
    Random random(key);
    if (type == DType::boolean) {
        const Truth truth(random);
        for (std::size_t i = 0; i < count; ++i) put(i, truth.at(i, random) ? 1 : 0);
        return;
    }
    const Style style = style_of(random, key.input);
    for (std::size_t i = 0; i < count; ++i)
        put(i, is_floating(type) ? floating_bits(floating(random, style, type), type) : integer(random, style, type));
}

} // namespace

std::vector<std::byte> elements(const InputKey& key, DType type, std::size_t count) {
    const std::size_t size = size_of(type);
    std::vector<std::byte> bytes(count * size);
    draw(key, type, count, [&](std::size_t i, std::uint64_t bits) {
        std::memcpy(bytes.data() + i * size, &bits, size); // little-endian, as gridfold is
    });
    return bytes;
}

Scalar scalar(const InputKey& key, DType type) {
    Random random(key);
    switch (kind_of(type)) {
    case Kind::boolean: return random.below(2) == 1;
    case Kind::signed_integer: return random.within(9);
    case Kind::unsigned_integer: return random.below(10);
    case Kind::floating: break;
    }
    const std::array<double, 8> choices{
        fraction(random), fraction(random), fraction(random), fraction(random), 0, -0.0, 1, 3};
    return random.pick(choices);
}

std::size_t misalignment(const InputKey& key) {
    Random random(key);
    constexpr std::array<std::size_t, 6> elements{0, 0, 0, 1, 2, 3};
    return random.pick(elements);
}

} // namespace gf::golden
