// The right answers of the contenders, computed in f64 without regard to speed.
#pragma once

#include "workloads.hpp"

namespace bench::cpu {

struct Reference {
    Numbers numbers;     ///< the right answer
    Numbers scale;       ///< the unit of errors: the sum of the absolute values of the terms; 0 if no error is allowed
    double words;        ///< the wrapping sum of the column's 64-bit words
    double mean, stddev; ///< of what z-scores are of

    /// True if task.z is the z-score, within `tolerance` standard deviations.
    bool agrees(const Task& task, double tolerance) const;
};

Reference refer(const Task& task);

} // namespace bench::cpu
