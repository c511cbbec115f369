// Measures one case: checks every contender's answer, then times all in turns over the same column.
#pragma once

#include <string>
#include <vector>

#include "workloads.hpp"

namespace bench::cpu {

/// The times of one call of a contender, by round.
struct Timings {
    std::string contender;
    std::vector<double> seconds;
};

struct Case {
    Workload workload;
    Type type;
    std::size_t bytes; ///< of the column
    int rounds;

    std::size_t elements() const { return bytes / size_of(type); }
    /// The least bytes that a call reads and writes: for an array the column is read twice, and as much is written.
    std::size_t traffic() const { return has_array(workload) ? 3 * bytes : bytes; }
    /// "sum/f32/bytes:4096/cpu"
    std::string name() const;
};

/// The contenders of a workload in the order of their turns.
std::vector<std::string> contender_names(Workload workload);

/// The timings in the order of contender_names. Throws std::runtime_error, naming the contender, for a wrong answer.
std::vector<Timings> measure(const Case& what);

} // namespace bench::cpu
