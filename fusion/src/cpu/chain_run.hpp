// The sweeps of a chain (plan/join_phases.hpp) over some rows at a time: what one sweep has read and written of them
// stays in a cache for the next, where rows are short enough. Each sweep folds and computes as it does alone, so no bit
// depends on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/plan.hpp>

#include "cpu/kept_run.hpp"
#include "cpu/sweep_run.hpp"

namespace gf::cpu {

using AnyRun = std::variant<SweepRun, KeptRun>;

class ChainRun {
public:
    /// `runs`: those of the chain's sweeps, which must outlive it, as the plan must. `work`: of an element, of all
    /// sweeps, in units of SweepProgram::work.
    ChainRun(const Plan& plan, const std::vector<SweepId>& chain, std::vector<AnyRun*> runs, std::int64_t work,
             int threads);

    /// Sets the extents of the next runs, of the sweeps' own, too. Allocates only memory beyond that of earlier calls.
    /// If it throws, it can be called again.
    void fit(std::span<const std::int64_t> extents);
    /// True if the sweeps can run over some rows at a time: for the last fit(), the strides that they have taken, and
    /// these arrays, by Plan::arrays.
    bool can_run(std::span<char* const> arrays) const;
    /// Runs the sweeps. Only if can_run(). Allocates nothing.
    void run(std::span<char* const> arrays, std::span<const std::uint64_t> parameters, std::span<ScalarResult> scalars);

private:
    const Sweep& sweep_; ///< the first, which folds the rows
    std::vector<AnyRun*> runs_;
    std::vector<ArrayId> gathered_, stored_; ///< inputs that a sweep reads from any row; what the sweeps store
    std::int64_t element_bytes_ = 0;         ///< of all arrays that have the elements of rows, each once
    std::int64_t work_;
    int threads_;
    std::int64_t rows_ = 0, rows_at_once_ = 1;
    std::size_t workers_ = 0;           ///< 0: each sweep by itself
    std::vector<std::int64_t> extents_; ///< of the last fit(); empty before the first, and after a failed one
};

} // namespace gf::cpu
