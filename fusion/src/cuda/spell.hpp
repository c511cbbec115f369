// Types, constants, maps and finalisers in device text.
#pragma once

#include <cstdint>
#include <string>

#include <gridfold/fusion/plan.hpp>

namespace gf::cuda {

using namespace plan;

/// The type of a value in a register: "f32", "i64", "bool".
std::string spell(DType type);
/// The type of an element in memory: "u8" for bool, "u16" for f16 and bf16, else spell().
std::string spell_stored(DType type);
/// The value of `stored`, an element in memory.
std::string spell_widened(DType type, const std::string& stored);
/// The value of element `n` of a pack of elements in memory.
std::string spell_of_pack(DType type, const std::string& pack, const std::string& n);
/// The memory form of `value`, an element of `type`.
std::string spell_narrowed(DType type, const std::string& value);
/// The type of a pack of elements to be stored, and what its elements are assigned for `value`.
std::string spell_stored_pack(DType type);
std::string spell_to_pack(DType type, const std::string& value);
/// A constant of a value type, from its bytes.
std::string spell_constant(DType type, std::uint64_t bits);
/// "Sum<f32, f32>"
std::string spell_monoid(const Fold& fold);
/// The function template map_NAME of one row.
std::string spell_map(const MapOp& row);
/// The function template finalize_NAME of one row.
std::string spell_finalize(const ReduceOp& row);

} // namespace gf::cuda
