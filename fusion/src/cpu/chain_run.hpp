// The sweeps of a chain (plan/join_phases.hpp) over some rows at a time: what one sweep has read and written of them
// stays in a cache for the next, where rows are short enough. Each sweep folds and computes as it does alone, so no bit
// depends on it.
//
// Arrays that only pass values from sweep to sweep (plan/share_in_chains.hpp) hold the rows at hand. Each thread has
// its own memory for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/plan.hpp>

#include "cpu/kept_run.hpp"
#include "cpu/memory.hpp"
#include "cpu/next_rows.hpp"
#include "cpu/sweep_run.hpp"

namespace gf::cpu {

using AnyRun = std::variant<SweepRun, KeptRun>;

class ChainRun {
public:
    /// `runs`: those of the chain's sweeps, which must outlive it, as the plan must. `first_passed`: arrays from this
    /// one on only pass values from sweep to sweep. `work`: of an element, of all sweeps, in units of
    /// SweepProgram::work.
    ChainRun(const Plan& plan, const std::vector<SweepId>& chain, std::vector<AnyRun*> runs, ArrayId first_passed,
             std::int64_t work, int threads);

    /// Sets the extents of the next runs, of the sweeps' own, too. Allocates only memory beyond that of earlier calls.
    /// If it throws, it can be called again.
    void fit(std::span<const std::int64_t> extents);
    /// Sets the strides of the next runs' arrays, by Plan::arrays, after fit(). Allocates nothing.
    void take_strides(std::span<const Strides> bound);
    /// True if the sweeps can run over some rows at a time: for the last fit(), the strides that they have taken, and
    /// these arrays, by Plan::arrays; those that pass values are not read.
    bool can_run(std::span<char* const> arrays) const;
    /// Runs the sweeps. Only if can_run(). Allocates nothing.
    void run(std::span<char* const> arrays, std::span<const std::uint64_t> parameters, std::span<ScalarResult> scalars);

private:
    /// An input that has the elements of rows, in order.
    struct Input {
        ArrayId array;
        std::size_t bytes; ///< of an element
    };
    /// An array that passes values of elements, or of rows.
    struct Passed {
        ArrayId array;
        std::int64_t bytes; ///< of a value
        bool of_rows;
        std::int64_t row_bytes = 0; ///< for the last fit()
    };
    /// The memory of one thread.
    struct Worker {
        std::vector<GrowingBytes> passed; ///< by passed_: that of the rows at hand
        std::vector<char*> arrays;        ///< by Plan::arrays, as if each began with row 0
        NextRows next;
    };
    void prefetch_next(Worker& worker, std::int64_t row, std::int64_t next, std::int64_t end) const;
    void fit_workers(std::size_t workers);

    const Sweep& sweep_;      ///< the first, which folds the rows
    std::size_t array_count_; ///< of the plan
    std::vector<AnyRun*> runs_;
    std::vector<ArrayId> gathered_, stored_; ///< inputs that a sweep reads from any row; what the sweeps store
    std::vector<Input> inputs_;
    std::vector<Passed> passed_;
    std::int64_t element_bytes_ = 0; ///< of all arrays that have the elements of rows, each once
    std::int64_t work_;
    int threads_;
    std::int64_t row_length_ = 0, rows_ = 0, rows_at_once_ = 1;
    std::size_t steps_ = 0;        ///< of an element, in all sweeps but the first (NextRows::begin())
    bool prefetches_next_ = false; ///< the rows that follow, while the sweeps but the first compute these
    std::vector<Worker> workers_;
    std::size_t workers_in_use_ = 0;    ///< 0: each sweep by itself
    std::vector<std::int64_t> extents_; ///< of the last fit(); empty before the first, and after a failed one
};

} // namespace gf::cpu
