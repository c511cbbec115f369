// The problems of `run --many`: arrays with an additional first dim hold one problem at each of its indices.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gridfold/fusion/executable.hpp>

namespace gf::tool {

/// The binding of one word of the command line: the same in all problems, or a different one in each.
struct Given {
    std::string word;
    Binding shared;              ///< if `each` is set, only its name is used
    std::optional<View> each{};  ///< the problems' arrays, or values of a run-time scalar, along its first dim
    bool each_is_number = false; ///< `each` holds values of a run-time scalar

    /// The binding of problem number `i`.
    Binding binding(std::int64_t i) const;
    /// The binding of all problems as one graph over one more dim.
    Binding of_batch() const;
};

/// Element number `i` of an array, as the value of a run-time scalar.
Literal number_at(const View& array, std::int64_t i);

/// The number of problems. Throws InvalidOption if no word has the problems' dim, two disagree, or the number is 0.
std::int64_t count_problems(std::span<const Given> given);

/// The results of one problem, in the order of the graph. They view arrays of Results, which must outlive them.
using Entries = std::vector<Results::Entry>;

/// The results of separate problems.
std::vector<Entries> entries_of(std::span<const Results> problems);
/// The results of `count` problems that were run as one graph over one more dim (gf::batched).
std::vector<Entries> entries_of_batch(const Results& batch, std::int64_t count);

/// The extents of `count` arrays with these extents: `count` in front.
Extents with_problems_in_front(std::int64_t count, const Extents& extents);

} // namespace gf::tool
