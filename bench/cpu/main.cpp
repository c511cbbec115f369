// Compares gridfold's CPU backend with code written without it, as one Google Benchmark: --benchmark_out writes JSON,
// --benchmark_filter selects. A name is workload/type/bytes:B/cpu/contender.
//
//     bench_cpu [--max_bytes=N, 2^30 unless told] [--rounds=N, 15 unless told; half as many of columns above 16 MiB]
//
// All contenders of a case are measured in turns when the first of them runs; a repetition is one round. Columns are
// read repeatedly: those that fit a cache are read from it.
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include <gridfold/gridfold.hpp>

#include "../dozen.hpp"
#include "../plain_names.hpp"
#include "../take_flag.hpp"
#include "harness.hpp"

namespace {

using namespace bench::cpu;

/// True for medians and failed runs. Versions of Google Benchmark mark failures differently, but without counters.
bool is_for_people(const bench::Run& run) {
    return run.aggregate_name == "median" || (bench::is_round(run) && run.counters.empty());
}

/// A case and, after measuring, its timings or the reason for none.
struct Measured {
    Case what;
    std::optional<std::vector<Timings>> timings{};
    std::string problem{};

    void ensure() {
        if (timings || !problem.empty()) return;
        try {
            timings = measure(what);
        } catch (const std::exception& error) {
            problem = error.what();
        }
    }
};

/// Registers all contenders of a case. `failed` becomes true when a check fails.
void add(const Case& what, bool& failed) {
    const auto measured = std::make_shared<Measured>(Measured{what});
    const std::vector<std::string> names = contender_names(what.workload);
    for (std::size_t c = 0; c < names.size(); ++c) {
        const auto report = [measured, c, &failed, round = std::size_t{0}](benchmark::State& state) mutable {
            measured->ensure();
            if (!measured->timings) {
                failed = true;
                return state.SkipWithError(measured->problem.c_str());
            }
            const double seconds = (*measured->timings)[c].seconds[round++];
            for ([[maybe_unused]] auto iteration : state) state.SetIterationTime(seconds);
            state.counters["bytes"] = static_cast<double>(measured->what.traffic());
            state.counters["elements"] = static_cast<double>(measured->what.elements());
        };
        benchmark::RegisterBenchmark((what.name() + "/" + names[c]).c_str(), report)
            ->Iterations(1)
            ->Repetitions(what.rounds)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
    }
}

} // namespace

int main(int count, char** arguments) {
    const std::size_t max_bytes = bench::take_flag(count, arguments, "--max_bytes", std::size_t{1} << 30);
    const auto rounds = static_cast<int>(bench::take_flag(count, arguments, "--rounds", 15));
    constexpr std::size_t min_bytes = std::size_t{1} << 12, large = std::size_t{1} << 24;

    bool failed = false;
    const auto add_sizes = [&](Workload workload, Type type, std::size_t most_bytes) {
        for (std::size_t bytes = min_bytes; bytes <= most_bytes; bytes *= 4)
            add({workload, type, bytes, bytes <= large ? rounds : (rounds + 1) / 2}, failed);
    };
    for (const Type type : {Type::i8, Type::i32, Type::i64, Type::f16, Type::f32, Type::f64})
        add_sizes(Workload::sum, type, max_bytes);
    for (const Workload workload : {Workload::cubes, Workload::five, Workload::dozen, Workload::zscore,
                                    Workload::log1p_zscore, Workload::range, Workload::built_in_range})
        add_sizes(workload, Type::f32, max_bytes);
    add_sizes(Workload::many, Type::f32, std::min(max_bytes, std::size_t{1} << 26)); // bindings take twice as much

    const auto is_file = [](const char* argument) {
        return std::string_view(argument).starts_with("--benchmark_out=");
    };
    const bool has_file = std::any_of(arguments + 1, arguments + count, is_file);
    benchmark::Initialize(&count, arguments);
    if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
    benchmark::AddCustomContext("gridfold", gf::compile(bench::dozen(false), {.device = "cpu"}).device());
    bench::PlainNames<benchmark::ConsoleReporter, is_for_people> display;
    bench::PlainNames<benchmark::JSONReporter, bench::is_round> file;
    benchmark::RunSpecifiedBenchmarks(&display, has_file ? &file : nullptr);
    return failed ? 1 : 0;
}
