// Folds over some dims: sums, maxima and five statistics of rows, columns and channels.
#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <gridfold/gridfold.hpp>

#include "cases.hpp"
#include "loops.hpp"

namespace bench::dims {
namespace {

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

} // namespace

std::vector<float> numbers(std::size_t n) {
    std::vector<float> x(n);
    std::uint64_t bits = 1;
    for (float& element : x) {
        bits = bits * 6364136223846793005U + 1442695040888963407U;
        element = (static_cast<float>(bits >> 54) - 511.5F) / 512.0F;
    }
    return x;
}

std::vector<Case> fold_cases() {
    std::vector<Case> cases;
    for (const Statistic statistic : {Statistic::sum, Statistic::max, Statistic::five})
        for (const Shape& shape : shapes) {
            const auto make = [statistic, shape] {
                const auto x = std::make_shared<std::vector<float>>(numbers(shape.elements()));
                const auto own = std::make_shared<Answer>(shape.results()), loops = std::make_shared<Answer>(*own);
                return Measurable{
                    {[x, own, run = gridfold(statistic, shape, x->data(), *own)] { run(); },
                     [=] { loop(statistic, shape, x->data(), loops->results()); }, [=] { read(x->data(), x->size()); }},
                    [=] { check(*own, *loops, "gridfold"); },
                };
            };
            const std::string name =
                fmt::format("{}_over/{}x{}x{}", to_text(statistic), shape.outer, shape.folded, shape.inner);
            cases.push_back({name, shape.elements() * sizeof(float), make});
        }
    return cases;
}

} // namespace bench::dims
