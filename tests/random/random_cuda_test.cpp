// Random graphs on the CUDA backend against the CPU backend: by bits, except outputs of maps whose functions come from
// different libraries, which are compared within their rows' ulps.
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

GenerateOptions options(Inexact inexact) {
    return {.inexact = inexact, .max_elements = test::scaled<std::int64_t>(300'000)};
}

/// The distance of two numbers in units in the last place of the expected one, in its type.
double ulps_between(Bits expected, Bits actual, DType type, double least_magnitude) {
    if (same(expected, actual, type)) return 0;
    const double e = number_of(expected, type), a = number_of(actual, type);
    const int fraction = type == DType::f16 ? 10 : type == DType::bf16 ? 7 : type == DType::f32 ? 23 : 52;
    const int least = type == DType::f16 ? -14 : type == DType::f64 ? -1022 : -126;
    const int exponent = std::max(std::ilogb(std::max(std::abs(e), least_magnitude)), least);
    return std::abs(a - e) / std::ldexp(1.0, exponent - fraction);
}

/// difference(), but with elements of inexact outputs compared within their rows' ulps.
std::optional<std::string> difference_within_ulps(const Graph& graph, const std::vector<Result>& expected,
                                                  std::vector<Result> actual) {
    for (std::size_t i = 0; i < actual.size() && i < expected.size(); ++i) {
        const Node& node = graph.node(graph.outputs()[i].node);
        const bool map = node.kind == NodeKind::map && !node.map->facts.exact;
        const bool reduction = node.kind == NodeKind::reduce && node.reduce->ulps > 0;
        if ((!map && !reduction) || expected[i].elements.size() != actual[i].elements.size()) continue;
        // A result of 16 bits is a rounded f32: near a tie it may round either way.
        const double bound = std::max(map ? node.map->ulps : node.reduce->ulps, 1.0);
        // logsumexp's bound is in ulps of the larger of its result and its largest element, here at most 20.
        const double least = reduction ? 20.0 : 0.0;
        for (std::size_t k = 0; k < expected[i].elements.size(); ++k) {
            const double ulps = ulps_between(expected[i].elements[k], actual[i].elements[k], node.type, least);
            if (!(ulps <= bound))
                return fmt::format("{}[{}]: {} ulps apart, the row states {}", expected[i].name, k, ulps, bound);
            actual[i].elements[k] = expected[i].elements[k];
        }
    }
    return difference(expected, actual);
}

Executable on_the_gpu(const Case& test) { return compile(test.graph, {.device = "cuda"}); }

/// The first difference in the device's answer, or nothing. `compiled` returns the executable, or throws.
std::optional<std::string> compare(const Case& test, const std::function<Executable()>& compiled) {
    const Inputs inputs = inputs_of(test);
    const auto cpu = run(compile(test.graph, {.device = "cpu"}), test, inputs);
    return difference_within_ulps(test.graph, cpu, run(compiled(), test, inputs));
}

class RandomGraphsOnTheGpu : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string reason = cuda_unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    }
    /// Compiles a batch at a time on every core; runs one graph after the other.
    void expect_agreement(Inexact inexact, std::uint64_t all_graphs) {
        const GenerateOptions options = oracle::options(inexact);
        const std::uint64_t graphs = test::scaled(graph_count(all_graphs));
        constexpr std::uint64_t batch = 64;
        Coverage coverage;
        for (std::uint64_t done = 0; done < graphs && !HasFailure(); done += batch) {
            std::vector<Case> cases;
            for (std::uint64_t i = done; i < std::min(done + batch, graphs); ++i)
                cases.push_back(oracle::generate(first_seed() + i, options, coverage));
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

TEST_F(RandomGraphsOnTheGpu, give_the_cpus_bits) { expect_agreement(Inexact::never, 600); }
TEST_F(RandomGraphsOnTheGpu, of_inexact_maps_stay_within_the_stated_ulps) { expect_agreement(Inexact::last, 400); }

} // namespace
} // namespace gf::oracle
