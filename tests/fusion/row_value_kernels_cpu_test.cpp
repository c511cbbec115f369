// The kernels of arithmetic by a value of each row have the bits of those by an array, which divide and round once.
#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/ops/op.hpp>

#include "host_kernels/kernels.hpp"

namespace gf::test {
namespace {

using cpu::InstructionSet;

/// A number of any exponent, or a special one; with `near`, of exponents about 0, as most have.
template <class T> T drawn(std::mt19937_64& random, bool near) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr int mantissa = sizeof(T) == 4 ? 23 : 52;
    constexpr Bits one = std::bit_cast<Bits>(T(1));
    const auto bits = static_cast<Bits>(random());
    if (!near) return std::bit_cast<T>(bits);
    const Bits exponent = one - (Bits(8) << mantissa) + (static_cast<Bits>(random() % 16) << mantissa);
    const Bits sign = Bits(1) << (8 * sizeof(T) - 1), below = (Bits(1) << mantissa) - 1;
    return std::bit_cast<T>(static_cast<Bits>((bits & (sign | below)) | exponent));
}

template <class T>
std::vector<T> expected_of(const MapOp& map, const std::vector<T>& x, const std::vector<T>& values, std::size_t first,
                           std::size_t length, InstructionSet set) {
    std::vector<T> of_row(x.size()), expected(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) of_row[i] = values[(first + i) / length];
    cpu::map_kernel(map, dtype_of<T>, set)(expected.data(), x.data(), of_row.data(), nullptr, x.size());
    return expected;
}

template <class T> void expect_the_bits_of_arrays(InstructionSet set) {
    std::mt19937_64 random(sizeof(T));
    for (const MapOp* const map : {&map_op::add, &map_op::sub, &map_op::mul, &map_op::divide}) {
        const cpu::RowValueKernel kernel = cpu::row_value_kernel(*map, dtype_of<T>, set);
        ASSERT_NE(kernel, nullptr);
        for (int round = 0; round < 3'000; ++round) {
            const std::size_t length = 1 + random() % 300, first = random() % length, n = random() % 1'000;
            std::vector<T> x(n), values((first + n) / length + 1);
            const bool near = round % 3 != 0;
            for (T& element : x) element = drawn<T>(random, near && random() % 500 != 0);
            for (T& value : values) value = drawn<T>(random, near && random() % 8 != 0);
            if (round % 5 == 0)
                for (T& element : x) element = random() % 2 == 0 ? T(0) : element;
            const std::vector<T> expected = expected_of(*map, x, values, first, length, set);
            std::vector<T> apart(n);
            kernel(apart.data(), x.data(), values.data(), first, length, n);
            kernel(x.data(), x.data(), values.data(), first, length, n);
            for (const std::vector<T>& got : {apart, x})
                for (std::size_t i = 0; i < n; ++i) {
                    const bool same = got[i] != got[i] ? expected[i] != expected[i]
                                                       : std::memcmp(&got[i], &expected[i], sizeof(T)) == 0;
                    ASSERT_TRUE(same) << map->name << ": " << got[i] << ", not " << expected[i] << ", by "
                                      << values[(first + i) / length] << "; " << length;
                }
        }
    }
}

TEST(RowValueKernels, have_the_bits_of_kernels_by_an_array) {
    for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
        if (!cpu::has(set)) continue;
        expect_the_bits_of_arrays<float>(set);
        expect_the_bits_of_arrays<double>(set);
    }
}

/// Numbers whose quotients by b lie next to the middle of two floats: b m = 2^p x + r for odd b and m, of p and p + 1
/// bits, and a small r, so x / b = m / 2^p − r / (2^p b).
template <class T> std::vector<T> hard_numerators(std::uint64_t b) {
    constexpr int p = sizeof(T) == 4 ? 24 : 53;
    constexpr std::uint64_t one = std::uint64_t{1} << p;
    std::uint64_t inverse = b; // modulo 2^p, by Newton's steps
    for (int step = 0; step < 6; ++step) inverse *= 2 - b * inverse;
    std::vector<T> hard;
    for (std::int64_t r = -63; r <= 63; r += 2) {
        const std::uint64_t m = one + (inverse * static_cast<std::uint64_t>(r) & (one - 1));
        __extension__ const auto product = static_cast<unsigned __int128>(b) * m - static_cast<unsigned __int128>(r);
        const auto x = static_cast<std::uint64_t>(product >> p);
        if (x < one) hard.push_back(static_cast<T>(x));
    }
    return hard;
}

template <class T> void expect_correct_rounding(InstructionSet set) {
    constexpr int p = sizeof(T) == 4 ? 24 : 53;
    const cpu::RowValueKernel kernel = cpu::row_value_kernel(map_op::divide, dtype_of<T>, set);
    std::mt19937_64 random(p);
    std::size_t tried = 0;
    for (int round = 0; round < 20'000; ++round) {
        const std::uint64_t b = (std::uint64_t{1} << (p - 1)) + ((random() >> (65 - p)) | 1);
        std::vector<T> x = hard_numerators<T>(b), got(x.size());
        const T value = static_cast<T>(b);
        kernel(got.data(), x.data(), &value, 0, x.size() + 1, x.size());
        for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(got[i], x[i] / value) << x[i] << " / " << value;
        tried += x.size();
    }
    EXPECT_GT(tried, 400'000);
}

TEST(RowValueKernels, divide_with_one_rounding) {
    for (const InstructionSet set : {InstructionSet::avx2, InstructionSet::avx512}) {
        if (!cpu::has(set)) continue;
        expect_correct_rounding<float>(set);
        expect_correct_rounding<double>(set);
    }
}

TEST(RowValueKernels, are_of_floating_point_arithmetic_alone) {
    EXPECT_EQ(cpu::row_value_kernel(map_op::pow, DType::f32, InstructionSet::baseline), nullptr);
    EXPECT_EQ(cpu::row_value_kernel(map_op::add, DType::i32, InstructionSet::baseline), nullptr);
}

} // namespace
} // namespace gf::test
