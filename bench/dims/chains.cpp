// Chains of folds and maps of the same rows: softmax and layer norm.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include <fmt/format.h>

#include <gridfold/gridfold.hpp>

#include "cases.hpp"
#include "chain_loops.hpp"

namespace bench::dims {
namespace {

struct Rows {
    std::size_t count, length;
    std::size_t elements() const { return count * length; }
};

/// 2^27 bytes of f32 each, or nearly: as many are written.
constexpr Rows shapes[] = {{1U << 19, 64},    {1U << 15, 1'024}, {1U << 13, 4'096}, {1U << 11, 16'384},
                           {1U << 9, 65'536}, {264'000, 127},    {32, 1U << 20}};

constexpr std::string_view chains[] = {"softmax", "layer_norm"};
constexpr float epsilon = 1e-5F;

gf::Graph graph(std::string_view chain) {
    gf::Graph g("chain");
    const gf::Dim rows = g.dim("rows"), n = g.dim("n");
    const gf::Value x = g.input<float>("x", {rows, n});
    if (chain == "softmax") {
        const gf::Value e = gf::exp(x - gf::max(x, gf::over(n)));
        g.output("y", e / gf::sum(e, gf::over(n)));
    } else {
        const gf::Value scale = 1.0F / gf::sqrt(gf::variance(x, gf::over(n)) + epsilon);
        g.output("y", (x - gf::mean(x, gf::over(n))) * scale);
    }
    return g;
}

std::function<void()> gridfold(std::string_view chain, const Rows& rows, const float* x, float* y) {
    const gf::Extents extents{static_cast<std::int64_t>(rows.count), static_cast<std::int64_t>(rows.length)};
    const gf::Executable exe = gf::compile(graph(chain), {.device = "cpu"});
    return [prepared = std::make_shared<gf::Prepared>(exe.prepare(
                {{"x", gf::host_view(x, extents)}}, {{"y", gf::host_view(y, extents)}}))] { prepared->run(); };
}

/// Copies the array and nothing else.
void copy(const float* x, float* y, std::size_t n) {
#pragma omp parallel for simd schedule(static)
    for (std::size_t i = 0; i < n; ++i) y[i] = x[i];
}

void check(const std::vector<float>& own, const std::vector<float>& loops) {
    for (std::size_t i = 0; i < own.size(); ++i)
        if (!(std::abs(own[i] - loops[i]) <= 1e-4F * std::abs(loops[i]) + 1e-5F))
            throw std::runtime_error(fmt::format("gridfold: element {} is {}, must be {}", i, own[i], loops[i]));
}

} // namespace

std::vector<Case> chain_cases() {
    std::vector<Case> cases;
    for (const std::string_view chain : chains)
        for (const Rows& rows : shapes) {
            const auto make = [chain, rows] {
                const auto x = std::make_shared<std::vector<float>>(numbers(rows.elements()));
                const auto own = std::make_shared<std::vector<float>>(rows.elements());
                const auto loops = std::make_shared<std::vector<float>>(rows.elements());
                const auto copied = std::make_shared<std::vector<float>>(rows.elements());
                const auto loop = [=] {
                    if (chain == "softmax")
                        softmax(x->data(), loops->data(), rows.count, rows.length);
                    else
                        layer_norm(x->data(), loops->data(), rows.count, rows.length, epsilon);
                };
                return Measurable{
                    {[x, own, run = gridfold(chain, rows, x->data(), own->data())] { run(); }, loop,
                     [=] { copy(x->data(), copied->data(), x->size()); }},
                    [=] { check(*own, *loops); },
                };
            };
            cases.push_back({fmt::format("{}_of/{}x{}", chain, rows.count, rows.length),
                             2 * rows.elements() * sizeof(float), make});
        }
    return cases;
}

} // namespace bench::dims
