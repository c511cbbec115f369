// The files that results go to.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <gridfold/fusion/executable.hpp>

namespace gf::tool {

/// By output.
using Files = std::map<std::string, std::string>;

/// "name=path.npy", checked against the plan and the file system. `many`: scalars, too, go to files, of one value a
/// problem.
Files read_files(const plan::Plan& plan, const std::vector<std::string>& words, bool many);

/// Writes all of them, or none. `many`: each file holds the results of all problems, with their dim in front.
void write_files(const Files& files, std::span<const Results> results, bool many);

} // namespace gf::tool
