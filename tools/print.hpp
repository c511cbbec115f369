// Results as people and programs read them.
#pragma once

#include <span>
#include <string>

#include <gridfold/fusion/executable.hpp>

#include "outputs.hpp"

namespace gf::tool {

/// A scalar result, or "empty".
std::string scalar_text(const Results::Entry& entry);

/// "name = value", a line an output. Numbers are as short as they can be and still be read back the same; arrays show
/// their type, extents and first elements, or their file.
std::string print_lines(std::span<const Results::Entry> entries, const Files& files);
/// Of many problems: "[i] name = value"; what went to files comes last, once.
std::string print_lines(std::span<const Results> problems, const Files& files);

/// One JSON object, outputs in order: numbers, "nan", "inf" and "-inf" as strings, null for empty; an array is nested
/// lists of its elements, or {"file": path}.
std::string print_json(std::span<const Results::Entry> entries, const Files& files);
/// Of many problems: a list of such objects, a line each; of files, also where in them the problem is: {"file": path,
/// "index": i}.
std::string print_json(std::span<const Results> problems, const Files& files);

} // namespace gf::tool
