// A random case's inputs bound to a plan, as the front end would bind them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/plan.hpp>

#include "case.hpp"
#include "subject.hpp"

namespace gf::emulator {

/// Owns the arrays; misaligned by whole elements that follow from the case's seed.
class BoundCase {
public:
    BoundCase(const Plan& plan, const oracle::Case& test, const oracle::Inputs& inputs);
    const Bound& bound() const { return bound_; }
    /// The outputs, after a run that yielded `scalars`.
    std::vector<oracle::Result> results(std::span<const ScalarResult> scalars) const;

private:
    const Plan& plan_;
    Bound bound_;
    std::vector<oracle::HostArray> arrays_; ///< by Plan::arrays
};

} // namespace gf::emulator
