// The elements of inputs: digits -4 … 5, or 0 … 9 for unsigned types. Sums of small whole numbers stay exact in f32 for
// long, and the counts of the digits determine the right value of every statistic.
#pragma once

#include <array>
#include <cstdint>

#ifdef __CUDACC__
#define BENCH_BOTH __host__ __device__
#else
#define BENCH_BOTH
#endif

namespace bench {

inline constexpr int digit_kinds = 10;
inline constexpr int lowest_digit = -4; ///< for signed types

/// The digit 0 … 9 of element i of the input with that seed.
BENCH_BOTH constexpr int digit_of(std::uint64_t i, std::uint64_t seed) {
    return static_cast<int>(((i + seed * 0x51ed27u) * 0x9e3779b97f4a7c15u >> 40) % digit_kinds);
}

/// The number of elements of each digit.
struct Digits {
    int lowest = 0; ///< the value of the first
    std::array<std::int64_t, digit_kinds> counts{};

    std::int64_t elements() const {
        std::int64_t all = 0;
        for (const std::int64_t count : counts) all += count;
        return all;
    }
    /// The sum of f(x) over all elements.
    template <class F> double total(F f) const {
        double sum = 0;
        for (int k = 0; k < digit_kinds; ++k)
            if (const auto count = counts[static_cast<std::size_t>(k)])
                sum += static_cast<double>(count) * static_cast<double>(f(static_cast<double>(lowest + k)));
        return sum;
    }
    double mean() const {
        return total([](double x) { return x; }) / static_cast<double>(elements());
    }
    double variance() const {
        return total([m = mean()](double x) { return (x - m) * (x - m); }) / static_cast<double>(elements());
    }
    double least() const {
        int k = 0;
        while (counts[static_cast<std::size_t>(k)] == 0) ++k;
        return lowest + k;
    }
    double most() const {
        int k = digit_kinds - 1;
        while (counts[static_cast<std::size_t>(k)] == 0) --k;
        return lowest + k;
    }
};

} // namespace bench
