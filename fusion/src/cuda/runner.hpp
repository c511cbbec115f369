// Runs a loaded plan, for one problem or for many.
#pragma once

#include <memory>

#include <gridfold/fusion/backend.hpp>

#include "cuda/loaded_plan.hpp"

namespace gf::cuda {

/// Binds one problem where the plan is loaded for one (Problems::one), any number where it is loaded for many. The
/// device must be current.
std::unique_ptr<Runner> make_runner(std::shared_ptr<const LoadedPlan> loaded);

} // namespace gf::cuda
