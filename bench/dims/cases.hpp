// The cases of bench_dims: what is computed, of which shape, and by whom.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bench::dims {

/// The contenders of every case, in the order of Measurable::contenders. `ceiling` only reads, or only copies.
constexpr std::string_view contender_names[] = {"gridfold", "loop", "ceiling"};

/// What the contenders of a case work on, kept until they are measured.
struct Measurable {
    std::array<std::function<void()>, std::size(contender_names)> contenders;
    /// Throws std::runtime_error if, after each has run once, their results differ by more than rounding.
    std::function<void()> check;
};

struct Case {
    std::string name;  ///< <what>/<shape>
    std::size_t bytes; ///< that a contender reads and writes
    std::function<Measurable()> make;
};

std::vector<Case> fold_cases();
std::vector<Case> chain_cases();

/// Numbers of eleven binary digits between −1 and 1, none of them 0: their sums are exact in f64.
std::vector<float> numbers(std::size_t n);

} // namespace bench::dims
