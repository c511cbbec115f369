// Compares folds over some dims, and chains of them, on the CPU with loops that are written by hand, as one Google
// Benchmark: --benchmark_out writes JSON, --benchmark_filter selects. A name is
// <statistic>_over/<outer>x<folded>x<inner>/cpu/contender or <chain>_of/<rows>x<length>/cpu/contender, of f32.
//
//     bench_dims [--rounds=N, 9 unless told]
//
// The contenders of a case are measured in turns when the first of them runs; a repetition is one round. `ceiling` is a
// loop that only reads, or for chains copies. Threads: OMP_NUM_THREADS.
#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <gridfold/gridfold.hpp>

#include "../plain_names.hpp"
#include "../take_flag.hpp"
#include "cases.hpp"

namespace {

using namespace bench::dims;

/// A case and, once the first of its contenders has run, the seconds of each by round, or why there are none.
struct Measured {
    Case of;
    int rounds;
    std::vector<std::vector<double>> seconds{};
    std::string problem{};

    void ensure() {
        if (!seconds.empty() || !problem.empty()) return;
        try {
            measure(of.make());
        } catch (const std::exception& error) {
            problem = error.what();
            fmt::print(stderr, "{}: {}\n", of.name, problem);
        }
    }

private:
    void measure(const Measurable& made) {
        for (const auto& run : made.contenders) run();
        made.check();
        seconds.resize(made.contenders.size());
        for (int round = 0; round < rounds; ++round)
            for (std::size_t c = 0; c < made.contenders.size(); ++c) {
                const auto start = std::chrono::steady_clock::now();
                made.contenders[c]();
                seconds[c].push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
            }
    }
};

void add(Case of, int rounds, bool& failed) {
    const auto measured = std::make_shared<Measured>(Measured{std::move(of), rounds});
    for (std::size_t c = 0; c < std::size(contender_names); ++c) {
        const auto report = [measured, c, &failed, round = std::size_t{0}](benchmark::State& state) mutable {
            measured->ensure();
            if (!measured->problem.empty()) {
                failed = true;
                return state.SkipWithError(measured->problem.c_str());
            }
            const double seconds = measured->seconds[c][round++];
            for ([[maybe_unused]] auto iteration : state) state.SetIterationTime(seconds);
            state.counters["bytes"] = static_cast<double>(measured->of.bytes);
        };
        benchmark::RegisterBenchmark(fmt::format("{}/cpu/{}", measured->of.name, contender_names[c]).c_str(), report)
            ->Iterations(1)
            ->Repetitions(rounds)
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
    }
}

std::string device() {
    gf::Graph g("none");
    g.output("sum", gf::sum(g.input<float>("x", {g.dim("n")})));
    return gf::compile(g, {.device = "cpu"}).device();
}

bool is_for_people(const bench::Run& run) { return run.aggregate_name == "median"; }

} // namespace

int main(int count, char** arguments) {
    const int rounds = bench::take_rounds(count, arguments, 9);
    bool failed = false;
    for (const Case& of : fold_cases()) add(of, rounds, failed);
    for (const Case& of : chain_cases()) add(of, rounds, failed);
    const bool has_file = std::any_of(arguments + 1, arguments + count, [](const char* argument) {
        return std::string_view(argument).starts_with("--benchmark_out=");
    });
    benchmark::Initialize(&count, arguments);
    if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
    benchmark::AddCustomContext("gridfold", device());
    bench::PlainNames<benchmark::ConsoleReporter, is_for_people> display;
    bench::PlainNames<benchmark::JSONReporter, bench::is_round> file;
    benchmark::RunSpecifiedBenchmarks(&display, has_file ? &file : nullptr);
    return failed ? 1 : 0;
}
