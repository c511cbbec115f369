// The CPU backend: a plan's sweeps one after the other, each on all threads.
#include <algorithm>

#include <fmt/format.h>
#include <omp.h>

#include <gridfold/fusion/backend.hpp>

#include "sweep_run.hpp"

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
    explicit CpuRunner(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

    void bind(const Bound& bound) override {
        const Plan& plan = *program_->plan;
        State state;
        state.threads = thread_count();
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
    State state_;
    bool bound_ = false;
};

class CpuBuild final : public Build {
public:
    explicit CpuBuild(Program program) : program_(std::make_shared<const Program>(std::move(program))) {}
    std::unique_ptr<Runner> runner() const override { return std::make_unique<CpuRunner>(program_); }
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
    for (const Sweep& sweep : plan->sweeps) program.sweeps.push_back(cpu::sweep_program(*plan, sweep, program.set));
    return std::make_shared<cpu::CpuBuild>(std::move(program));
}

} // namespace gf
