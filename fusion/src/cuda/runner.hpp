// Runs a plan on one device, for one problem or for many.
#pragma once

#include <memory>

#include <gridfold/fusion/backend.hpp>

#include "cuda/loaded_plan.hpp"

namespace gf::cuda {

/// Binds one problem, or any number with Problems::many. The device must be current.
std::unique_ptr<Runner> make_runner(std::shared_ptr<const PlanLoader> loader, Problems problems);

} // namespace gf::cuda
