// Chains that are tested on the CPU and on CUDA devices, and numbers for them.
#pragma once

#include <cstdint>
#include <vector>

namespace gf::test {

inline constexpr auto softmax =
    "f(x: f32[i, k]) let m = max(x over [k]); let e = exp(x - m); -> y = e / sum(e over [k])";
/// Two sweeps of folds and one of maps, with results of rows and an input without rows.
inline constexpr auto norm =
    "f(x: f32[i, k], g: f32[k]) let m = mean(x over [k]); "
    "-> y = (x - m) / sqrt(variance(x over [k]) + 0.1) * g, m = m, at = argmax(x - m over [k])";

/// Numbers from −2 to 2.
inline std::vector<float> numbers(std::int64_t n, std::uint32_t seed = 1) {
    std::vector<float> values(static_cast<std::size_t>(n));
    for (float& value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = static_cast<float>(seed >> 8) / 4'194'304 - 2;
    }
    return values;
}

} // namespace gf::test
