// Emits the text of a sweep's kernel, and the facts that a launch needs.
//
// The text includes no header: it is the device text, the maps and monoids that the sweep uses, and the sweep. It does
// not depend on runs, sizes or architectures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gridfold/fusion/order.hpp>
#include <gridfold/fusion/plan.hpp>

#include "cuda/parameters.hpp"
#include "cuda/schedule.hpp"

namespace gf::cuda {

/// A generated kernel. Its entry point is `gridfold_sweep`; a launch takes `threads` threads in one dimension, no
/// dynamic shared memory, and grid() blocks.
///
/// Launch number t on one workspace (1 … 2^32 − 1, then 1 again) writes three 64-bit words to `host` for each scalar
/// that it yields, each (t << 32 | word): the value's low and high 32 bits, and 0 or 1 for empty.
struct Kernel {
    std::string source;
    std::vector<KernelParameter> parameters;
    Schedule schedule;
    int words = 0;        ///< 32-bit words of one state of every fold
    int loaded_bytes = 0; ///< bytes of one element of all loaded arrays
    int phases = 1;
    bool finishes = false; ///< folds or yields: needs a workspace; scalars and host in the flat course
};

/// `plan`: with strides or not, since the schedule says which arrays have some.
Kernel emit_cuda(const Plan& plan, SweepId sweep, const Schedule& schedule);
/// With the schedule of one problem, or of few blocks, for aligned arrays.
Kernel emit_cuda(const Plan& plan, SweepId sweep, Problems problems = Problems::one);

/// The part of a kernel's text that differs between sweeps, with the user's names and the plan's instructions as
/// trailing comments, for people to read.
std::string sweep_text(const Plan& plan, SweepId sweep);

/// NVRTC's options for emitted text, without the architecture. Without fast_math nothing is contracted, flushed or
/// approximated, so that the CPU backend gives the same bits.
std::vector<std::string> compiler_options(bool fast_math);

/// The most thread blocks of a row in a kernel that cooperates, as its slots count them: a power of 2.
int most_of_row(const Schedule& schedule);
/// Throws InvalidBinding if the domain has more elements than a launch can visit; the message begins with `whose`.
void check_elements(const Kernel& kernel, std::int64_t elements, std::string_view whose = {});
/// The groups of thread blocks that exchange states. A group folds a part; in the course of columns, a strip.
struct Exchanging {
    std::int64_t parts = 0;   ///< groups
    std::int64_t blocks = 1;  ///< thread blocks of a group
    std::int64_t results = 0; ///< of a group
};
Exchanging exchanging(const Kernel& kernel, const FoldOrder& order);
/// Blocks of a launch over this many elements; at least 1 (a sweep over no elements still finishes).
std::int64_t grid(const Kernel& kernel, std::int64_t elements);
/// The same for folds in this order, which may keep dims.
std::int64_t grid(const Kernel& kernel, const FoldOrder& order);
/// The parts that a thread block folds at a time.
std::int64_t parts_of_tile(const Kernel& kernel, const FoldOrder& order);
/// Device memory that a kernel keeps between launches.
std::size_t workspace_bytes(const Kernel& kernel);
/// `blocks`: of the launch, where they cooperate.
std::size_t workspace_bytes(const Kernel& kernel, const FoldOrder& order, std::int64_t blocks = 0);

} // namespace gf::cuda
