// Compares folds over some dims on the CPU with loops that are written by hand, as one Google Benchmark:
// --benchmark_out writes JSON, --benchmark_filter selects. A name is
// <statistic>_over/<outer>x<folded>x<inner>/cpu/contender, of f32.
//
//     bench_dims [--rounds=N, 9 unless told]
//
// The contenders of a case are measured in turns when the first of them runs; a repetition is one round. `ceiling` is a
// loop that only reads. Threads: OMP_NUM_THREADS.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <gridfold/gridfold.hpp>

#include "../plain_names.hpp"
#include "../take_flag.hpp"
#include "loops.hpp"

namespace {

using namespace bench::dims;

constexpr Shape shapes[] = {
    // rows
    {1U << 23, 8, 1},
    {1U << 20, 64, 1},
    {1U << 18, 256, 1},
    {66'000, 1'000, 1},
    {1U << 14, 4'096, 1},
    {513, 131'071, 1},
    {64, 1U << 20, 1},
    {8, 1U << 23, 1},
    // columns
    {1, 1U << 23, 8},
    {1, 1U << 20, 64},
    {1, 1U << 18, 256},
    {1, 1U << 14, 4'096},
    {1, 513, 131'071},
    {1, 64, 1U << 20},
    // channels: last, and in the middle
    {1, 22'000'000, 3},
    {1'024, 64, 1'024},
    {65'536, 16, 64},
};

std::string_view to_text(Statistic statistic) {
    switch (statistic) {
    case Statistic::sum: return "sum";
    case Statistic::max: return "max";
    case Statistic::five: return "five";
    }
    return "";
}

/// Numbers of eleven binary digits between −1 and 1, none of them 0: their sums are exact in f64.
std::vector<float> numbers(std::size_t n) {
    std::vector<float> x(n);
    std::uint64_t bits = 1;
    for (float& element : x) {
        bits = bits * 6364136223846793005U + 1442695040888963407U;
        element = (static_cast<float>(bits >> 54) - 511.5F) / 512.0F;
    }
    return x;
}

/// The results of a contender.
struct Answer {
    std::vector<float> sum, squares, least, most;
    std::vector<std::int64_t> positive;

    explicit Answer(std::size_t n) : sum(n), squares(n), least(n), most(n), positive(n) {}
    Results results() { return {sum.data(), squares.data(), least.data(), most.data(), positive.data()}; }
};

/// Rows have no inner dim: a kept dim inside a folded one has an order of its own, whatever its extent.
gf::Graph graph(Statistic statistic, const Shape& shape) {
    gf::Graph g("dims");
    const gf::Dim outer = g.dim("outer"), folded = g.dim("folded");
    const gf::Value x =
        shape.inner == 1 ? g.input<float>("x", {outer, folded}) : g.input<float>("x", {outer, folded, g.dim("inner")});
    const gf::ReduceOptions over = gf::over(folded);
    if (statistic != Statistic::max) g.output("sum", gf::sum(x, over));
    if (statistic != Statistic::sum) g.output("max", gf::max(x, over));
    if (statistic == Statistic::five) {
        g.output("squares", gf::sum_of_squares(x, over));
        g.output("min", gf::min(x, over));
        g.output("positive", gf::count(x > 0, over));
    }
    return g;
}

std::function<void()> gridfold(Statistic statistic, const Shape& shape, const float* x, Answer& answer) {
    const auto n = [](std::size_t extent) { return static_cast<std::int64_t>(extent); };
    std::vector<std::int64_t> kept{n(shape.outer)}, all{n(shape.outer), n(shape.folded)};
    if (shape.inner > 1) kept.push_back(n(shape.inner)), all.push_back(n(shape.inner));
    const auto view = [&](auto& values) { return gf::host_view(values.data(), gf::Extents(kept)); };
    gf::Bindings outputs;
    if (statistic != Statistic::max) outputs.emplace_back("sum", view(answer.sum));
    if (statistic != Statistic::sum) outputs.emplace_back("max", view(answer.most));
    if (statistic == Statistic::five) {
        outputs.emplace_back("squares", view(answer.squares));
        outputs.emplace_back("min", view(answer.least));
        outputs.emplace_back("positive", view(answer.positive));
    }
    const gf::Executable exe = gf::compile(graph(statistic, shape), {.device = "cpu"});
    return
        [prepared = std::make_shared<gf::Prepared>(exe.prepare({{"x", gf::host_view(x, gf::Extents(all))}}, outputs))] {
            prepared->run();
        };
}

/// Reads the array and nothing else.
void read(const float* x, std::size_t n) {
    std::uint64_t total = 0;
    const auto* const words = reinterpret_cast<const std::uint64_t*>(x);
#pragma omp parallel for simd reduction(+ : total) schedule(static)
    for (std::size_t i = 0; i < n / 2; ++i) total += words[i];
    benchmark::DoNotOptimize(total);
}

/// Throws std::runtime_error if an answer differs by more than the rounding of f32 sums.
void check(const Answer& answer, const Answer& reference, std::string_view contender) {
    const auto close = [&](const std::vector<float>& a, const std::vector<float>& b, float scale) {
        for (std::size_t i = 0; i < a.size(); ++i)
            if (!(std::abs(a[i] - b[i]) <= scale * 1e-5F))
                throw std::runtime_error(fmt::format("{}: result {} is {}, must be {}", contender, i, a[i], b[i]));
    };
    const float largest = *std::ranges::max_element(reference.squares) + 1;
    close(answer.sum, reference.sum, largest);
    close(answer.squares, reference.squares, largest);
    close(answer.least, reference.least, 0);
    close(answer.most, reference.most, 0);
    if (answer.positive != reference.positive) throw std::runtime_error(fmt::format("{}: counts differ", contender));
}

struct Contender {
    std::string name;
    std::function<void()> run;
    std::vector<double> seconds{};
};

std::vector<Contender> measured(Statistic statistic, const Shape& shape, int rounds) {
    const std::vector<float> x = numbers(shape.elements());
    Answer own(shape.results()), loops(shape.results());
    std::vector<Contender> all{
        {"gridfold", gridfold(statistic, shape, x.data(), own)},
        {"loop", [&] { loop(statistic, shape, x.data(), loops.results()); }},
        {"ceiling", [&] { read(x.data(), x.size()); }},
    };
    for (const Contender& contender : all) contender.run();
    check(own, loops, "gridfold");
    for (int round = 0; round < rounds; ++round)
        for (Contender& contender : all) {
            const auto start = std::chrono::steady_clock::now();
            contender.run();
            contender.seconds.push_back(
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        }
    for (Contender& contender : all) contender.run = nullptr; // they refer to what ends here
    return all;
}

struct Measured {
    Statistic statistic;
    Shape shape;
    int rounds;
    std::vector<Contender> contenders{};
    std::string problem{};

    void ensure() {
        if (!contenders.empty() || !problem.empty()) return;
        try {
            contenders = measured(statistic, shape, rounds);
        } catch (const std::exception& error) {
            problem = error.what();
        }
    }
};

void add(Statistic statistic, const Shape& shape, int rounds, bool& failed) {
    const auto measured = std::make_shared<Measured>(Measured{statistic, shape, rounds});
    constexpr std::string_view names[] = {"gridfold", "loop", "ceiling"};
    for (std::size_t c = 0; c < std::size(names); ++c) {
        const auto report = [measured, c, &failed, round = std::size_t{0}](benchmark::State& state) mutable {
            measured->ensure();
            if (!measured->problem.empty()) {
                failed = true;
                return state.SkipWithError(measured->problem.c_str());
            }
            const double seconds = measured->contenders[c].seconds[round++];
            for ([[maybe_unused]] auto iteration : state) state.SetIterationTime(seconds);
            state.counters["bytes"] = static_cast<double>(measured->shape.elements() * sizeof(float));
        };
        const std::string name = fmt::format("{}_over/{}x{}x{}/cpu/{}", to_text(statistic), shape.outer, shape.folded,
                                             shape.inner, names[c]);
        benchmark::RegisterBenchmark(name.c_str(), report)
            ->Iterations(1)
            ->Repetitions(rounds)
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
    }
}

bool is_for_people(const bench::Run& run) { return run.aggregate_name == "median"; }

} // namespace

int main(int count, char** arguments) {
    const int rounds = bench::take_rounds(count, arguments, 9);
    bool failed = false;
    for (const Statistic statistic : {Statistic::sum, Statistic::max, Statistic::five})
        for (const Shape& shape : shapes) add(statistic, shape, rounds, failed);
    const bool has_file = std::any_of(arguments + 1, arguments + count, [](const char* argument) {
        return std::string_view(argument).starts_with("--benchmark_out=");
    });
    benchmark::Initialize(&count, arguments);
    if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
    benchmark::AddCustomContext("gridfold", gf::compile(graph(Statistic::sum, shapes[0]), {.device = "cpu"}).device());
    bench::PlainNames<benchmark::ConsoleReporter, is_for_people> display;
    bench::PlainNames<benchmark::JSONReporter, bench::is_round> file;
    benchmark::RunSpecifiedBenchmarks(&display, has_file ? &file : nullptr);
    return failed ? 1 : 0;
}
