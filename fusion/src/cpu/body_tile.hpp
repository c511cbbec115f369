// The tile of a thread: the elements that the steps of a sweep's body have computed, and those that they read.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cpu/index.hpp"
#include "cpu/memory.hpp"
#include "cpu/next_rows.hpp"
#include "cpu/sweep_body.hpp"

namespace gf::cpu {

class BodyTile {
public:
    /// The body must outlive it.
    explicit BodyTile(const SweepBody& body);

    /// Computes n elements of the domain, from `element` on, as row `row`. Allocates nothing.
    /// `next`: rows to prefetch meanwhile, by a step for each element of each step of the body.
    void run(std::size_t row, std::int64_t element, std::size_t n, std::span<char* const> arrays,
             NextRows* next = nullptr);
    /// The elements of a row that a place has; null for the place that is none.
    char* elements(std::size_t row, int place) const { return where_[row][at(place)]; }
    /// Prefetches a share of the bytes that follow what streams have in `rows` rows of n elements. `from`: the first
    /// stream.
    void prefetch(std::size_t rows, std::size_t n, std::size_t share, std::size_t shares, std::size_t from = 0) const;

private:
    const SweepBody& body_;
    Bytes scratch_;                                  ///< temporaries
    std::array<std::vector<char*>, max_rows> where_; ///< by row and place
};

} // namespace gf::cpu
