// Consecutive rows of digits, each with its own least and greatest element at its own positions, so that a contender
// that reads only a part of a row, or another row, gives a wrong result.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/input.hpp"

namespace bench {

/// The statistics of a row; all are whole numbers that f32 holds.
struct RowFacts {
    double sum = 0, squares = 0, least = 0, most = 0, positive = 0;
};

/// Plants the elements in all copies of `x`, digits of a signed type. Returns the facts of each row.
template <class T> std::vector<RowFacts> plant_rows(Input<T>& x, std::int64_t rows) {
    const std::int64_t length = x.elements() / rows;
    std::vector<std::pair<std::int64_t, T>> planted;
    std::vector<RowFacts> all;
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t high = row * 7919 % length, low = (high + length / 2) % length;
        const double size = static_cast<double>(10 + row % 89);
        RowFacts facts;
        for (std::int64_t i = 0; i < length; ++i) {
            const double value = i == high  ? size
                                 : i == low ? -size
                                            : digit_of(static_cast<std::uint64_t>(row * length + i), 0) + lowest_digit;
            facts.sum += value;
            facts.squares += value * value;
            facts.least = std::min(facts.least, value);
            facts.most = std::max(facts.most, value);
            facts.positive += value > 0;
        }
        planted.emplace_back(row * length + high, static_cast<T>(size));
        planted.emplace_back(row * length + low, static_cast<T>(-size));
        all.push_back(facts);
    }
    x.put(planted);
    return all;
}

} // namespace bench
