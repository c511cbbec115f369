// Every kernel of random graphs compiles for each family of devices. Needs NVRTC, no GPU.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
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

// Small graphs: a compilation takes as long as its kernel is. And functions of libm take the longest: in a few graphs.
constexpr GenerateOptions exact{.inexact = Inexact::never, .max_steps = 3}, inexact{.max_steps = 3};

struct Compilation {
    std::string graph;
    std::string source;
    std::string target;
};

/// Compiles all, on every core. Returns what went wrong.
std::vector<std::string> compile_all(const std::vector<Compilation>& compilations) {
    const std::vector<std::string> flags = cuda::compiler_options(false);
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::vector<std::string> errors;
    const auto work = [&] {
        for (std::size_t i = next++; i < compilations.size(); i = next++) {
            const Compilation& compilation = compilations[i];
            std::string error;
            try {
                if (nvrtc::compile(compilation.source, compilation.target, flags).image.empty()) error = "no image";
            } catch (const CompileError& refused) {
                error = refused.log();
            }
            const std::lock_guard lock(mutex);
            if (!error.empty())
                errors.push_back(fmt::format("{}: {}\n{}", compilation.target, error, compilation.graph));
        }
    };
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(std::thread::hardware_concurrency(), 1u); ++i) threads.emplace_back(work);
    threads.clear();
    return errors;
}

TEST(RandomKernels, compile_for_every_architecture) {
    if (const std::string reason = nvrtc::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    std::vector<Compilation> compilations;
    Coverage coverage;
    for (std::uint64_t i = 0; i < graph_count(300); ++i) {
        const Case test = oracle::generate(first_seed() + i, i % 8 == 0 ? inexact : exact, coverage);
        const std::string text = describe(test);
        const Plan plan = fuse(test.graph);
        for (int sweep = 0; sweep < static_cast<int>(plan.sweeps.size()); ++sweep)
            for (const char* target : {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"})
                compilations.push_back({text, cuda::emit_cuda(plan, sweep).source, target});
    }
    const std::vector<std::string> errors = compile_all(compilations);
    fmt::print("count: {} random graphs through NVRTC for 5 architectures\ncount: {} compilations by NVRTC\n",
               graph_count(300), compilations.size());
    EXPECT_TRUE(errors.empty()) << errors.size() << " kernels do not compile; the first for " << errors.front();
}

} // namespace
} // namespace gf::oracle
