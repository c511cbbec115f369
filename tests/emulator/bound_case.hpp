// A random case's inputs bound to a plan, as the front end would bind them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/plan.hpp>

#include "case.hpp"
#include "guarded_memory.hpp"
#include "subject.hpp"

namespace gf::emulator {

using namespace plan;

/// Where a case's next array lies.
Snug draw_snug(oracle::Random& random);

/// Owns the arrays, guarded at one end (guarded_memory.hpp) and misaligned by whole elements, as follows from the
/// case's seed.
class BoundCase {
public:
    BoundCase(const Plan& plan, const oracle::Case& test, const oracle::Inputs& inputs);
    const Bound& bound() const { return bound_; }
    /// The outputs, after a run that yielded `scalars`. Throws std::runtime_error if something beside an array was
    /// written.
    std::vector<oracle::Result> results(std::span<const ScalarResult> scalars) const;

private:
    const Plan& plan_;
    Bound bound_;
    std::vector<GuardedMemory> arrays_; // by Plan::arrays
};

} // namespace gf::emulator
