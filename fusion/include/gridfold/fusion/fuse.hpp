// Fusion: from a graph to a plan.
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
    /// Names of passes to skip. Results do not depend on them (a test checks that).
    std::vector<std::string> skip;
    /// Verifies after every pass. Debug builds always do.
    bool verify = false;
    /// Called after each pass with its name and the text of its result ("unchanged" if it changed nothing).
    std::function<void(std::string_view pass, std::string_view text)> dump;
    /// Called after each pass with its name and duration.
    std::function<void(std::string_view pass, std::chrono::nanoseconds took)> time;
};

/// Runs the pass pipeline. The plan's arrays are the graph's inputs in order of declaration (unused ones included),
/// then its array results, then temporaries; its parameters are the graph's scalars in order of declaration. Throws
/// InvalidGraph (no outputs, a value that reads more arrays than a sweep can), InvalidOption (an unknown pass in
/// `skip`), InternalError if a pass broke a rule of verify.
Plan fuse(const Graph& graph, const FuseOptions& options = {});

using plan::to_text;
using plan::write_dot;

} // namespace gf
