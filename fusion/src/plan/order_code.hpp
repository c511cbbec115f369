// Putting the code of a sweep in its legal order (plan.hpp) after values were added, replaced or left out.
#pragma once

#include <vector>

#include <gridfold/fusion/plan.hpp>

namespace gf::plan {

/// The values that stores, folds and yields depend on, increasing.
std::vector<ValueId> used_values(const Sweep& sweep);

/// Keeps these values of the code, operands before their users, and sorts them by phase, within a phase values without
/// dims first, otherwise as they are listed. Renames them where they are read.
void keep_values(Sweep& sweep, std::vector<ValueId> values);

} // namespace gf::plan
