// Runs a plan's generated kernels in the emulator, in place of the CUDA backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <cuda/emit_cuda.hpp>
#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/plan.hpp>

#include "host_module.hpp"

namespace gf::emulator {

using namespace plan;

/// The kernels of a plan, one a sweep, with windows but for boxes. `rows`: if given, those for such rows and slabs,
/// without windows where they are aligned. Sweeps of several phases need `rows`, which the thread blocks that may share
/// a row must be able to hold. `take_turns`: thread blocks of held rows can have rows after their first.
std::vector<cuda::Kernel> kernels_of(const Plan& plan, std::optional<cuda::RowFacts> rows = {},
                                     const cuda::RowSharing& sharing = {}, bool take_turns = false);

/// Keeps workspaces from run to run, like a Prepared.
class EmulatedPlan {
public:
    /// `first_entry`: the number of the plan's first kernel in `module`. Plan and module must outlive this.
    EmulatedPlan(const Plan& plan, std::vector<cuda::Kernel> kernels, const HostModule& module,
                 std::size_t first_entry);

    /// Runs the sweeps in order. Checks that the words for a waiting host agree with the scalars in device memory.
    /// `bound`: host memory, temporaries null. Kernels of rows that take turns have at most `most_clusters`
    /// clusters or cooperating groups, or blocks without. Throws std::runtime_error for the emulator's findings.
    std::vector<ScalarResult> run(const Bound& bound, Order order, std::uint64_t seed,
                                  std::int64_t most_clusters = 1 << 20);

    /// Sets the number of launches so far, which determines the next tag.
    void set_launches(std::uint32_t launches);

private:
    void fit_workspace(std::size_t sweep, const FoldOrder& order, std::int64_t blocks);

    const Plan& plan_;
    std::vector<cuda::Kernel> kernels_;
    const HostModule& module_;
    std::size_t first_entry_;
    std::vector<std::vector<std::uint64_t>> workspaces_;
    std::vector<FoldOrder> orders_;    // of the last run
    std::vector<std::int64_t> blocks_; // …
    std::uint64_t launches_ = 0;
};

} // namespace gf::emulator
