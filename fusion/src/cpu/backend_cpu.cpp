// The CPU backend: runs a plan's sweeps in order, each on all threads, those of a chain over some rows at a time; for
// many problems, one problem on each thread.
#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <omp.h>

#include <gridfold/fusion/backend.hpp>

#include "cpu/chain_run.hpp"
#include "cpu/kept_run.hpp"
#include "cpu/sweep_run.hpp"
#include "cpu/threads.hpp"
#include "cpu/tile_code.hpp"
#include "host_kernels/floating_mode.hpp"
#include "plan/join_phases.hpp"
#include "plan/share_in_chains.hpp"

namespace gf {

namespace cpu {
namespace {

/// A plan's programs for contiguous arrays, shared by the runners of a Build; or for arrays with strides.
struct Program {
    std::shared_ptr<const Plan> plan;
    std::vector<bool> strided; ///< by Plan::arrays: bound with strides; empty: none is
    InstructionSet set;
    std::vector<SweepProgram> sweeps = {};
    std::vector<std::vector<SweepId>> groups = {}; ///< the sweeps in the order of a run, those of a chain together
    /// The plan in which chains share values, and the programs of their sweeps, by sweep; none: nothing is shared.
    std::shared_ptr<const Plan> shared = {};
    std::vector<std::optional<SweepProgram>> shared_sweeps = {};
    int threads = 0; ///< BuildOptions::threads
};

Program program_of(std::shared_ptr<const Plan> plan, std::vector<bool> strided, InstructionSet set, int threads) {
    Program program{.plan = std::move(plan), .strided = std::move(strided), .set = set, .threads = threads};
    for (const plan::Sweep& sweep : program.plan->sweeps)
        program.sweeps.push_back(sweep_program(*program.plan, sweep, set));
    const std::vector<plan::Chain> chains = find_chains(*program.plan);
    program.groups = groups_in_order(*program.plan, chains);
    program.shared_sweeps.resize(program.sweeps.size());
    Plan shared = share_in_chains(*program.plan, chains);
    if (shared.arrays.size() == program.plan->arrays.size()) return program; // nothing is shared
    program.shared = std::make_shared<const Plan>(std::move(shared));
    for (const plan::Chain& chain : chains)
        for (const SweepId s : chain)
            program.shared_sweeps[s.index()] = sweep_program(*program.shared, program.shared->sweeps[s], set);
    return program;
}

/// By Plan::arrays: true if any problem gives the array strides. Empty if none does.
std::vector<bool> strided_arrays(const Plan& plan, const Bound& problems) {
    std::vector<bool> strided;
    for (std::size_t i = 0; i < problems.strides.size(); ++i) {
        if (problems.strides[i].rank() == 0) continue;
        strided.resize(plan.arrays.size());
        strided[i % plan.arrays.size()] = true;
    }
    return strided;
}

AnyRun run_of(const Plan& plan, SweepId s, const SweepProgram& program, int threads) {
    const Sweep& sweep = plan.sweeps[s];
    if (kept_dims(sweep).empty()) return AnyRun(std::in_place_type<SweepRun>, plan, sweep, program, threads);
    return AnyRun(std::in_place_type<KeptRun>, plan, sweep, program, threads);
}

int thread_count(const Program& program) {
    if (!may_start_threads()) return 1;
    return program.threads > 0 ? program.threads : std::max(omp_get_max_threads(), 1);
}

/// With at least as many problems as threads, each thread runs some at a time; otherwise all threads run one problem
/// after the other.
class CpuRunner final : public Runner {
public:
    explicit CpuRunner(const std::shared_ptr<const Program>& program) : contiguous_(program), program_(program) {}

    void bind(const Bound& problems) override;
    void run(std::span<ScalarResult> scalars, StreamView) override { solve_all(scalars); }
    void enqueue(StreamView) override { solve_all(scalars_); }
    void wait(std::span<ScalarResult> scalars) override { std::ranges::copy(scalars_, scalars.begin()); }

private:
    /// The resources with which one thread, or all threads, solve one problem after the other.
    struct Worker {
        std::vector<AnyRun> sweeps;
        std::vector<std::optional<AnyRun>> shared_sweeps; ///< by Program::shared_sweeps
        std::vector<std::optional<ChainRun>> chains;      ///< by Program::groups: of two sweeps or more; refer to both
        std::vector<GrowingBytes> temporaries;            ///< by array
        std::vector<char*> arrays;                        ///< the arrays of the current problem
    };
    std::shared_ptr<const Program> program_for(const Bound& problems) const;
    /// Sets the extents of the sweeps of one of Program::groups, of its chain and of each by itself.
    void fit(Worker& worker, std::size_t group, std::span<const std::int64_t> extents) const;
    static std::vector<Worker> make_workers(const Program& program, std::size_t count, int team);
    void reserve(std::span<Worker> workers, int team, const Bound& problems) const;
    void solve(std::size_t number, Worker& worker, std::span<ScalarResult> scalars);
    /// `scalars` holds one problem after the other, by Plan::scalars.
    void solve_all(std::span<ScalarResult> scalars);

    std::shared_ptr<const Program> contiguous_; ///< the Build's
    std::shared_ptr<const Program> program_;    ///< for what is bound
    Bound bound_, next_;
    std::vector<Worker> workers_;       ///< refer to program_
    int team_ = 0;                      ///< threads of a worker
    std::vector<ScalarResult> scalars_; ///< the scalars of the last enqueue()
};

/// The program that reads these problems' arrays: one that gathers those with strides.
std::shared_ptr<const Program> CpuRunner::program_for(const Bound& problems) const {
    std::vector<bool> strided = strided_arrays(*contiguous_->plan, problems);
    if (strided.empty()) return contiguous_;
    if (strided == program_->strided) return program_;
    auto plan = std::make_shared<const Plan>(with_strides(*contiguous_->plan, strided));
    return std::make_shared<const Program>(
        program_of(std::move(plan), std::move(strided), contiguous_->set, contiguous_->threads));
}

std::vector<CpuRunner::Worker> CpuRunner::make_workers(const Program& program, std::size_t count, int team) {
    const Plan& plan = *program.plan;
    std::vector<Worker> workers(count);
    for (Worker& worker : workers) {
        worker.sweeps.reserve(plan.sweeps.size());
        worker.shared_sweeps.resize(plan.sweeps.size());
        for (const SweepId s : plan.sweeps.ids()) {
            worker.sweeps.push_back(run_of(plan, s, program.sweeps[s.index()], team));
            if (const auto& shared = program.shared_sweeps[s.index()])
                worker.shared_sweeps[s.index()].emplace(run_of(*program.shared, s, *shared, team));
        }
        const Plan& plan_of_chains = program.shared ? *program.shared : plan;
        for (const std::vector<SweepId>& group : program.groups) {
            std::optional<ChainRun>& chain = worker.chains.emplace_back();
            if (group.size() == 1) continue;
            std::vector<AnyRun*> runs;
            std::int64_t work = 0;
            for (const SweepId s : group) {
                std::optional<AnyRun>& shared = worker.shared_sweeps[s.index()];
                runs.push_back(shared ? &*shared : &worker.sweeps[s.index()]);
                work += program.sweeps[s.index()].work;
            }
            chain.emplace(plan_of_chains, group, std::move(runs), plan.arrays.next(), work, team);
        }
        worker.temporaries.resize(plan.arrays.size());
        worker.arrays.resize(plan_of_chains.arrays.size());
    }
    return workers;
}

void CpuRunner::fit(Worker& worker, std::size_t group, std::span<const std::int64_t> extents) const {
    for (const SweepId s : program_->groups[group])
        std::visit([&](auto& run) { run.fit(extents); }, worker.sweeps[s.index()]);
    if (worker.chains[group]) worker.chains[group]->fit(extents);
}

/// Allocates for all problems, so that no run allocates.
void CpuRunner::reserve(std::span<Worker> workers, int team, const Bound& problems) const {
    const Plan& plan = *program_->plan;
    const auto extents = [&](std::size_t p) { return problem_of(plan, problems, p).extents; };
    // The most elements of a problem over these dims, and the first such problem.
    const auto most_elements = [&](std::span<const DimId> dims) {
        std::pair<std::int64_t, std::size_t> most{-1, 0};
        for (std::size_t p = 0; p < problems.count; ++p) {
            if (p > 0 && same_extents(extents(p), extents(p - 1))) continue;
            if (const std::int64_t elements = *element_count(dims, extents(p)); elements > most.first)
                most = {elements, p};
        }
        return most;
    };
    for (std::size_t group = 0; group < program_->groups.size(); ++group) {
        const Sweep& first = plan.sweeps[program_->groups[group].front()];
        // The memory of one thread grows with the elements, except where the blocks of results are kept.
        if (team == 1 && kept_dims(first).empty()) {
            const std::size_t largest = most_elements(first.dims).second;
            for (Worker& worker : workers) fit(worker, group, extents(largest));
        } else {
            for (Worker& worker : workers)
                for (std::size_t p = 0; p < problems.count; ++p) fit(worker, group, extents(p));
        }
    }
    for (std::size_t a = 0; a < plan.arrays.size(); ++a) {
        if (plan.arrays[a].role != ArrayRole::temporary) continue;
        const auto elements = static_cast<std::size_t>(most_elements(plan.arrays[a].dims).first);
        for (Worker& worker : workers) worker.temporaries[a].reserve(elements * size_of(plan.arrays[a].type));
    }
}

void CpuRunner::bind(const Bound& problems) {
    const int threads = thread_count(*program_);
    const bool side_by_side = problems.count > 1 && problems.count >= static_cast<std::size_t>(threads);
    const std::size_t workers = side_by_side ? static_cast<std::size_t>(threads) : 1;
    const int team = side_by_side ? 1 : threads;
    std::vector<Worker> made;
    std::shared_ptr<const Program> program = program_for(problems);
    const bool same = workers_.size() == workers && team_ == team && program == program_;
    if (!same) made = make_workers(*program, workers, team);
    reserve(same ? workers_ : made, team, problems);

    next_.count = problems.count;
    next_.extents = problems.extents;
    next_.arrays = problems.arrays;
    next_.parameters = problems.parameters;
    next_.strides = problems.strides;
    scalars_.resize(problems.count * program_->plan->scalars.size());
    // Nothing below throws.
    if (!same) {
        workers_ = std::move(made);
        program_ = std::move(program); // after the workers that refer to the old one
        team_ = team;
    }
    std::swap(bound_, next_);
}

void CpuRunner::solve(std::size_t number, Worker& worker, std::span<ScalarResult> scalars) {
    const Plan& plan = *program_->plan;
    const BoundProblem problem = problem_of(plan, bound_, number);
    for (std::size_t a = 0; a < problem.arrays.size(); ++a)
        worker.arrays[a] = plan.arrays[a].role == ArrayRole::temporary ? worker.temporaries[a].get()
                                                                       : static_cast<char*>(problem.arrays[a].address);
    for (std::size_t group = 0; group < program_->groups.size(); ++group) {
        if (std::optional<ChainRun>& chain = worker.chains[group]) {
            chain->fit(problem.extents);
            if (!problem.strides.empty()) chain->take_strides(problem.strides);
            if (chain->can_run(worker.arrays)) {
                chain->run(worker.arrays, problem.parameters, scalars);
                continue;
            }
        }
        for (const SweepId s : program_->groups[group])
            std::visit(
                [&](auto& run) {
                    run.fit(problem.extents);                                        // defect: fit
                    if (!problem.strides.empty()) run.take_strides(problem.strides); // defect: take strides
                    run.run(worker.arrays, problem.parameters, scalars);
                },
                worker.sweeps[s.index()]);
    }
}

void CpuRunner::solve_all(std::span<ScalarResult> scalars) {
    const FloatingMode mode; // defect: mode
    const std::size_t each = program_->plan->scalars.size();
    if (workers_.size() == 1 || !may_start_threads()) { // a forked child has no other thread
        for (std::size_t p = 0; p < bound_.count; ++p) solve(p, workers_.front(), scalars.subspan(p * each, each));
        return;
    }
    const auto count = static_cast<std::int64_t>(bound_.count);
    constexpr std::int64_t turns = 64; // turns of a thread: problems may differ in size
    const std::int64_t some = std::max<std::int64_t>(count / (turns * static_cast<std::int64_t>(workers_.size())), 1);
#pragma omp parallel num_threads(static_cast<int>(workers_.size()))
    {
        const FloatingMode mode_of_thread;
        Worker& worker = workers_[static_cast<std::size_t>(omp_get_thread_num())];
#pragma omp for schedule(dynamic, some)
        for (std::int64_t i = 0; i < count; ++i) {
            const auto p = static_cast<std::size_t>(i);
            solve(p, worker, scalars.subspan(p * each, each));
        }
    }
}

class CpuBuild final : public Build {
public:
    explicit CpuBuild(Program program) : program_(std::make_shared<const Program>(std::move(program))) {}
    std::unique_ptr<Runner> runner() const override { return std::make_unique<CpuRunner>(program_); }
    std::unique_ptr<Runner> many_runner() const override { return runner(); }
    std::vector<SweepFacts> facts() const override {
        std::vector<SweepFacts> facts(program_->sweeps.size());
        for (std::size_t s = 0; s < facts.size(); ++s) {
            facts[s].cached = true;
            facts[s].loop = loop_text(*program_->plan, program_->plan->sweeps[s], program_->sweeps[s], program_->set);
        }
        return facts;
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
    return std::make_shared<cpu::CpuBuild>(
        cpu::program_of(std::move(plan), {}, cpu::chosen_instruction_set(), options.threads));
}

} // namespace gf
