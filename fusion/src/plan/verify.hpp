// The legal forms of a Graph and of a Plan. What a pass makes is verified after it in debug builds, in tests, and
// wherever FuseOptions::verify asks; a pass that broke a rule is gridfold's own mistake.
#pragma once

#include <gridfold/fusion/plan.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::plan {

/// Throws InternalError with the broken rule and the text of the graph up to the node that breaks it.
void verify(const Graph& graph);
/// Throws InternalError with the broken rule, the graph's text and the plan's.
void verify(const Plan& plan);

} // namespace gf::plan
