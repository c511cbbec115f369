// Results as text: lines for people, JSON for programs.
#pragma once

#include <span>
#include <string>

#include <gridfold/fusion/executable.hpp>

#include "outputs.hpp"

namespace gf::tool {

/// A scalar result, or "empty".
std::string scalar_text(const Results::Entry& entry);

/// "name = value", one line an output. Numbers have the shortest text that reads back the same; arrays show their type,
/// extents and first elements, "empty" for empty ones, or their file.
std::string print_lines(const Entries& entries, const Files& files);
/// For many problems: "[i] name = value"; outputs in files come last, once.
std::string print_lines(std::span<const Entries> problems, const Files& files);

/// One JSON object with the outputs in order: numbers, "nan", "inf" and "-inf" as strings, null for empty, also
/// for empty elements; an array is nested lists of its elements, or {"file": path}.
std::string print_json(const Entries& entries, const Files& files);
/// For many problems: a list of such objects, one line each; files with the problem's index in them: {"file": path,
/// "index": i}.
std::string print_json(std::span<const Entries> problems, const Files& files);

} // namespace gf::tool
