// The plan in words, for Executable::explain().
#pragma once

#include <span>
#include <string>

#include <gridfold/fusion/backend.hpp>

namespace gf::detail {

using namespace plan;

/// One paragraph on the device and one on each sweep: its domain and stage, what it reads and writes, with the bytes
/// as a sum over the dims, its folds and results, why it is a sweep of its own, its grid and its kernel.
std::string explain(const Plan& plan, std::string_view device, std::string_view why, std::span<const SweepFacts> facts);

} // namespace gf::detail
