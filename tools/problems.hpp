// The problems of `run --many`: arrays with one dim more than in the graph, in front, hold one problem at each index of
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <gridfold/fusion/executable.hpp>

namespace gf::tool {

/// What one word of the command line binds: the same in all problems, or something of its own in each.
struct Given {
    std::string word;
    Binding shared;              ///< only its name counts where there is `each`
    std::optional<View> each{};  ///< along its first dim: the problems' arrays …
    bool each_is_number = false; ///< … or their values of a run-time scalar

    /// Of problem number `i`.
    Binding binding(std::int64_t i) const;
};

/// Element number `i` of an array, as the value of a run-time scalar.
Literal number_at(const View& array, std::int64_t i);

/// How many problems the words hold. Throws InvalidOption where none has the problems' dim, two disagree, or there is
/// no problem.
std::int64_t count_problems(std::span<const Given> given);

/// The extents of `count` arrays that have these.
Extents with_problems_in_front(std::int64_t count, const Extents& extents);

} // namespace gf::tool
