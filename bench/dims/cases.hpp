// The cases of bench_dims: what is computed, of which shape, and by whom.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace bench::dims {

struct Contender {
    std::string_view name;
    std::function<void()> run;
};

/// What the contenders of a case work on, kept until they are measured.
struct Measurable {
    std::vector<Contender> contenders;
    /// Throws std::runtime_error if, after each has run once, their results differ by more than rounding.
    std::function<void()> check;
};

struct Case {
    std::string name;  ///< <what>/<shape>
    std::size_t bytes; ///< that a contender reads and writes
    std::function<Measurable()> make;
};

/// The contenders of every case, in the order of Measurable::contenders. `ceiling` only reads, or only copies.
constexpr std::string_view contender_names[] = {"gridfold", "loop", "ceiling"};

std::vector<Case> fold_cases();
std::vector<Case> chain_cases();

/// Numbers of eleven binary digits between −1 and 1, none of them 0: their sums are exact in f64.
std::vector<float> numbers(std::size_t n);

} // namespace bench::dims
