// One problem of an executable: what is bound, checked and given memory; and the results that its runs fill.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/executable.hpp>

#include "front/bindings.hpp"
#include "front/choose_device.hpp"
#include "front/reference.hpp"
#include "front/results.hpp"
#include "front/signature.hpp"

namespace gf::detail {

/// What all problems of one Executable share. Immutable.
struct Compiled {
    Signature signature;
    ChosenBuild chosen;
    std::vector<int> output_slots;              ///< by Plan::outputs: the slot of an array output, −1 for a scalar
    std::unique_ptr<const Reference> reference; ///< Options::verify
    MemoryResources memory;                     ///< Options::memory

    const Plan& plan() const { return *signature.plan; }
};

std::vector<int> find_output_slots(const Signature& signature);

/// New bindings are given, staged (checked, outputs placed) as a Bound, taken by a runner, and accepted: what fails
/// before that leaves the old ones in force.
class Problem {
public:
    explicit Problem(std::shared_ptr<const Compiled> compiled);

    /// A new set of bindings: these and no others.
    void give_only(std::span<const Binding> inputs, std::span<const Binding> outputs, const Reach& reach) {
        next_given_.assign(given_.size(), {});
        give(inputs, Side::inputs, reach);
        give(outputs, Side::outputs, reach);
    }
    /// A new set of bindings: those that stand, and what is given next.
    void start_from_current() { next_given_ = given_; }
    void give(std::span<const Binding> bindings, Side side, const Reach& reach) {
        detail::give(compiled_->signature, bindings, side, reach, next_given_);
    }
    void give(std::string_view name, const View& array, const Reach& reach) {
        detail::give(compiled_->signature, find_slot(compiled_->signature, name, Side::both), array, reach,
                     next_given_);
    }
    void give(std::string_view name, Literal scalar) {
        detail::give(compiled_->signature, find_slot(compiled_->signature, name, Side::both), scalar, next_given_);
    }
    /// Writes what a runner is to bind. Throws InvalidBinding for what may not be run, OutOfMemory or
    /// DeviceError without memory.
    void stage(Bound& next);
    /// What was staged is in force; `bound`: as stage() wrote it.
    void accept(const Bound& bound);

    /// Fills the results from a run's scalars, by Plan::scalars; with Options::verify, also checks them.
    void publish(std::span<const ScalarResult> scalars, bool verify);
    Results results() const { return Results(state_); }

    /// Results that are still held keep their memory: the next run gets other.
    void let_go_of_results() {
        if (state_is_shared()) state_ = make_state(compiled_->plan());
    }

private:
    /// Does anybody hold results of a run?
    bool state_is_shared() const;
    Memory place_outputs(Bound& next);

    std::shared_ptr<const Compiled> compiled_;
    GivenSlots given_, next_given_;
    std::shared_ptr<Results::State> state_, next_state_;
    std::vector<std::shared_ptr<ResultMemory>> next_memory_;
    Memory next_memory_kind_ = Memory::host;
};

} // namespace gf::detail
