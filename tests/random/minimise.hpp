// Makes a failing case small: what a person is shown.
#pragma once

#include <functional>

#include "case.hpp"

namespace gf::oracle {

/// Drops outputs, nodes, masks and elements of `test` for as long as `fails` holds of what is left. `fails` is true of
/// `test` itself; it is called at most `most_calls` times.
Case minimise(Case test, const std::function<bool(const Case&)>& fails, int most_calls = 3000);

} // namespace gf::oracle
