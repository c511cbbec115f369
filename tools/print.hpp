// Results as people and programs read them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include <gridfold/fusion/executable.hpp>

namespace gf::tool {

/// The files that array results went to, by output.
using Files = std::map<std::string, std::string>;

/// "name = value", a line an output. Numbers are as short as they can be and still be read back the same; arrays show
/// their type, extents and first elements, or their file.
std::string print_lines(std::span<const Results::Entry> entries, const Files& files);

/// One JSON object, outputs in order: numbers, "nan", "inf" and "-inf" as strings, null for empty; an array is nested
/// lists of its elements, or {"file": path}.
std::string print_json(std::span<const Results::Entry> entries, const Files& files);

} // namespace gf::tool
