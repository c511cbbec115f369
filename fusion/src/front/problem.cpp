#include "front/problem.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace gf::detail {
namespace {

Extents extents_of(const Slot& slot, const Bound& bound) {
    std::array<std::int64_t, max_rank> extents{};
    for (std::size_t i = 0; i < slot.dims.size(); ++i)
        extents[i] = bound.extents[static_cast<std::size_t>(slot.dims[i])];
    return Extents(std::span(extents.data(), slot.dims.size()));
}

} // namespace

std::vector<int> find_output_slots(const Signature& signature) {
    std::vector<int> slots;
    for (const Output& output : signature.plan->outputs)
        slots.push_back(output.array < 0 ? -1 : static_cast<int>(find_slot(signature, output.name, Side::outputs)));
    return slots;
}

Problem::Problem(std::shared_ptr<const Compiled> compiled)
    : compiled_(std::move(compiled)), given_(compiled_->signature.slots.size()), state_(make_state(compiled_->plan())) {
}

bool Problem::state_is_shared() const {
    if (state_.use_count() > 1) return true;
    std::atomic_thread_fence(std::memory_order_acquire); // what the last sharer read happened before we write
    return false;
}

/// Gives each array output that the caller did not bind memory of its own, the standing one where that serves.
Memory Problem::place_outputs(Bound& next) {
    const Plan& plan = compiled_->plan();
    const Memory memory = input_memory(compiled_->signature, next_given_);
    next_memory_ = state_->memory;
    next.owners.clear();
    for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
        const int slot = compiled_->output_slots[i];
        if (slot < 0) continue;
        if (next_given_[static_cast<std::size_t>(slot)].bound) {
            next_memory_[i] = nullptr;
            continue;
        }
        const Array& array = plan.arrays[static_cast<std::size_t>(plan.outputs[i].array)];
        const auto bytes = static_cast<std::size_t>(*element_count(array.dims, next.extents)) * size_of(array.type);
        // A result that was bound as an input since then stands where it is: the next one goes elsewhere.
        const auto is_bound_now = [&](const Given& other) {
            return other.bound && other.array.address != nullptr && next_memory_[i]->holds(other.array.address);
        };
        if (!next_memory_[i] || !next_memory_[i]->serves(memory, bytes) ||
            std::any_of(next_given_.begin(), next_given_.end(), is_bound_now))
            next_memory_[i] =
                std::make_shared<ResultMemory>(memory, compiled_->chosen.target.ordinal, bytes, compiled_->memory);
        next.arrays[static_cast<std::size_t>(plan.outputs[i].array)] = {next_memory_[i]->address(), memory};
        next.owners.push_back(next_memory_[i]);
    }
    return memory;
}

void Problem::stage(Bound& next) {
    resolve(compiled_->signature, next_given_, next);
    next_memory_kind_ = place_outputs(next);
    next_state_ = state_is_shared() ? std::make_shared<Results::State>(*state_) : state_;
}

void Problem::accept(const Bound& bound) {
    const Plan& plan = compiled_->plan();
    std::swap(given_, next_given_);
    state_ = std::move(next_state_);
    std::swap(state_->memory, next_memory_);
    next_memory_.assign(next_memory_.size(), nullptr);
    for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
        const int slot = compiled_->output_slots[i];
        if (slot < 0) continue;
        const Given& own = given_[static_cast<std::size_t>(slot)];
        Results::Entry& entry = state_->entries[i];
        if (own.bound)
            entry.array = own.array;
        else
            entry.array = {state_->memory[i]->address(), entry.type,
                           extents_of(compiled_->signature.slots[static_cast<std::size_t>(slot)], bound),
                           next_memory_kind_, true};
    }
}

void Problem::publish(std::span<const ScalarResult> scalars, bool verify) {
    if (state_is_shared()) state_ = std::make_shared<Results::State>(*state_);
    for (std::size_t i = 0; i < state_->entries.size(); ++i) {
        const int number = compiled_->plan().outputs[i].scalar;
        if (number < 0) continue;
        const ScalarResult& scalar = scalars[static_cast<std::size_t>(number)];
        Results::Entry& entry = state_->entries[i];
        entry.bits = scalar.bits;
        entry.empty = scalar.empty && !is_floating(entry.type);
    }
    if (verify && compiled_->reference) compiled_->reference->check(given_, state_->entries);
}

} // namespace gf::detail
