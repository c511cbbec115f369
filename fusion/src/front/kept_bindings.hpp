// The compact form of bindings of many problems between calls: a few words for each slot, for arrays of any rank.
#pragma once

#include <cstdint>
#include <span>

#include <gridfold/fusion/backend.hpp>

#include "front/bindings.hpp"

namespace gf::detail {

/// The part of a Given besides strides that does not follow from its slot and the problem's extents.
struct KeptSlot {
    std::uint64_t word = 0; ///< input, output: the address; scalar: the value's bytes
    Memory memory = Memory::host;
    bool bound = false;
};

/// Stores `given`, which resolve() has accepted, in `kept` and `strides`; all by Signature::slots. `strides` may be
/// empty if has_strides() is false.
void keep(const Signature& signature, const GivenSlots& given, std::span<KeptSlot> kept, std::span<Strides> strides);

/// Restores `given` from `kept` and `strides`. `extents`: by Plan::dims, from resolve().
void restore(const Signature& signature, std::span<const KeptSlot> kept, std::span<const Strides> strides,
             std::span<const std::int64_t> extents, GivenSlots& given);

} // namespace gf::detail
