// Compares gridfold's elementary functions on one thread of the CPU with those of vector libraries, as one Google
// Benchmark: --benchmark_out writes JSON, --benchmark_filter selects.
// A name is function_<case>/type/bytes:B/mode/contender; the mode is gridfold's instruction set, for which the others
// are compiled, too: that of the machine, or of the environment variable GRIDFOLD_CPU.
//
//     bench_functions [--rounds=N, 15 unless told]
//
// All contenders of a case are measured in turns when the first of them runs; a repetition is one round. The counter
// `ulps` is the largest error of the results.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "../plain_names.hpp"
#include "../take_flag.hpp"
#include "functions.hpp"

namespace {

using namespace bench::functions;

constexpr std::size_t elements = std::size_t{1} << 22;

/// True for medians.
bool is_for_people(const bench::Run& run) { return run.aggregate_name == "median"; }

struct Table {
    std::string_view contender;
    std::vector<Row> rows;
};
std::vector<Table> tables(std::string_view set) {
    if (set == "AVX-512") return {{"libmvec", libmvec_avx512()}, {"sleef", sleef_avx512()}};
    if (set == "AVX2") return {{"libmvec", libmvec_avx2()}, {"sleef", sleef_avx2()}};
    return {};
}

/// A contender's loop for a function, or null.
const Row* find(const Table& table, std::string_view function) {
    const auto row = std::ranges::find(table.rows, function, &Row::function);
    return row == table.rows.end() ? nullptr : &*row;
}

struct Contender {
    std::function<void()> run;
    std::vector<double> seconds{};
    double ulps = 0;
};

/// Each contender's times and error; gridfold is the first.
template <class T>
std::vector<Contender> measured(const Function& f, const std::vector<const Row*>& others, int rounds) {
    const std::vector<T> a = operands<T>(f, elements);
    const std::vector<T> b = f.arity == 2 ? operands<T>(f, elements, std::uint64_t{1} << 32) : std::vector<T>{};
    std::vector<T> out(elements);
    const Reference<T> reference(f, a, b);
    std::vector<Contender> all{{gridfold(f, out, a, b)}};
    for (const Row* row : others)
        all.push_back({[&, loop = row->loop<T>()] { loop(out.data(), a.data(), b.data(), elements); }});
    for (Contender& contender : all) {
        contender.run();
        contender.ulps = reference.error_of(out);
    }
    for (int round = 0; round < rounds; ++round)
        for (Contender& contender : all) {
            const auto start = std::chrono::steady_clock::now();
            contender.run();
            contender.seconds.push_back(
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        }
    return all;
}

/// Registers all contenders of a case.
template <class T>
void add(const Function& f, std::string_view type, const std::string& set, const std::vector<Table>& libraries,
         int rounds) {
    std::vector<std::string> names{"gridfold"};
    std::vector<const Row*> others;
    for (const Table& library : libraries)
        if (const Row* row = find(library, f.function)) {
            names.emplace_back(library.contender);
            others.push_back(row);
        }
    const auto all = std::make_shared<std::vector<Contender>>();
    for (std::size_t c = 0; c < names.size(); ++c) {
        const auto report = [=, &f, round = std::size_t{0}](benchmark::State& state) mutable {
            if (all->empty()) *all = measured<T>(f, others, rounds);
            for ([[maybe_unused]] auto iteration : state) state.SetIterationTime((*all)[c].seconds[round]);
            ++round;
            state.counters["elements"] = static_cast<double>(elements);
            state.counters["ulps"] = (*all)[c].ulps;
        };
        const std::string name =
            fmt::format("function_{}/{}/bytes:{}/{}/{}", f.name, type, elements * sizeof(T), set, names[c]);
        benchmark::RegisterBenchmark(name.c_str(), report)
            ->Iterations(1)
            ->Repetitions(rounds)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
    }
}

} // namespace

int main(int count, char** arguments) {
    const int rounds = bench::take_rounds(count, arguments, 15);
    const bool has_file = std::any_of(arguments + 1, arguments + count, [](std::string_view argument) {
        return argument.starts_with("--benchmark_out=");
    });
    const std::string set = gridfold_instruction_set();
    const std::vector<Table> libraries = tables(set);
    for (const Function& f : all_functions) {
        add<float>(f, "f32", set, libraries, rounds);
        add<double>(f, "f64", set, libraries, rounds);
    }
    benchmark::Initialize(&count, arguments);
    if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
    benchmark::AddCustomContext("gridfold", "cpu (" + set + ", 1 thread)");
    bench::PlainNames<benchmark::ConsoleReporter, is_for_people> display;
    bench::PlainNames<benchmark::JSONReporter, bench::is_round> file;
    benchmark::RunSpecifiedBenchmarks(&display, has_file ? &file : nullptr);
}
