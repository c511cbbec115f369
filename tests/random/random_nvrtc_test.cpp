// Every kernel of random graphs compiles for each family of devices, and few spill registers. Needs NVRTC, no GPU.
#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <cuda/emit_cuda.hpp>
#include <fmt/format.h>
#include <gridfold/core/error.hpp>
#include <gridfold/core/nvrtc.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>
#include <gtest/gtest.h>

#include "generate.hpp"
#include "settings.hpp"

namespace gf::oracle {
namespace {

// Small graphs, because compilation time grows with the kernel; elementary functions, the slowest, only in a few.
constexpr GenerateOptions short_ones{.functions = false, .max_steps = 3}, any{.max_steps = 3, .keeps_dims = true};

struct Compilation {
    std::string graph;
    std::string source;
    std::string target;
};

/// Compiles all on every core and calls `look` for each, one at a time. Returns the errors.
std::vector<std::string> compile_all(
    const std::vector<Compilation>& compilations, const std::vector<std::string>& more_flags = {},
    const std::function<void(const Compilation&, const nvrtc::Compiled&)>& look = [](auto&...) {}) {
    std::vector<std::string> flags = cuda::compiler_options(false);
    flags.insert(flags.end(), more_flags.begin(), more_flags.end());
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::vector<std::string> errors;
    const auto work = [&] {
        for (std::size_t i = next++; i < compilations.size(); i = next++) {
            const Compilation& compilation = compilations[i];
            std::string error;
            nvrtc::Compiled compiled;
            try {
                compiled = nvrtc::compile(compilation.source, compilation.target, flags);
                if (compiled.image.empty()) error = "no image";
            } catch (const CompileError& refused) {
                error = refused.log();
            }
            const std::lock_guard lock(mutex);
            if (error.empty())
                look(compilation, compiled);
            else
                errors.push_back(fmt::format("{}: {}\n{}", compilation.target, error, compilation.graph));
        }
    };
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(std::thread::hardware_concurrency(), 1u); ++i) threads.emplace_back(work);
    threads.clear();
    return errors;
}

enum class Which : std::uint8_t {
    first, ///< the schedule for aligned arrays, which PlanLoader tries first
    last   ///< the one for unaligned arrays and one resident block, which it tries last
};

/// Adds each kernel of a graph for every target. `blocks`: of the launch.
void add_kernels(std::vector<Compilation>& to, const Case& test, const std::vector<const char*>& targets,
                 Which which = Which::last, cuda::Problems problems = cuda::Problems::one, std::int64_t blocks = 0) {
    const std::string text = describe(test);
    const Plan fused = fuse(test.graph);
    for (const plan::SweepId id : fused.sweeps.ids()) {
        const Sweep& sweep = fused.sweeps[id];
        cuda::Schedule schedule = cuda::choose_schedule(fused, sweep, problems, blocks);
        if (which == Which::last) {
            schedule = cuda::for_unaligned(fused, sweep, schedule);
            schedule.resident = 1;
        }
        const std::string source = cuda::emit_cuda(fused, id, schedule).source;
        for (const char* target : targets) to.push_back({text, source, target});
    }
}

// Device text asks for sm_80 and sm_90, so these and what is before them see all of it; those before sm_90 take turns.
// Newer devices see the same text as sm_90: what is left of them is tried by each fourth graph.
TEST(RandomKernels, compile_for_every_architecture) {
    if (const std::string reason = nvrtc::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    std::vector<Compilation> compilations;
    Coverage coverage;
    const std::uint64_t graphs = graph_count(32);
    for (std::uint64_t i = 0; i < graphs; ++i) {
        std::vector<const char*> targets{"sm_90", i / 8 % 2 == 0 ? "sm_75" : "sm_80"};
        if (i % 4 == 0) targets.push_back("sm_100");
        if (i % 4 == 1) targets.push_back("sm_120");
        add_kernels(compilations, oracle::generate(first_seed() + i, i % 8 <= 1 ? any : short_ones, coverage), targets);
    }
    const std::vector<std::string> errors = compile_all(compilations);
    fmt::print("count: {} random graphs through NVRTC for 5 architectures\ncount: {} compilations by NVRTC\n", graphs,
               compilations.size());
    EXPECT_TRUE(errors.empty()) << errors.size() << " kernels do not compile; the first for " << errors.front();
}

/// The bytes that ptxas says a thread of some function stores to spill registers, those of all functions together.
int spilled_bytes(const std::string& log) {
    constexpr std::string_view words = " bytes spill stores";
    int bytes = 0;
    for (std::size_t at = log.find(words); at != std::string::npos; at = log.find(words, at + 1))
        bytes += std::stoi(log.substr(log.rfind(' ', at - 1) + 1));
    return bytes;
}

/// Expects that few of 50 graphs spill, which mostly have more folds than a user's, and that they spill little.
/// fusion/src/cuda/schedule.cpp estimates registers. A kernel that spills runs slower or, if it was compiled for
/// several resident blocks, is compiled again for fewer.
void expect_few_spills(Which which, cuda::Problems problems) {
    std::vector<Compilation> compilations;
    Coverage coverage;
    constexpr std::uint64_t graphs = 50;
    for (std::uint64_t seed = 1; seed <= graphs; ++seed) {
        const std::int64_t blocks = problems == cuda::Problems::many && seed / 8 % 2 == 0 ? 100'000 : 0; // a large grid
        add_kernels(compilations, oracle::generate(seed, {.functions = seed % 8 == 0, .otherwise = false}, coverage),
                    {"sm_90"}, which, problems, blocks);
    }
    std::map<std::string, int> bytes; // by graph: of the kernel that spills most
    const auto look = [&](const Compilation& compilation, const nvrtc::Compiled& compiled) {
        ASSERT_NE(compiled.log.find(" bytes spill stores"), std::string::npos) << compiled.log;
        int& most = bytes[compilation.graph];
        most = std::max(most, spilled_bytes(compiled.log));
    };
    const std::vector<std::string> errors = compile_all(compilations, {"--ptxas-options=-v"}, look);
    fmt::print("count: {} random graphs looked at for spills\n", graphs);
    EXPECT_TRUE(errors.empty()) << errors.size() << " kernels do not compile; the first for " << errors.front();
    const auto spilling_more_than = [&](int least) {
        std::string found;
        for (const auto& [graph, most] : bytes)
            if (most > least) found += fmt::format("{} bytes: {}\n", most, graph);
        return std::pair(std::ranges::count_if(bytes, [&](const auto& of) { return of.second > least; }), found);
    };
    const auto [all, of_all] = spilling_more_than(0);
    const auto [much, of_much] = spilling_more_than(64);
    EXPECT_LE(all, 5) << of_all;
    EXPECT_LE(much, 1) << of_much;
    EXPECT_EQ(spilling_more_than(320).first, 0) << of_much; // what one graph spills today, and a little more
}

TEST(RandomKernels, of_few_graphs_spill_registers) {
    if (const std::string reason = nvrtc::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    expect_few_spills(Which::last, cuda::Problems::one);
}

TEST(RandomKernels, of_few_graphs_spill_registers_with_their_first_schedule) {
    if (const std::string reason = nvrtc::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    expect_few_spills(Which::first, cuda::Problems::one);
}

TEST(RandomKernels, of_many_problems_of_few_graphs_spill_registers) {
    if (const std::string reason = nvrtc::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    expect_few_spills(Which::last, cuda::Problems::many);
}

} // namespace
} // namespace gf::oracle
