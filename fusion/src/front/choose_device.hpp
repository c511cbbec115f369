// Which backend an Options::device means on this machine, and why.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <gridfold/fusion/backend.hpp>

#include "front/bindings.hpp"

namespace gf::detail {

struct ChosenBuild {
    std::shared_ptr<const Build> build;
    Target target;
    std::string why; ///< "by name", or what "auto" decided by
};

/// Builds the plan for the device named "auto", "cpu", "cuda" or "cuda:<ordinal>". Throws InvalidOption for another
/// name, DeviceError where the device that was named cannot be used, CompileError.
ChosenBuild build_for(std::string_view device, const std::shared_ptr<const Plan>& plan, const BuildOptions& options);

} // namespace gf::detail
