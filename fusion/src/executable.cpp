// Executable and Prepared: a graph compiled once, bound and run often.
//
// A run does in this order: check what is bound (bindings.hpp), give the outputs that are not bound their memory, bind the
// runner, run it. The first two can only fail with nothing changed; a runner that fails while it runs is not used again
// by Executable::run.
#include <gridfold/fusion/executable.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <gridfold/core/capture.hpp>
#include <gridfold/fusion/fuse.hpp>

#include "bindings.hpp"
#include "choose_device.hpp"
#include "cuda/emit_cuda.hpp"
#include "explain.hpp"
#include "reference.hpp"
#include "results.hpp"

namespace gf {
namespace {

using namespace detail;

/// What all Prepared of one Executable share. Immutable.
struct Compiled {
    Signature signature;
    ChosenBuild chosen;
    std::vector<int> output_slots;              ///< by Plan::outputs: the slot of an array output, −1 for a scalar
    std::unique_ptr<const Reference> reference; ///< Options::verify

    const Plan& plan() const { return *signature.plan; }
};

std::vector<int> find_output_slots(const Signature& signature) {
    std::vector<int> slots;
    for (const Output& output : signature.plan->outputs)
        slots.push_back(output.array < 0 ? -1 : static_cast<int>(find_slot(signature, output.name, Side::outputs)));
    return slots;
}

Extents extents_of(const Slot& slot, const Bound& bound) {
    std::array<std::int64_t, max_rank> extents{};
    for (std::size_t i = 0; i < slot.dims.size(); ++i)
        extents[i] = bound.extents[static_cast<std::size_t>(slot.dims[i])];
    return Extents(std::span(extents.data(), slot.dims.size()));
}

} // namespace

struct Prepared::Impl {
    explicit Impl(std::shared_ptr<const Compiled> c)
        : compiled(std::move(c)), runner(compiled->chosen.build->runner()), given(compiled->signature.slots.size()),
          scalars(compiled->plan().scalars.size()), state(make_state(compiled->plan())) {}

    /// Starts a new set of bindings in `next_given`: none, or those that stand.
    void start_empty() { next_given.assign(given.size(), {}); }
    void start_from_current() { next_given = given; }
    void give(std::span<const Binding> bindings, Side side) {
        detail::give(compiled->signature, bindings, side, compiled->chosen.target, next_given);
    }
    /// Takes `next_given`. On an exception the old bindings stand.
    void commit();
    /// Fills the results from `scalars`.
    void publish();
    void run(StreamView stream);

    bool state_is_shared() const {
        if (state.use_count() > 1) return true;
        std::atomic_thread_fence(std::memory_order_acquire); // what the last sharer read happened before we write
        return false;
    }
    Memory place_outputs();

    std::shared_ptr<const Compiled> compiled;
    std::unique_ptr<Runner> runner;
    GivenSlots given, next_given;
    Bound bound, next_bound;
    std::vector<ScalarResult> scalars;
    std::shared_ptr<Results::State> state;
    std::vector<std::shared_ptr<ResultMemory>> next_memory;
    bool is_bound = false;                                           ///< the runner has taken `bound`
    enum class Last { nothing, run, enqueued } last = Last::nothing; ///< since the bindings changed
};

/// Gives each array output that the caller did not bind memory of its own, the standing one where that serves.
Memory Prepared::Impl::place_outputs() {
    const Plan& plan = compiled->plan();
    const Memory memory = input_memory(compiled->signature, next_given);
    next_memory = state->memory;
    next_bound.owners.clear();
    for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
        const int slot = compiled->output_slots[i];
        if (slot < 0) continue;
        if (next_given[static_cast<std::size_t>(slot)].bound) {
            next_memory[i] = nullptr;
            continue;
        }
        const Array& array = plan.arrays[static_cast<std::size_t>(plan.outputs[i].array)];
        const auto bytes =
            static_cast<std::size_t>(*element_count(array.dims, next_bound.extents)) * size_of(array.type);
        // A result that was bound as an input since then stands where it is: the next one goes elsewhere.
        const auto is_bound_now = [&](const Given& other) {
            return other.bound && other.array.address != nullptr && next_memory[i]->holds(other.array.address);
        };
        if (!next_memory[i] || !next_memory[i]->serves(memory, bytes) ||
            std::any_of(next_given.begin(), next_given.end(), is_bound_now))
            next_memory[i] = std::make_shared<ResultMemory>(memory, compiled->chosen.target.ordinal, bytes);
        next_bound.arrays[static_cast<std::size_t>(plan.outputs[i].array)] = {next_memory[i]->address(), memory};
        next_bound.owners.push_back(next_memory[i]);
    }
    return memory;
}

void Prepared::Impl::commit() {
    const Plan& plan = compiled->plan();
    resolve(compiled->signature, next_given, next_bound);
    release_retired(); // before memory is allocated
    const Memory memory = place_outputs();
    auto next_state = state_is_shared() ? std::make_shared<Results::State>(*state) : state;
    if (!is_bound || next_bound != bound) {
        runner->bind(next_bound);
        is_bound = true;
    }
    std::swap(bound, next_bound);
    next_bound.owners.clear();
    std::swap(given, next_given);
    state = std::move(next_state);
    std::swap(state->memory, next_memory);
    next_memory.assign(next_memory.size(), nullptr);
    for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
        const int slot = compiled->output_slots[i];
        if (slot < 0) continue;
        const Given& own = given[static_cast<std::size_t>(slot)];
        Results::Entry& entry = state->entries[i];
        if (own.bound)
            entry.array = own.array;
        else
            entry.array = {state->memory[i]->address(), entry.type,
                           extents_of(compiled->signature.slots[static_cast<std::size_t>(slot)], bound), memory, true};
    }
    last = Last::nothing;
}

void Prepared::Impl::publish() {
    if (state_is_shared()) state = std::make_shared<Results::State>(*state);
    for (std::size_t i = 0; i < state->entries.size(); ++i) {
        const int number = compiled->plan().outputs[i].scalar;
        if (number < 0) continue;
        const ScalarResult& scalar = scalars[static_cast<std::size_t>(number)];
        Results::Entry& entry = state->entries[i];
        entry.bits = scalar.bits;
        entry.empty = scalar.empty && !is_floating(entry.type);
    }
}

void Prepared::Impl::run(StreamView stream) {
    last = Last::nothing;
    runner->run(scalars, stream);
    publish();
    if (compiled->reference) compiled->reference->check(given, state->entries);
    last = Last::run;
}

Prepared::Prepared(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Prepared::Prepared(Prepared&&) noexcept = default;
Prepared& Prepared::operator=(Prepared&&) noexcept = default;
Prepared::~Prepared() = default;

void Prepared::rebind(std::string_view name, View array) {
    const Binding binding(name, array);
    impl_->start_from_current();
    impl_->give({&binding, 1}, Side::both);
    impl_->commit();
}

void Prepared::rebind(std::string_view name, Literal scalar) {
    impl_->start_from_current();
    give(impl_->compiled->signature, find_slot(impl_->compiled->signature, name, Side::both), scalar,
         impl_->next_given);
    impl_->commit();
}

void Prepared::rebind(const Bindings& bindings) {
    impl_->start_from_current();
    impl_->give(bindings, Side::both);
    impl_->commit();
}

Results Prepared::run(StreamView stream) {
    impl_->run(stream);
    return Results(impl_->state);
}

void Prepared::enqueue(StreamView stream) {
    impl_->last = Impl::Last::nothing;
    impl_->runner->enqueue(stream);
    impl_->last = Impl::Last::enqueued;
}

Results Prepared::results() {
    if (impl_->last == Impl::Last::nothing)
        throw InvalidGraph(
            "results() was called, but nothing was run with the bindings that stand: results belong to a run; "
            "call run() or enqueue() first");
    if (impl_->last == Impl::Last::enqueued) {
        impl_->runner->wait(impl_->scalars);
        impl_->publish();
    }
    return Results(impl_->state);
}

struct Executable::Impl {
    explicit Impl(std::shared_ptr<const Compiled> c) : compiled(std::move(c)) {}

    /// An idle Prepared, or a new one.
    std::unique_ptr<Prepared::Impl> take() const {
        {
            const std::lock_guard lock(mutex);
            if (!idle.empty()) {
                auto taken = std::move(idle.back());
                idle.pop_back();
                return taken;
            }
        }
        auto made = std::make_unique<Prepared::Impl>(compiled);
        const std::lock_guard lock(mutex);
        idle.reserve(++made_count); // so that giving back cannot fail
        return made;
    }
    /// Instead of giving back what may not be used again.
    void forget() const noexcept {
        const std::lock_guard lock(mutex);
        --made_count;
    }
    void give_back(std::unique_ptr<Prepared::Impl> prepared) const noexcept {
        const std::lock_guard lock(mutex);
        idle.push_back(std::move(prepared));
    }

    std::shared_ptr<const Compiled> compiled;
    mutable std::mutex mutex;
    mutable std::vector<std::unique_ptr<Prepared::Impl>> idle;
    mutable std::size_t made_count = 0;
};

Results Executable::run(const Bindings& inputs, const Bindings& outputs, StreamView stream) const {
    auto prepared = impl_->take();
    try {
        // Results of an earlier run that are still held keep their memory: this run gets other.
        if (prepared->state_is_shared()) prepared->state = make_state(impl_->compiled->plan());
        prepared->start_empty();
        prepared->give(inputs, Side::inputs);
        prepared->give(outputs, Side::outputs);
        prepared->commit();
        prepared->run(stream);
    } catch (const InvalidGraph&) { // refused before anything ran
        impl_->give_back(std::move(prepared));
        throw;
    } catch (...) {
        impl_->forget();
        throw;
    }
    Results results(prepared->state);
    impl_->give_back(std::move(prepared));
    return results;
}

Prepared Executable::prepare(const Bindings& inputs, const Bindings& outputs) const {
    auto prepared = std::make_unique<Prepared::Impl>(impl_->compiled);
    prepared->start_empty();
    prepared->give(inputs, Side::inputs);
    prepared->give(outputs, Side::outputs);
    prepared->commit();
    return Prepared(std::move(prepared));
}

std::string Executable::explain() const {
    const Compiled& compiled = *impl_->compiled;
    std::string text = detail::explain(compiled.plan(), device(), compiled.chosen.why, compiled.chosen.build->facts());
    if (compiled.reference) text += compiled.reference->explain();
    return text;
}

std::string Executable::source() const {
    std::string text;
    for (std::size_t i = 0; i < plan().sweeps.size(); ++i) text += cuda::emit_cuda(plan(), static_cast<int>(i)).source;
    return text;
}

const Plan& Executable::plan() const { return impl_->compiled->plan(); }
std::string Executable::device() const { return impl_->compiled->chosen.build->device(); }

Executable compile(const Graph& graph, const Options& options) {
    if (graph.outputs().empty())
        throw InvalidGraph(
            fmt::format("graph {} has no output: a graph is compiled for its outputs; name a result with "
                        "g.output(\"name\", value)",
                        graph.name()));
    if (options.verify && options.fast_math)
        throw InvalidGraph(
            "Options asks for verify and fast_math: verify compares bits, which fast_math gives up; leave one "
            "of the two out");
    FuseOptions fuse_options;
    fuse_options.fuse = options.fuse;
    fuse_options.fast_math = options.fast_math;
    auto plan = std::make_shared<const Plan>(fuse(graph, fuse_options));
    auto compiled = std::make_shared<Compiled>();
    compiled->chosen = build_for(options.device, plan, {.fast_math = options.fast_math});
    compiled->signature = make_signature(graph, std::move(plan));
    compiled->output_slots = find_output_slots(compiled->signature);
    if (options.verify) compiled->reference = std::make_unique<const Reference>(graph, compiled->chosen.target);
    return Executable(std::make_shared<const Executable::Impl>(std::move(compiled)));
}

} // namespace gf
