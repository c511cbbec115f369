// What the contenders must answer, computed in f64 and with no regard to speed.
#pragma once

#include "workloads.hpp"

namespace bench::cpu {

struct Reference {
    Numbers numbers; ///< the right answer
    Numbers
        scale; ///< what an error is measured by: the sum of what is added, as absolute values; 0 where none is allowed
    double words; ///< the sum of the column's 64-bit words, which wraps
    double mean, stddev;

    /// True if task.z is the z-score, within `tolerance` standard deviations.
    bool agrees(const Task& task, double tolerance) const;
};

Reference refer(const Task& task);

} // namespace bench::cpu
