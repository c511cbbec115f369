// Minimises a failing case for people to read.
#pragma once

#include <functional>

#include "case.hpp"

namespace gf::oracle {

/// Removes outputs, nodes, masks and elements of `test` as long as `fails` is true for the rest. Requires fails(test);
/// calls it at most `most_calls` times.
Case minimise(Case test, const std::function<bool(const Case&)>& fails, int most_calls = 3000);

} // namespace gf::oracle
