// The problems that run together: the one implementation behind Prepared (one problem) and PreparedMany.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "front/problem.hpp"

namespace gf::detail {

/// One problem, or a numbered list whose mistakes are reported with the problem's number.
enum class Count { one, many };

/// Problems of one executable with their runner. One thread at a time.
class ProblemSet {
public:
    ProblemSet(std::shared_ptr<const Compiled> compiled, Count count);

    /// These problems, bound anew, and no others. After an exception the set must be bound again before it is run.
    void bind(std::span<const Bindings> inputs, std::span<const Bindings> outputs);
    /// Changes one problem: `give(problem, reach)` names what changes. On an exception the old bindings stand.
    template <class Give> void rebind(std::size_t number, Give&& give) {
        Problem& problem = at(number);
        in_problem(number, size(), [&] {
            problem.start_from_current();
            give(problem, reach());
            problem.stage(staged_);
        });
        commit(number);
    }

    /// Runs, waits, and calls `take(Results)` for each problem in turn.
    template <class Take> void run(StreamView stream, Take&& take) {
        last_ = Last::nothing;
        runner_->run(scalars_, stream);
        for (std::size_t i = 0; i < size(); ++i) take(publish(i, true));
        last_ = Last::run;
    }
    void enqueue(StreamView stream);
    /// The same with the results of the last run. Throws InvalidResult where there was none since the bindings changed.
    template <class Take> void results(Take&& take) {
        const bool is_new = finish();
        for (std::size_t i = 0; i < size(); ++i) take(is_new ? publish(i, false) : problems_[i].results());
    }
    std::size_t size() const noexcept { return problems_.size(); }

private:
    enum class Last { nothing, run, enqueued }; // since the bindings changed

    Reach reach() const { return {.target = compiled_->chosen.target}; }
    Problem& at(std::size_t number);
    void commit(std::size_t number);
    /// Waits for the last enqueue(): true if there was one.
    bool finish();
    Results publish(std::size_t number, bool verify);
    /// Calls `work`; what it refuses is said to be of this problem.
    template <class Work> void in_problem(std::size_t number, std::size_t of, Work&& work) const;

    std::shared_ptr<const Compiled> compiled_;
    Count count_;
    std::unique_ptr<Runner> runner_;
    std::vector<Problem> problems_;
    std::vector<Bound> bound_, next_;   ///< by problem; both may be longer: their memory is used again
    Bound staged_;                      ///< by rebind()
    std::vector<ScalarResult> scalars_; ///< problem by problem
    Last last_ = Last::nothing;
};

template <class Work> void ProblemSet::in_problem(std::size_t number, std::size_t of, Work&& work) const {
    try {
        work();
    } catch (const InvalidBinding& error) {
        if (count_ == Count::one) throw;
        throw InvalidBinding(fmt::format("problem {} of {}: {}", number, of, error.subject()), error.rule(),
                             error.fix());
    }
}

} // namespace gf::detail
