// The problems that run together: the implementation of both Prepared (one problem) and PreparedMany. Bindings are
// stored compactly, so that each of many problems takes a few words and no allocation.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/executable.hpp>

#include "front/bindings.hpp"
#include "front/choose_device.hpp"
#include "front/kept_bindings.hpp"
#include "front/reference.hpp"
#include "front/results.hpp"
#include "front/signature.hpp"

namespace gf::detail {

/// Shared by all problems of one Executable. Immutable.
struct Compiled {
    Signature signature;
    ChosenBuild chosen;
    std::unique_ptr<const Reference> reference; ///< Options::verify
    MemoryResources memory;                     ///< Options::memory

    const Plan& plan() const { return *signature.plan; }
};

/// one: a single problem; many: a list, whose errors name the problem's number.
enum class Count { one, many };

/// Problems of one executable with their runner. One thread at a time.
class ProblemSet {
public:
    ProblemSet(std::shared_ptr<const Compiled> compiled, Count count);

    /// Replaces all problems. After an exception the set must be bound again before it is run.
    void bind(std::span<const Bindings> inputs, std::span<const Bindings> outputs);
    /// Changes one problem. An exception leaves the old bindings unchanged.
    void rebind(std::size_t number, std::string_view name, const View& array);
    void rebind(std::size_t number, std::string_view name, Literal scalar);
    void rebind(std::size_t number, const Bindings& bindings);

    /// Runs and waits.
    void run(StreamView stream);
    void enqueue(StreamView stream);
    /// Waits for the last run. Throws InvalidResult if nothing was run since the bindings changed.
    void finish();
    /// A problem's results of the last, finished run.
    Results results(std::size_t number) const { return {run_, arrays_.empty() ? nullptr : arrays_[number], number}; }
    std::size_t size() const noexcept { return bound_.count; }

private:
    enum class Last { nothing, run, enqueued }; // since the bindings changed

    const Plan& plan() const { return compiled_->plan(); }
    Reach reach() const { return {.target = compiled_->chosen.target}; }
    std::span<KeptSlot> kept(std::size_t number) {
        return std::span(kept_).subspan(number * given_.size(), given_.size());
    }
    std::span<Strides> kept_strides(std::size_t number) {
        if (kept_strides_.empty()) return {};
        return std::span(kept_strides_).subspan(number * given_.size(), given_.size());
    }
    void resize(Bound& bound, std::size_t count) const;
    void make_room_for_strides(Bound& bound) const;
    void resolve(Bound& bound, std::size_t number, Results::Arrays* arrays) const;
    void place_outputs(Bound& bound, std::size_t number, Results::Arrays& arrays) const;
    void place(Bound& bound, std::size_t number, ArrayId array, Memory memory, Results::Arrays::One& own) const;
    template <class Give> void change(std::size_t number, Give&& give);
    void commit(std::size_t number, std::shared_ptr<Results::Arrays> arrays);
    void swap_with_staged(std::size_t number);
    void renew_run();
    void verify();
    /// Calls `work`; its errors name this problem.
    template <class Work> void in_problem(std::size_t number, std::size_t of, Work&& work) const;

    std::shared_ptr<const Compiled> compiled_;
    Count count_;
    std::vector<int> output_slots_; ///< by Plan::outputs: the slot of an array output, −1 for a scalar
    bool has_arrays_ = false;       ///< any output is an array
    std::unique_ptr<Runner> runner_;

    std::vector<KeptSlot> kept_;        ///< problem by problem, by Signature::slots
    std::vector<Strides> kept_strides_; ///< the same; empty until an array is bound with strides
    Bound bound_;
    std::vector<std::shared_ptr<Results::Arrays>> arrays_; ///< by problem; none for a plan without array outputs
    std::shared_ptr<Results::Run> run_;
    Last last_ = Last::nothing;

    GivenSlots given_; ///< the bindings of the problem being bound
    Bound staged_;     ///< the problem that rebind() is changing
};

} // namespace gf::detail
