// The characters of names, and suggestions for unknown names: "did you mean …?"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gf::detail {

// Not std::isalpha, which depends on the locale.
constexpr bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool continues_name(char c) { return starts_name(c) || (c >= '0' && c <= '9'); }

/// The candidate with the least edit distance from `name`, if that is small enough for a typing error; else "".
std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates);

/// "did you mean 'mean'?", or "" if no candidate is near.
std::string suggestion(std::string_view name, std::span<const std::string_view> candidates);

/// gridfold's name for an operation that other libraries call `name`: "mean" for "avg"; "" if unknown.
std::string_view own_name(std::string_view name);

} // namespace gf::detail
