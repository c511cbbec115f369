// Kernels of functions have a loop for plain operands and one for any (elementary::Operands): both give the same bits,
// wherever they choose the first. The choice is made for a strip of operands: an operand that is not plain, behind
// others, has them computed by the other loop.
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <gridfold/ops/op.hpp>
#include <gtest/gtest.h>

#include "host_kernels/kernels.hpp"

namespace {

using gf::cpu::InstructionSet;

const gf::MapOp* const functions[] = {&gf::map_op::exp,   &gf::map_op::exp2,  &gf::map_op::expm1,   &gf::map_op::sinh,
                                      &gf::map_op::cosh,  &gf::map_op::tanh,  &gf::map_op::sigmoid, &gf::map_op::log,
                                      &gf::map_op::log2,  &gf::map_op::log10, &gf::map_op::log1p,   &gf::map_op::hypot,
                                      &gf::map_op::atan2, &gf::map_op::pow};

template <class T> struct Bits {
    using Type = std::uint32_t;
};
template <> struct Bits<double> {
    using Type = std::uint64_t;
};

/// As many operands as a strip has (host_kernels/strips.hpp).
template <class T> using Strip = std::array<T, 1024 / sizeof(T)>;

/// The number of operands that both loops give the same bits, from `first` on, each `step` bits after the one before.
template <class T>
std::size_t equal_from(gf::MapKernel kernel, typename Bits<T>::Type first, typename Bits<T>::Type step,
                       const Strip<T>& other) {
    Strip<T> x, alone, beside;
    const std::size_t n = x.size();
    for (std::size_t i = 0; i < n; ++i) x[i] = std::bit_cast<T>(first + static_cast<typename Bits<T>::Type>(i) * step);
    kernel(alone.data(), x.data(), other.data(), nullptr, n - 1);
    x[n - 1] = std::numeric_limits<T>::quiet_NaN();
    kernel(beside.data(), x.data(), other.data(), nullptr, n);
    std::size_t equal = 0;
    const auto same = [](T a, T b) {
        return (std::isnan(a) && std::isnan(b)) ||
               std::bit_cast<typename Bits<T>::Type>(a) == std::bit_cast<typename Bits<T>::Type>(b);
    };
    while (equal + 1 < n && same(alone[equal], beside[equal])) ++equal;
    return equal;
}

/// The limits of plain operands, of both types.
constexpr double limits[] = {1,       11,     21,      29,      40,       59,       86,        125,
                             350,     707,    1021,    0x1p-55, 0x1p-26,  0x1p-126, 0x1p-1022, 0x1p60,
                             0x1p500, 0x1p30, 0x1p300, 0x1p100, 0x1p1000, 0x1p-149, 0x1p-1074};

/// Compares two strips: the first begins with a number, the second ends with it. Operands are `step` bits apart.
template <class T>
void compare_around(const gf::MapOp& map, InstructionSet set, typename Bits<T>::Type number,
                    typename Bits<T>::Type step, std::mt19937_64& random) {
    using Word = typename Bits<T>::Type;
    Strip<T> other; // the second operand
    constexpr int fraction = sizeof(T) == 4 ? 23 : 52;
    for (T& y : other) { // of other sizes and signs
        const Word bits = static_cast<Word>(random()), exponent = static_cast<Word>(bits % 41 - 20);
        y = std::bit_cast<T>(static_cast<Word>((number + (exponent << fraction)) ^ (bits & ~(Word(0xff) << fraction))));
    }
    if (&map == &gf::map_op::pow && std::isnormal(std::bit_cast<T>(number))) { // powers on both sides of its limit
        const T most = static_cast<T>(std::numeric_limits<T>::max_exponent) /
                       static_cast<T>(std::abs(std::ilogb(std::bit_cast<T>(number))) + 1);
        const T share = random() % 2 != 0 ? T(0.9) : T(1);
        for (T& y : other) y = (random() % 2 != 0 ? most : -most) * (share - static_cast<T>(random() % 1024) / 8192);
        other[random() % other.size()] = random() % 2 != 0 ? T(2) : T(0);
    }
    for (const Word first : {number, static_cast<Word>(number - (other.size() - 2) * step)})
        ASSERT_EQ(equal_from<T>(gf::cpu::map_kernel(map, gf::dtype_of<T>, set), first, step, other), other.size() - 1)
            << fmt::format("{} of {} from bits {:#x} on, by steps of {}", map.name, gf::to_text(gf::dtype_of<T>), first,
                           step);
}

template <class T> void compare(const gf::MapOp& map, InstructionSet set) {
    using Word = typename Bits<T>::Type;
    std::mt19937_64 random(1);
    for (const double limit : limits)
        for (const double number : {limit, -limit, 1 / limit, -1 / limit, limit - 1})
            compare_around<T>(map, set, std::bit_cast<Word>(static_cast<T>(number)), 1, random);
    for (std::uint32_t high = 0; high < 1U << 16; high += 16)
        compare_around<T>(map, set, static_cast<Word>(Word(high + random() % 16) << (8 * sizeof(T) - 16)),
                          static_cast<Word>(1 + random() % 256), random);
}

TEST(PlainOperands, have_the_bits_of_any_operands) {
    for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
        if (!gf::cpu::has(set)) continue;
        for (const gf::MapOp* map : functions) {
            compare<float>(*map, set);
            compare<double>(*map, set);
        }
    }
}

} // namespace
