// The elements of tests that compare folds by their bits.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace gf::test {

/// Numbers whose sums depend on the order.
inline std::vector<float> numbers(std::size_t n, std::uint32_t seed = 1) {
    std::vector<float> values(n);
    for (float& value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = static_cast<float>(seed >> 8) / 65536 - 100;
    }
    return values;
}

/// The upper halves of floats, as bfloat16 numbers.
inline std::vector<std::uint16_t> halves_of(const std::vector<float>& numbers) {
    std::vector<std::uint16_t> halves;
    halves.reserve(numbers.size());
    for (const float x : numbers) halves.push_back(std::uint16_t(std::bit_cast<std::uint32_t>(x) >> 16));
    return halves;
}

constexpr std::int64_t product(const std::vector<std::int64_t>& extents) {
    std::int64_t all = 1;
    for (const std::int64_t extent : extents) all *= extent;
    return all;
}

} // namespace gf::test
