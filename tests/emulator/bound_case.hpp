// A random case's inputs bound to a plan in the same way as by the front end.
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

/// Draws the placement of a case's next array.
Snug draw_snug(oracle::Random& random);

/// Owns the arrays. The case's seed determines which end is guarded (guarded_memory.hpp), the misalignment in elements,
/// and the strides of those arrays of the plan that have some (with_strides()).
class BoundCase {
public:
    BoundCase(const Plan& plan, const oracle::Case& test, const oracle::Inputs& inputs);
    const Bound& bound() const { return bound_; }
    /// The outputs, after a run that yielded `scalars`. Throws std::runtime_error if memory around an array was
    /// written.
    std::vector<oracle::Result> results(std::span<const ScalarResult> scalars) const;

private:
    const Plan& plan_;
    Bound bound_;
    std::vector<GuardedMemory> arrays_; // by Plan::arrays
};

} // namespace gf::emulator
