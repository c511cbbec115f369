// From a graph to a plan.
#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include <gridfold/fusion/plan.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::plan {

/// The plan as text, sweep by sweep, one instruction a line.
std::string to_text(const Plan& plan);
/// The plan as Graphviz, sweeps as clusters.
void write_dot(std::ostream& out, const Plan& plan);

} // namespace gf::plan

namespace gf {

struct FuseOptions {
    bool fuse = true;       ///< false: one sweep a node
    bool fast_math = false; ///< rewrites may change floating-point results
    /// Passes to leave out, by name (tests: any pass switched off gives the same results).
    std::vector<std::string> skip;
    /// Verify after every pass. Debug builds and tests always do.
    bool verify = false;
    /// Called after each pass with its name and the text of what it made ("unchanged" where it changed nothing).
    std::function<void(std::string_view pass, std::string_view text)> dump;
    /// Called after each pass with its name and how long it took.
    std::function<void(std::string_view pass, std::chrono::nanoseconds took)> time;
};

/// Runs the pass pipeline. The plan's arrays are the graph's inputs as declared, used or not, then its array results,
/// then temporaries; its parameters are the graph's scalars as declared. Throws InvalidGraph (no outputs, an unknown
/// pass in `skip`, a value that reads more arrays than a sweep takes); InternalError where a pass broke a rule of
/// verify.
Plan fuse(const Graph& graph, const FuseOptions& options = {});

using plan::to_text;
using plan::write_dot;

} // namespace gf
