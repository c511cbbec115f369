#include "front/problem_set.hpp"

#include <gridfold/core/capture.hpp>

namespace gf::detail {

ProblemSet::ProblemSet(std::shared_ptr<const Compiled> compiled, Count count)
    : compiled_(std::move(compiled)), count_(count),
      runner_(count == Count::one ? compiled_->chosen.build->runner() : compiled_->chosen.build->many_runner()) {}

Problem& ProblemSet::at(std::size_t number) {
    if (number >= size())
        throw InvalidBinding(fmt::format("problem {} was named of {}", number, size()),
                             "problems are numbered from 0 in the order in which they were prepared",
                             "name one of them");
    return problems_[number];
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
    problems_.reserve(count);
    while (problems_.size() < count) problems_.emplace_back(compiled_);
    problems_.erase(problems_.begin() + static_cast<std::ptrdiff_t>(count), problems_.end());
    if (next_.size() < count) next_.resize(count);
    const Reach reach = this->reach();
    for (std::size_t i = 0; i < count; ++i)
        in_problem(i, count, [&] {
            problems_[i].let_go_of_results();
            problems_[i].give_only(inputs[i], outputs.empty() ? std::span<const Binding>{} : outputs[i], reach);
            problems_[i].stage(next_[i]);
            problems_[i].accept(next_[i]);
        });
    const std::span<const Bound> staged = std::span(next_).first(count);
    refuse_shared_outputs(compiled_->plan(), staged);
    scalars_.resize(count * compiled_->plan().scalars.size());
    runner_->bind(staged);
    std::swap(bound_, next_);
    for (Bound& old : next_) old.owners.clear();
}

void ProblemSet::commit(std::size_t number) {
    std::swap(bound_[number], staged_);
    try {
        const std::span<const Bound> all = std::span(bound_).first(size());
        if (size() > 1) refuse_shared_outputs(compiled_->plan(), all);
        release_retired();
        runner_->bind(all);
    } catch (...) {
        std::swap(bound_[number], staged_);
        throw;
    }
    problems_[number].accept(bound_[number]);
    staged_.owners.clear();
    last_ = Last::nothing;
}

void ProblemSet::enqueue(StreamView stream) {
    last_ = Last::nothing;
    runner_->enqueue(stream);
    last_ = Last::enqueued;
}

bool ProblemSet::finish() {
    if (last_ == Last::nothing)
        throw InvalidResult("results() was called, but nothing was run with the bindings that stand",
                            "results belong to a run", "call run() or enqueue() first");
    if (last_ == Last::enqueued) runner_->wait(scalars_);
    return last_ == Last::enqueued;
}

Results ProblemSet::publish(std::size_t number, bool verify) {
    const std::size_t each = compiled_->plan().scalars.size();
    problems_[number].publish(std::span(scalars_).subspan(number * each, each), verify);
    return problems_[number].results();
}

} // namespace gf::detail
