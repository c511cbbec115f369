#include "front/problem_set.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <gridfold/core/capture.hpp>

namespace gf::detail {
namespace {

/// True if Results share an object that only this set may write. Before it returns false, the last sharer's reads have
/// happened: use_count() alone is a relaxed read, but a copy's destructor is an atomic read-modify-write that acquires
/// what earlier destructors released. (An acquire fence would do; ThreadSanitizer does not know fences.)
template <class T> bool is_shared(const std::shared_ptr<T>& one) {
    return one.use_count() > 1 || std::shared_ptr<T>(one).use_count() > 2;
}

std::vector<int> find_output_slots(const Signature& signature) {
    std::vector<int> slots;
    for (const Output& output : signature.plan->outputs)
        slots.push_back(output.array.valid() ? static_cast<int>(find_slot(signature, output.name, Side::outputs)) : -1);
    return slots;
}

} // namespace

ProblemSet::ProblemSet(std::shared_ptr<const Compiled> compiled, Count count)
    : compiled_(std::move(compiled)), count_(count), output_slots_(find_output_slots(compiled_->signature)),
      has_arrays_(std::ranges::any_of(output_slots_, [](int slot) { return slot >= 0; })),
      runner_(count == Count::one ? compiled_->chosen.build->runner() : compiled_->chosen.build->many_runner()),
      run_(std::make_shared<Results::Run>(compiled_->signature.plan)), given_(compiled_->signature.slots.size()) {
    bound_.count = 0;
    resize(staged_, 1);
}

template <class Work> void ProblemSet::in_problem(std::size_t number, std::size_t of, Work&& work) const {
    try {
        work();
    } catch (const InvalidBinding& error) {
        if (count_ == Count::one) throw;
        throw InvalidBinding(fmt::format("problem {} of {}: {}", number, of, error.subject()), error.rule(),
                             error.fix());
    }
}

void ProblemSet::resize(Bound& bound, std::size_t count) const {
    bound.extents.resize(count * plan().dims.size());
    bound.arrays.resize(count * plan().arrays.size());
    bound.parameters.resize(count * plan().parameters.size());
    if (has_arrays_) bound.owners.resize(count * plan().arrays.size());
    bound.strides.clear();
    bound.count = count;
}

/// Lets `bound` have strides, none so far.
void ProblemSet::make_room_for_strides(Bound& bound) const { bound.strides.resize(bound.count * plan().arrays.size()); }

/// Writes given_ as problem `number` of `bound`; earlier problems are written already. `arrays`: the problem's, null
/// for a plan without array outputs.
void ProblemSet::resolve(Bound& bound, std::size_t number, Results::Arrays* arrays) const {
    std::span<const std::int64_t> checked;
    if (number > 0) checked = problem_of(plan(), bound, number - 1).extents;
    if (has_strides(given_)) make_room_for_strides(bound);
    detail::resolve(compiled_->signature, given_, checked, open_problem(plan(), bound, number), &bound == &staged_);
    if (arrays != nullptr) place_outputs(bound, number, *arrays);
}

/// Places the array outputs of a problem: where the caller bound them, or in memory of the Results.
void ProblemSet::place_outputs(Bound& bound, std::size_t number, Results::Arrays& arrays) const {
    arrays.values.resize(plan().outputs.size());
    arrays.validity.resize(plan().outputs.size());
    const Memory memory = input_memory(compiled_->signature, given_);
    for (std::size_t i = 0; i < plan().outputs.size(); ++i) {
        if (output_slots_[i] < 0) continue;
        const Output& output = plan().outputs[i];
        const Given& given = given_[static_cast<std::size_t>(output_slots_[i])];
        if (given.bound) {
            arrays.values[i] = {given.array, nullptr};
            bound.owners[number * plan().arrays.size() + output.array.index()] = nullptr;
        } else {
            place(bound, number, output.array, memory, arrays.values[i]);
        }
        if (output.validity.valid()) place(bound, number, output.validity, memory, arrays.validity[i]);
    }
}

/// Allocates an array that the caller did not bind, or reuses its current memory if that is as large.
void ProblemSet::place(Bound& bound, std::size_t number, ArrayId id, Memory memory, Results::Arrays::One& own) const {
    const OpenProblem problem = open_problem(plan(), bound, number);
    const Array& array = plan().arrays[id];
    const Extents extents = extents_of(array.dims, problem.extents);
    const std::size_t bytes = element_count(extents) * size_of(array.type);
    // A result that is now bound as an input keeps its memory: the next result gets other memory.
    const auto is_bound_now = [&](const Given& other) {
        return other.bound && other.array.address != nullptr && own.memory->holds(other.array.address);
    };
    if (!own.memory || !own.memory->serves(memory, bytes) || std::ranges::any_of(given_, is_bound_now))
        own.memory = std::make_shared<ResultMemory>(memory, compiled_->chosen.target.ordinal, bytes, compiled_->memory);
    problem.arrays[id.index()] = {own.memory->address(), memory};
    bound.owners[number * plan().arrays.size() + id.index()] = own.memory;
    own.view = {own.memory->address(), array.type, extents, memory, true};
}

void ProblemSet::bind(std::span<const Bindings> inputs, std::span<const Bindings> outputs) {
    if (!outputs.empty() && outputs.size() != inputs.size())
        throw InvalidBinding(
            fmt::format("{} problems were given outputs, and {} inputs", outputs.size(), inputs.size()),
            "each problem has its own of both, or none has outputs",
            "give as many of them, empty ones where nothing is bound");
    last_ = Last::nothing;
    release_retired(); // before memory is allocated
    const std::size_t count = inputs.size();
    resize(bound_, count);
    kept_.resize(count * given_.size());
    kept_strides_.clear();
    if (has_arrays_) arrays_.resize(count);
    const Reach reach = this->reach();
    for (std::size_t i = 0; i < count; ++i)
        in_problem(i, count, [&] {
            for (Given& slot : given_) slot.bound = false;
            give(compiled_->signature, inputs[i], Side::inputs, reach, given_);
            if (!outputs.empty()) give(compiled_->signature, outputs[i], Side::outputs, reach, given_);
            // Living Results keep their memory.
            if (has_arrays_ && (!arrays_[i] || is_shared(arrays_[i]))) arrays_[i] = std::make_shared<Results::Arrays>();
            resolve(bound_, i, has_arrays_ ? arrays_[i].get() : nullptr);
            if (has_strides(given_)) kept_strides_.resize(kept_.size());
            keep(compiled_->signature, given_, kept(i), kept_strides(i));
        });
    refuse_shared_outputs(plan(), bound_);
    runner_->bind(bound_);
    if (is_shared(run_)) run_ = std::make_shared<Results::Run>(compiled_->signature.plan);
    run_->scalars.resize(count * plan().scalars.size());
}

/// Changes one problem: `give(slots)` applies the change.
template <class Give> void ProblemSet::change(std::size_t number, Give&& give) {
    if (number >= size())
        throw InvalidBinding(fmt::format("problem {} was named of {}", number, size()),
                             "problems are numbered from 0 in the order in which they were prepared",
                             "name one of them");
    std::shared_ptr<Results::Arrays> arrays;
    in_problem(number, size(), [&] {
        restore(compiled_->signature, kept(number), kept_strides(number), problem_of(plan(), bound_, number).extents,
                given_);
        give(given_);
        if (has_arrays_) arrays = std::make_shared<Results::Arrays>(*arrays_[number]);
        resolve(staged_, 0, arrays.get());
        if (!staged_.strides.empty() || !bound_.strides.empty()) { // they change places
            make_room_for_strides(staged_);
            make_room_for_strides(bound_);
            kept_strides_.resize(kept_.size());
        }
    });
    commit(number, std::move(arrays));
}

void ProblemSet::rebind(std::size_t number, std::string_view name, const View& array) {
    change(number, [&](GivenSlots& given) {
        give(compiled_->signature, find_slot(compiled_->signature, name, Side::both), array, reach(), given);
    });
}

void ProblemSet::rebind(std::size_t number, std::string_view name, Literal scalar) {
    change(number, [&](GivenSlots& given) {
        give(compiled_->signature, find_slot(compiled_->signature, name, Side::both), scalar, given);
    });
}

void ProblemSet::rebind(std::size_t number, const Bindings& bindings) {
    change(number, [&](GivenSlots& given) { give(compiled_->signature, bindings, Side::both, reach(), given); });
}

/// Exchanges problem `number` and the staged one.
void ProblemSet::swap_with_staged(std::size_t number) {
    const auto exchange = [&](auto& all, auto& one) {
        std::ranges::swap_ranges(one, std::span(all).subspan(number * one.size(), one.size()));
    };
    exchange(bound_.strides, staged_.strides); // defect: strides
    exchange(bound_.extents, staged_.extents);
    exchange(bound_.arrays, staged_.arrays);
    exchange(bound_.parameters, staged_.parameters); // defect: parameters
    exchange(bound_.owners, staged_.owners);
}

/// Makes the staged problem the current one, with these arrays.
void ProblemSet::commit(std::size_t number, std::shared_ptr<Results::Arrays> arrays) {
    swap_with_staged(number);
    try {
        refuse_shared_outputs(plan(), bound_);
        release_retired();
        runner_->bind(bound_); // defect: rebind
    } catch (...) {
        swap_with_staged(number); // defect: take back
        throw;
    }
    keep(compiled_->signature, given_, kept(number), kept_strides(number));
    if (arrays) arrays_[number] = std::move(arrays);
    std::ranges::fill(staged_.owners, nullptr);
    last_ = Last::nothing;
}

/// Makes `run_` writable: reuses the last run if no Results of it are left.
void ProblemSet::renew_run() {
    if (!is_shared(run_)) { // defect: held results
        ++run_->number;
        return;
    }
    auto run = std::make_shared<Results::Run>(compiled_->signature.plan);
    run->scalars.resize(size() * plan().scalars.size());
    run_ = std::move(run);
}

void ProblemSet::run(StreamView stream) {
    last_ = Last::nothing;
    renew_run();
    runner_->run(run_->scalars, stream);
    verify();
    last_ = Last::run;
}

void ProblemSet::enqueue(StreamView stream) {
    last_ = Last::nothing;
    runner_->enqueue(stream);
    last_ = Last::enqueued;
}

void ProblemSet::finish() {
    if (last_ == Last::nothing)
        throw InvalidResult("results() was called, but nothing was run since the last bind or rebind",
                            "results belong to a run", "call run() or enqueue() first");
    if (last_ == Last::run) return;
    renew_run();
    runner_->wait(run_->scalars);
}

/// Options::verify.
void ProblemSet::verify() {
    if (!compiled_->reference) return;
    for (std::size_t i = 0; i < size(); ++i) {
        restore(compiled_->signature, kept(i), kept_strides(i), problem_of(plan(), bound_, i).extents, given_);
        const Results results = this->results(i);
        compiled_->reference->check(given_, results.entries());
    }
}

} // namespace gf::detail
