// The text of a plan's parts, for to_text(), write_dot() and the verifier. Any plan is accepted, illegal ones too.
#pragma once

#include <string>
#include <string_view>

#include <gridfold/fusion/plan.hpp>

#include "plan/format_id.hpp"

namespace gf::plan {

/// The name of the opcode: "load".
std::string_view name_of(Opcode opcode);
/// An instruction without its operands: "load x", "mul", "f32(2.5)", "finalize mean of fold 0".
std::string action_of(const Plan& plan, const Instruction& instruction);
/// An instruction with its number and operands: "%3 = mul %1, %2".
std::string instruction_text(const Plan& plan, ValueId value, const Instruction& instruction);
/// "Moments<f32, f64>"
std::string monoid_of(const Fold& fold);
/// "%1", or "%1, %2" of a monoid of two operands.
std::string operands_of(const Fold& fold);
/// "[i, j]"
std::string domain_text(const Plan& plan, const std::vector<DimId>& dims);

} // namespace gf::plan
