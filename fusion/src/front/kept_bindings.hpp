// The bindings of many problems between calls, flat: some words a slot, whatever the rank of an array.
#pragma once

#include <cstdint>
#include <span>

#include <gridfold/fusion/backend.hpp>

#include "front/bindings.hpp"

namespace gf::detail {

/// What a Given holds beside what its slot and the problem's extents say.
struct KeptSlot {
    std::uint64_t word = 0; ///< input, output: the address; scalar: the value's bytes
    Memory memory = Memory::host;
    bool bound = false;
};

/// The extents of a slot's array; `extents`: by Plan::dims.
Extents extents_of(const Slot& slot, std::span<const std::int64_t> extents);

/// Keeps `given` as resolve() accepted it; both by Signature::slots.
void keep(const Signature& signature, const GivenSlots& given, std::span<KeptSlot> kept);

/// Undoes keep(). `extents`: by Plan::dims, as resolve() wrote them.
void restore(const Signature& signature, std::span<const KeptSlot> kept, std::span<const std::int64_t> extents,
             GivenSlots& given);

} // namespace gf::detail
