// Makes a failing case small: what a person is shown.
#pragma once

#include <functional>

#include "case.hpp"

namespace gf::oracle {

/// Drops outputs, nodes, masks and elements of `test` for as long as `fails` holds of what is left. `fails` is true of
/// `test` itself; it is called some hundred times.
Case minimise(Case test, const std::function<bool(const Case&)>& fails);

} // namespace gf::oracle
