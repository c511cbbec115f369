// Random graphs on the CUDA backend against the CPU backend, by bits.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <functional>
#include <future>
#include <thread>

#include <fmt/format.h>
#include <gridfold/core/device.hpp>
#include <gridfold/ops/text.hpp>
#include <gtest/gtest.h>

#include "failures.hpp"
#include "fusion/device_scale.hpp"
#include "generate.hpp"
#include "settings.hpp"
#include "subject.hpp"

namespace gf::oracle {
namespace {

Executable on_the_gpu(const Case& test) { return compile(test.graph, {.device = "cuda"}); }

/// The first difference in the device's answer, or nothing. `compiled` returns the executable, or throws.
std::optional<std::string> compare(const Case& test, const std::function<Executable()>& compiled) {
    const Inputs inputs = inputs_of(test);
    const auto cpu = run(compile(test.graph, {.device = "cpu"}), test, inputs);
    return difference(cpu, run(compiled(), test, inputs));
}

class RandomGraphsOnTheGpu : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string reason = cuda_unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    }
    /// Compiles a batch at a time on every core; runs one graph after the other.
    void expect_agreement(std::uint64_t all_graphs) {
        const auto max_elements = test::scaled<std::int64_t>(300'000);
        const GenerateOptions options{.max_elements = max_elements},
            keeping{.max_elements = max_elements, .keeps_dims = true};
        const std::uint64_t graphs = test::scaled(graph_count(all_graphs));
        constexpr std::uint64_t batch = 64;
        Coverage coverage;
        for (std::uint64_t done = 0; done < graphs && !HasFailure(); done += batch) {
            std::vector<Case> cases;
            for (std::uint64_t i = done; i < std::min(done + batch, graphs); ++i)
                cases.push_back(oracle::generate(first_seed() + i, i % 3 == 0 ? keeping : options, coverage));
            std::vector<std::future<Executable>> compiled(cases.size());
            std::atomic<std::size_t> next = 0;
            const auto compile_some = [&] {
                for (std::size_t i = next++; i < cases.size(); i = next++) {
                    std::packaged_task<Executable()> task([&] { return on_the_gpu(cases[i]); });
                    compiled[i] = task.get_future();
                    task();
                }
            };
            {
                std::vector<std::jthread> threads;
                for (unsigned t = 0; t < std::max(std::thread::hardware_concurrency(), 1u); ++t)
                    threads.emplace_back(compile_some);
            }
            for (std::size_t i = 0; i < cases.size() && !HasFailure(); ++i)
                check(cases[i], [&] { return compiled[i].get(); });
        }
        if (graphs >= all_graphs) {
            EXPECT_EQ(missing(coverage, rows(options)), std::vector<std::string>{});
        }
    }

    static void check(const Case& test, const std::function<Executable()>& compiled) {
        std::optional<std::string> seen;
        bool lost = false;
        try {
            seen = compare(test, compiled);
        } catch (const DeviceError& error) {
            seen = error.what();
            lost = is_device_lost(error);
        } catch (const std::exception& error) {
            seen = error.what();
        }
        if (!seen) return;
        // A lost device cannot run a case again.
        const auto again = [](const Case& c) { return compare(c, [&] { return on_the_gpu(c); }); };
        const auto small = failure("on the GPU", again, test, lost ? 0 : 3000);
        ADD_FAILURE() << *seen << "\n" << describe(test) << "\n" << small.value_or("not seen again");
    }
};

TEST_F(RandomGraphsOnTheGpu, give_the_cpus_bits) { expect_agreement(1000); }

} // namespace
} // namespace gf::oracle
