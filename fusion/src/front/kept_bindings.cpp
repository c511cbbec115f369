#include "front/kept_bindings.hpp"

#include <array>

namespace gf::detail {

Extents extents_of(const std::vector<DimId>& dims, std::span<const std::int64_t> extents) {
    std::array<std::int64_t, max_rank> own{};
    for (std::size_t i = 0; i < dims.size(); ++i) own[i] = extents[dims[i].index()];
    return Extents(std::span(own).first(dims.size()));
}

void keep(const Signature& signature, const GivenSlots& given, std::span<KeptSlot> kept) {
    for (std::size_t i = 0; i < given.size(); ++i) {
        kept[i] = {.bound = given[i].bound};
        switch (signature.slots[i].kind) {
        case SlotKind::input:
        case SlotKind::output:
            kept[i].word = reinterpret_cast<std::uintptr_t>(given[i].array.address);
            kept[i].memory = given[i].array.memory;
            break;
        case SlotKind::scalar: kept[i].word = given[i].bits; break;
        case SlotKind::dim: break;
        }
    }
}

void restore(const Signature& signature, std::span<const KeptSlot> kept, std::span<const std::int64_t> extents,
             GivenSlots& given) {
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const Slot& slot = signature.slots[i];
        given[i].bound = kept[i].bound;
        if (!kept[i].bound) continue;
        switch (slot.kind) {
        case SlotKind::input:
        case SlotKind::output:
            given[i].array = {reinterpret_cast<void*>(static_cast<std::uintptr_t>(kept[i].word)), slot.type,
                              extents_of(slot.dims, extents), kept[i].memory, slot.kind == SlotKind::output};
            break;
        case SlotKind::scalar: given[i].bits = kept[i].word; break;
        case SlotKind::dim: given[i].extent = extents[slot.dim.index()]; break;
        }
    }
}

} // namespace gf::detail
