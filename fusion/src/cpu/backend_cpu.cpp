// The CPU backend: a plan's sweeps one after the other, each on all threads; of many problems, one on each thread.
#include <algorithm>

#include <fmt/format.h>
#include <omp.h>

#include <gridfold/fusion/backend.hpp>

#include "cpu/sweep_run.hpp"

namespace gf {

namespace cpu {
namespace {

/// A plan as the CPU runs it, shared by the runners of a Build.
struct Program {
    std::shared_ptr<const Plan> plan;
    InstructionSet set;
    std::vector<SweepProgram> sweeps;
    int threads = 0; ///< BuildOptions::threads
};

int thread_count(const Program& program) {
    if (!may_start_threads()) return 1;
    return program.threads > 0 ? program.threads : std::max(omp_get_max_threads(), 1);
}

std::size_t bytes_of(const Array& array, std::span<const std::int64_t> extents) {
    return static_cast<std::size_t>(*element_count(array.dims, extents)) * size_of(array.type);
}

/// Where there are as many problems as threads, each thread takes some at a time; else all threads take one after the
/// other.
class CpuRunner final : public Runner {
public:
    explicit CpuRunner(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

    void bind(std::span<const Bound> problems) override;
    void run(std::span<ScalarResult> scalars, StreamView stream) override {
        enqueue(stream);
        wait(scalars);
    }
    void enqueue(StreamView) override;
    void wait(std::span<ScalarResult> scalars) override { std::ranges::copy(scalars_, scalars.begin()); }

private:
    /// What one problem after the other is solved with, by one thread or by all.
    struct Worker {
        std::vector<SweepRun> sweeps;
        std::vector<GrowingBytes> temporaries; ///< by array
        std::vector<char*> arrays;             ///< of the problem under way
    };
    /// The bindings, one problem's after the other's.
    struct Packed {
        std::size_t count = 0;
        std::vector<std::int64_t> extents;
        std::vector<char*> arrays;
        std::vector<std::uint64_t> parameters;
    };

    std::vector<Worker> make_workers(std::size_t count, int team) const;
    void reserve(Worker& worker, int team, std::span<const Bound> problems) const;
    void solve(std::size_t problem, Worker& worker);

    std::shared_ptr<const Program> program_;
    Packed bound_, next_;
    std::vector<Worker> workers_;
    int team_ = 0; ///< threads that a worker has
    std::vector<ScalarResult> scalars_;
};

std::vector<CpuRunner::Worker> CpuRunner::make_workers(std::size_t count, int team) const {
    const Plan& plan = *program_->plan;
    std::vector<Worker> workers(count);
    for (Worker& worker : workers) {
        worker.sweeps.reserve(plan.sweeps.size());
        for (std::size_t s = 0; s < plan.sweeps.size(); ++s)
            worker.sweeps.emplace_back(plan, plan.sweeps[s], program_->sweeps[s], team);
        worker.temporaries.resize(plan.arrays.size());
        worker.arrays.resize(plan.arrays.size());
    }
    return workers;
}

/// So that no run allocates.
void CpuRunner::reserve(Worker& worker, int team, std::span<const Bound> problems) const {
    const Plan& plan = *program_->plan;
    for (std::size_t s = 0; s < plan.sweeps.size(); ++s) {
        std::int64_t most = -1; // one thread needs no more for fewer elements; of several, the first takes more
        for (const Bound& problem : problems) {
            const std::int64_t elements = *element_count(plan.sweeps[s].dims, problem.extents);
            if (team == 1 && elements <= most) continue;
            worker.sweeps[s].fit(problem.extents);
            most = elements;
        }
    }
    for (std::size_t a = 0; a < plan.arrays.size(); ++a) {
        if (plan.arrays[a].role != ArrayRole::temporary) continue;
        std::size_t bytes = 0;
        for (const Bound& problem : problems) bytes = std::max(bytes, bytes_of(plan.arrays[a], problem.extents));
        worker.temporaries[a].reserve(bytes);
    }
}

void CpuRunner::bind(std::span<const Bound> problems) {
    const Plan& plan = *program_->plan;
    const int threads = thread_count(*program_);
    const bool side_by_side = problems.size() > 1 && problems.size() >= static_cast<std::size_t>(threads);
    const std::size_t workers = side_by_side ? static_cast<std::size_t>(threads) : 1;
    const int team = side_by_side ? 1 : threads;
    std::vector<Worker> made;
    const bool same = workers_.size() == workers && team_ == team;
    if (!same) made = make_workers(workers, team);
    for (Worker& worker : same ? workers_ : made) reserve(worker, team, problems);

    next_.count = problems.size();
    next_.extents.clear();
    next_.arrays.clear();
    next_.parameters.clear();
    for (const Bound& problem : problems) {
        next_.extents.insert(next_.extents.end(), problem.extents.begin(), problem.extents.end());
        for (const BoundArray& array : problem.arrays) next_.arrays.push_back(static_cast<char*>(array.address));
        next_.parameters.insert(next_.parameters.end(), problem.parameters.begin(), problem.parameters.end());
    }
    scalars_.resize(problems.size() * plan.scalars.size());
    // From here on nothing throws.
    if (!same) {
        workers_ = std::move(made);
        team_ = team;
    }
    std::swap(bound_, next_);
}

void CpuRunner::solve(std::size_t problem, Worker& worker) {
    const Plan& plan = *program_->plan;
    const auto of_problem = [&](auto& packed, std::size_t each) {
        return std::span(packed).subspan(problem * each, each);
    };
    const auto arrays = of_problem(bound_.arrays, plan.arrays.size());
    for (std::size_t a = 0; a < arrays.size(); ++a)
        worker.arrays[a] = plan.arrays[a].role == ArrayRole::temporary ? worker.temporaries[a].get() : arrays[a];
    for (SweepRun& sweep : worker.sweeps) {
        sweep.fit(of_problem(bound_.extents, plan.dims.size()));
        sweep.run(worker.arrays, of_problem(bound_.parameters, plan.parameters.size()),
                  of_problem(scalars_, plan.scalars.size()));
    }
}

void CpuRunner::enqueue(StreamView) {
    if (workers_.size() == 1 || !may_start_threads()) { // a forked child has no other thread
        for (std::size_t p = 0; p < bound_.count; ++p) solve(p, workers_.front());
        return;
    }
    const auto count = static_cast<std::int64_t>(bound_.count);
    constexpr std::int64_t turns = 64; // of a thread: problems may differ in size
    const std::int64_t some = std::max<std::int64_t>(count / (turns * static_cast<std::int64_t>(workers_.size())), 1);
#pragma omp parallel for schedule(dynamic, some) num_threads(static_cast<int>(workers_.size()))
    for (std::int64_t p = 0; p < count; ++p)
        solve(static_cast<std::size_t>(p), workers_[static_cast<std::size_t>(omp_get_thread_num())]);
}

class CpuBuild final : public Build {
public:
    explicit CpuBuild(Program program) : program_(std::make_shared<const Program>(std::move(program))) {}
    std::unique_ptr<Runner> runner() const override { return std::make_unique<CpuRunner>(program_); }
    std::unique_ptr<Runner> many_runner() const override { return runner(); }
    std::vector<SweepFacts> facts() const override {
        SweepFacts facts;
        facts.cached = true;
        return std::vector<SweepFacts>(program_->sweeps.size(), facts);
    }
    std::string device() const override {
        const int threads = thread_count(*program_);
        return fmt::format("cpu ({}, {} thread{})", to_text(program_->set), threads, threads == 1 ? "" : "s");
    }

private:
    std::shared_ptr<const Program> program_;
};

} // namespace
} // namespace cpu

std::shared_ptr<const Build> build_cpu(std::shared_ptr<const Plan> plan, const BuildOptions& options) {
    cpu::Program program{plan, cpu::chosen_instruction_set(), {}, options.threads};
    for (const plan::Sweep& sweep : plan->sweeps)
        program.sweeps.push_back(cpu::sweep_program(*plan, sweep, program.set));
    return std::make_shared<cpu::CpuBuild>(std::move(program));
}

} // namespace gf
