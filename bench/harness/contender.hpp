// Contenders and cases. A case is one workload at one size: the wanted contenders, on shared inputs, each with its
// expected results. A contender's functions own its memory, so a case frees it when it is destroyed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

namespace bench {

/// An expected result.
struct Expected {
    double value;     ///< NaN: anything
    double tolerance; ///< absolute
};
inline Expected exactly(double value) { return {value, 0}; }
/// A float sum of terms whose absolute values sum to `scale`.
inline Expected about(double value, double scale) { return {value, 1e-5 * (scale + 1)}; }
inline Expected about(double value) { return about(value, std::abs(value)); }
inline constexpr Expected anything{std::numeric_limits<double>::quiet_NaN(), 0};

/// Contenders of the same name are variants: the one with the best median is reported.
struct Contender {
    std::string name;
    /// Enqueues one call on copy number `copy` of the input. Empty if the contender can only be called.
    std::function<void(cudaStream_t, int copy)> enqueue{};
    /// One call on copy 0, until the host has the result. Empty if the contender can only be enqueued.
    std::function<void()> call{};
    /// The results of the last call on a copy, after it is done. Empty for ceilings, which have none.
    std::function<std::vector<double>(int copy)> results{};
    std::vector<Expected> expected{};
    std::string variant{};
    int calls = 0; ///< calls in a captured graph if fewer than copies; 0: one for each copy
    /// Counters of its last call, reported as medians over the rounds. Usually empty.
    std::function<std::map<std::string, double>()> counters{};
};

class Case {
public:
    Case(int copies, std::set<std::string> wanted) : copies_(copies), wanted_(std::move(wanted)) {}

    /// The number of copies of the input, and of calls in a captured graph.
    int copies() const { return copies_; }
    bool wants(const std::string& name) const { return wanted_.contains(name); }

    void add(Contender contender) { contenders_.push_back(std::move(contender)); }
    void add(Contender contender, std::vector<Expected> expected) {
        contender.expected = std::move(expected);
        add(std::move(contender));
    }
    void add(std::vector<Contender> variants) {
        for (Contender& variant : variants) add(std::move(variant));
    }

    const std::vector<Contender>& contenders() const { return contenders_; }

private:
    int copies_;
    std::set<std::string> wanted_;
    std::vector<Contender> contenders_;
};

inline double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

} // namespace bench
