// Checks of the legal forms of a Graph and of a Plan. The pipeline verifies the result of each pass in debug builds and
// with FuseOptions::verify; a pass that breaks a rule is gridfold's own mistake.
#pragma once

#include <cstdint>

#include <gridfold/fusion/plan.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::plan {

/// Throws InternalError with the broken rule and the text of the graph up to the node that breaks it.
void verify(const Graph& graph);
/// one: the plans that passes make. several: those of join_phases() and share_in_chains().
enum class Phases : std::uint8_t { one, several };
/// Throws InternalError with the broken rule, the graph's text and the plan's.
void verify(const Plan& plan, Phases phases = Phases::one);

} // namespace gf::plan
