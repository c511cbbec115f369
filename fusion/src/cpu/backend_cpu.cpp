// The CPU backend: a plan's sweeps one after the other, each on all threads.
#include <algorithm>
#include <exception>

#include <fmt/format.h>
#include <omp.h>

#include <gridfold/fusion/backend.hpp>

#include "cpu/sweep_run.hpp"

namespace gf {

namespace cpu {
namespace {

int thread_count() { return may_start_threads() ? std::max(omp_get_max_threads(), 1) : 1; }

/// A plan as the CPU runs it, shared by the runners of a Build.
struct Program {
    std::shared_ptr<const Plan> plan;
    InstructionSet set;
    std::vector<SweepProgram> sweeps;
};

std::size_t bytes_of(const Array& array, std::span<const std::int64_t> extents) {
    std::size_t bytes = size_of(array.type);
    for (const int dim : array.dims) bytes *= static_cast<std::size_t>(extents[static_cast<std::size_t>(dim)]);
    return bytes;
}

class CpuRunner final : public Runner {
public:
    /// `most_threads`: 0 = as many as there are.
    explicit CpuRunner(std::shared_ptr<const Program> program, int most_threads = 0)
        : program_(std::move(program)), most_threads_(most_threads) {}

    void bind(const Bound& bound) override {
        const Plan& plan = *program_->plan;
        State state;
        state.threads = most_threads_ > 0 ? most_threads_ : thread_count();
        state.bound = bound;
        const bool same = state.bound.extents == state_.bound.extents && state.threads == state_.threads && bound_;
        std::vector<char*> arrays(plan.arrays.size());
        if (!same) {
            for (std::size_t s = 0; s < plan.sweeps.size(); ++s)
                state.sweeps.push_back(std::make_unique<SweepRun>(plan, plan.sweeps[s], program_->sweeps[s],
                                                                  state.bound.extents, state.threads));
            for (const Array& array : plan.arrays)
                state.temporaries.push_back(
                    array.role == ArrayRole::temporary ? allocate(bytes_of(array, bound.extents)) : nullptr);
            state.scalars.resize(plan.scalars.size());
        } else {
            state.sweeps = std::move(state_.sweeps);
            state.temporaries = std::move(state_.temporaries);
            state.scalars = std::move(state_.scalars);
        }
        for (std::size_t a = 0; a < arrays.size(); ++a)
            arrays[a] = plan.arrays[a].role == ArrayRole::temporary ? state.temporaries[a].get()
                                                                    : static_cast<char*>(bound.arrays[a].address);
        state.arrays = std::move(arrays);
        state_ = std::move(state);
        bound_ = true;
    }

    void run(std::span<ScalarResult> scalars, StreamView stream) override {
        enqueue(stream);
        wait(scalars);
    }

    void enqueue(StreamView) override {
        for (const auto& sweep : state_.sweeps) sweep->run(state_.arrays, state_.bound.parameters, state_.scalars);
    }

    void wait(std::span<ScalarResult> scalars) override { std::ranges::copy(state_.scalars, scalars.begin()); }

private:
    struct State {
        Bound bound;
        int threads = 0;
        std::vector<char*> arrays;
        std::vector<Bytes> temporaries; ///< by array
        std::vector<std::unique_ptr<SweepRun>> sweeps;
        std::vector<ScalarResult> scalars;
    };
    std::shared_ptr<const Program> program_;
    int most_threads_;
    State state_;
    bool bound_ = false;
};

/// Where there are enough problems, each thread takes one at a time; else all threads take one after the other.
class CpuManyRunner final : public ManyRunner {
public:
    explicit CpuManyRunner(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

    void bind(std::span<const Bound> problems) override {
        runners_.clear();
        problems_.assign(problems.begin(), problems.end());
        scalars_.assign(problems.size() * program_->plan->scalars.size(), {});
        const int threads = thread_count();
        const bool side_by_side = problems.size() >= static_cast<std::size_t>(threads);
        for (int i = 0; i < (side_by_side ? threads : 1); ++i)
            runners_.push_back(std::make_unique<CpuRunner>(program_, side_by_side ? 1 : 0));
    }

    void run(std::span<ScalarResult> scalars, StreamView stream) override {
        enqueue(stream);
        wait(scalars);
    }

    void enqueue(StreamView) override {
        const std::size_t per_problem = program_->plan->scalars.size();
        const auto solve = [&](std::size_t problem, std::size_t thread) {
            runners_[thread]->bind(problems_[problem]);
            runners_[thread]->run(std::span(scalars_).subspan(problem * per_problem, per_problem), {});
        };
        if (runners_.size() <= 1 || !may_start_threads()) { // a forked child has no other thread
            for (std::size_t p = 0; p < problems_.size(); ++p) solve(p, 0);
            return;
        }
        std::exception_ptr failure; // the first: nothing may be thrown across threads
        const auto count = static_cast<std::int64_t>(problems_.size());
#pragma omp parallel for schedule(dynamic) num_threads(static_cast<int>(runners_.size()))
        for (std::int64_t p = 0; p < count; ++p) {
            try {
                solve(static_cast<std::size_t>(p), static_cast<std::size_t>(omp_get_thread_num()));
            } catch (...) {
#pragma omp critical(gridfold_many)
                if (!failure) failure = std::current_exception();
            }
        }
        if (failure) std::rethrow_exception(failure);
    }

    void wait(std::span<ScalarResult> scalars) override { std::ranges::copy(scalars_, scalars.begin()); }

private:
    std::shared_ptr<const Program> program_;
    std::vector<Bound> problems_;
    std::vector<std::unique_ptr<CpuRunner>> runners_; ///< by thread
    std::vector<ScalarResult> scalars_;
};

class CpuBuild final : public Build {
public:
    explicit CpuBuild(Program program) : program_(std::make_shared<const Program>(std::move(program))) {}
    std::unique_ptr<Runner> runner() const override { return std::make_unique<CpuRunner>(program_); }
    std::unique_ptr<ManyRunner> many_runner() const override { return std::make_unique<CpuManyRunner>(program_); }
    std::vector<SweepFacts> facts() const override {
        SweepFacts facts;
        facts.cached = true;
        return std::vector<SweepFacts>(program_->sweeps.size(), facts);
    }
    std::string device() const override {
        const int threads = thread_count();
        return fmt::format("cpu ({}, {} thread{})", to_text(program_->set), threads, threads == 1 ? "" : "s");
    }

private:
    std::shared_ptr<const Program> program_;
};

} // namespace
} // namespace cpu

std::shared_ptr<const Build> build_cpu(std::shared_ptr<const Plan> plan, const BuildOptions&) {
    cpu::Program program{plan, cpu::chosen_instruction_set(), {}};
    for (const plan::Sweep& sweep : plan->sweeps) program.sweeps.push_back(cpu::sweep_program(*plan, sweep, program.set));
    return std::make_shared<cpu::CpuBuild>(std::move(program));
}

} // namespace gf
