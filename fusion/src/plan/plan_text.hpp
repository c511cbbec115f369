// The words for a plan's parts, shared by its text, its picture and the verifier. They take any plan, broken ones too.
#pragma once

#include <string>
#include <string_view>

#include <gridfold/fusion/plan.hpp>

namespace gf::plan {

/// The opcode's own name: "load".
std::string_view name_of(Opcode opcode);
/// What an instruction does, without its operands: "load x", "mul", "f32(2.5)", "finalize mean of fold 0".
std::string action_of(const Plan& plan, const Instruction& instruction);
/// The same with its number and operands: "%3 = mul %1, %2".
std::string instruction_text(const Plan& plan, int value, const Instruction& instruction);
/// "Moments<f32, f64>"
std::string monoid_of(const Fold& fold);
/// "[i, j]"
std::string domain_text(const Plan& plan, const std::vector<int>& dims);

} // namespace gf::plan
