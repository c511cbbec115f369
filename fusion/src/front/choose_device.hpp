// Chooses the backend for Options::device on this machine, with the reason.
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
    std::string why; ///< "by name", or the reason for the choice of "auto"
};

/// Builds the plan for the device named "auto", "cpu", "cuda" or "cuda:<ordinal>". Throws InvalidOption for another
/// name, DeviceError if the named device cannot be used, CompileError.
ChosenBuild build_for(std::string_view device, const std::shared_ptr<const Plan>& plan, const BuildOptions& options);

} // namespace gf::detail
