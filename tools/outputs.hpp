// The output files of results.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gridfold/fusion/executable.hpp>
#include <gridfold/ops/graph.hpp>

#include "problems.hpp"

namespace gf::tool {

/// The path that means stdout.
inline constexpr std::string_view stdout_path = "-";

/// Paths by output.
using Files = std::map<std::string, std::string>;

/// Parses "name=path.npy" or "name=-" and checks it against the graph and the file system. If an array goes to stdout,
/// all other outputs must have files. `many`: scalars may have files, too, with one value for each problem.
Files read_files(const Graph& graph, const std::vector<std::string>& words, bool many);

/// Writes all files, or none. `many`: each file holds the results of all problems, with an additional first dim.
void write_files(const Files& files, std::span<const Entries> problems, bool many);

/// Writes the array that goes to stdout; false if none does.
bool write_to_stdout(const Files& files, std::span<const Entries> problems, bool many);

} // namespace gf::tool
