#include "front/kept_bindings.hpp"

namespace gf::detail {

void keep(const Signature& signature, const GivenSlots& given, std::span<KeptSlot> kept, std::span<Strides> strides) {
    for (std::size_t i = 0; i < given.size(); ++i) {
        kept[i] = {.bound = given[i].bound};
        switch (signature.slots[i].kind) {
        case SlotKind::input:
        case SlotKind::output:
            kept[i].word = reinterpret_cast<std::uintptr_t>(given[i].array.address);
            kept[i].memory = given[i].array.memory;
            if (!strides.empty()) strides[i] = given[i].array.strides;
            break;
        case SlotKind::scalar: kept[i].word = given[i].bits; break;
        case SlotKind::dim: break;
        }
    }
}

void restore(const Signature& signature, std::span<const KeptSlot> kept, std::span<const Strides> strides,
             std::span<const std::int64_t> extents, GivenSlots& given) {
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const Slot& slot = signature.slots[i];
        given[i].bound = kept[i].bound;
        if (!kept[i].bound) continue;
        switch (slot.kind) {
        case SlotKind::input:
        case SlotKind::output:
            given[i].array = {reinterpret_cast<void*>(static_cast<std::uintptr_t>(kept[i].word)),
                              slot.type,
                              extents_of(slot.dims, extents),
                              kept[i].memory,
                              slot.kind == SlotKind::output,
                              strides.empty() ? Strides() : strides[i]};
            break;
        case SlotKind::scalar: given[i].bits = kept[i].word; break;
        case SlotKind::dim: given[i].extent = extents[slot.dim.index()]; break;
        }
    }
}

} // namespace gf::detail
