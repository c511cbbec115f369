// The plan in words, for Executable::explain().
#pragma once

#include <span>
#include <string>

#include <gridfold/fusion/backend.hpp>

namespace gf::detail {

using namespace plan;

/// One paragraph on the device and one on each sweep: its domain and stage, the arrays it reads and writes with their
/// bytes as a sum of products of extents, its folds and results, the reason for the sweep, its grid and its kernel.
std::string explain(const Plan& plan, std::string_view device, std::string_view why, std::span<const SweepFacts> facts);

} // namespace gf::detail
