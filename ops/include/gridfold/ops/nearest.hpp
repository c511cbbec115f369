// "did you mean …?"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gf::detail {

/// The candidate that the fewest edits turn `name` into, if few enough to be a slip; else "".
std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates);

/// "did you mean 'mean'?", or "" where nothing is near.
std::string suggestion(std::string_view name, std::span<const std::string_view> candidates);

/// What is called `name` in other libraries and languages: "mean" for "avg"; "" where that is not known.
std::string_view own_name(std::string_view name);

} // namespace gf::detail
