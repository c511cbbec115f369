// Chains of folds and maps of rows on a GPU: workloads softmax_of_AxB, layer_norm_of_AxB and rms_norm_of_AxB of A rows
// of B elements. Each reads its input once and writes as much, where a row fits on chip.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "harness/case.hpp"
#include "harness/ceiling.hpp"
#include "harness/cuda.hpp"
#include "harness/gridfold.hpp"
#include "harness/workloads.hpp"

namespace bench {

namespace {

struct Rows {
    std::int64_t count, length;
    std::int64_t elements() const { return count * length; }
};

/// 2^28 elements each, or nearly: powers of 2, other lengths that models have, and lengths that are no multiples of 16
/// bytes.
constexpr Rows shapes[] = {
    {1 << 22, 64},    {1 << 20, 256},    {1 << 18, 1'024},  {1 << 17, 2'048},  {1 << 16, 4'096},
    {1 << 15, 8'192}, {1 << 14, 16'384}, {1 << 13, 32'768}, {1 << 12, 65'536}, {1 << 10, 262'144},
    {3'728'270, 72},  {2'796'202, 96},   {2'684'354, 100},  {1'342'177, 200},  {894'784, 300},
    {349'525, 768},   {268'435, 1'000},  {174'762, 1'536},  {52'428, 5'120},   {26'843, 10'000},
    {8'388, 32'000},  {2'097'152, 127},  {2'080'768, 129},  {5'341, 50'257},   {256, 1 << 20}};

constexpr std::string_view chains[] = {"softmax", "layer_norm", "rms_norm", "weighted_layer_norm"};
constexpr float epsilon = 1e-5F;

template <class T> gf::Graph graph(std::string_view chain) {
    gf::Graph g("chain");
    using Gridfold = typename Element<T>::Gridfold;
    const gf::Dim rows = g.dim("rows"), n = g.dim("n");
    const gf::Value x = gf::cast<float>(g.input<Gridfold>("x", {rows, n}));
    const auto normalised = [&]() -> gf::Value {
        if (chain == "softmax") {
            const gf::Value e = gf::exp(x - gf::max(x, gf::over(n)));
            return e / gf::sum(e, gf::over(n));
        }
        if (chain.ends_with("layer_norm")) {
            const gf::Value scale = 1.0F / gf::sqrt(gf::variance(x, gf::over(n)) + epsilon);
            const gf::Value y = (x - gf::mean(x, gf::over(n))) * scale;
            if (chain == "layer_norm") return y;
            return y * gf::cast<float>(g.input<Gridfold>("w", {n})) + gf::cast<float>(g.input<Gridfold>("b", {n}));
        }
        return x * (1.0F / gf::sqrt(gf::mean(x * x, gf::over(n)) + epsilon));
    };
    g.output("y", gf::cast<Gridfold>(normalised()));
    return g;
}

/// Some elements: of the first row and the last, and of others between.
std::vector<std::int64_t> sample(const Rows& rows) {
    constexpr std::int64_t most = 40;
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = 0; i < most; ++i) numbers.push_back((rows.elements() - 1) / (most - 1) * i);
    return numbers;
}

std::vector<Expected> expected_of(std::string_view chain, const Rows& rows, double precision) {
    std::vector<Expected> all;
    for (const std::int64_t number : sample(rows)) {
        const auto value = [](std::int64_t i) { return double(digit_of(std::uint64_t(i), 0) + lowest_digit); };
        const std::int64_t first = number / rows.length * rows.length;
        double sum = 0, squares = 0, exponentials = 0;
        for (std::int64_t i = first; i < first + rows.length; ++i) {
            sum += value(i);
            squares += value(i) * value(i);
            exponentials += std::exp(value(i));
        }
        const double mean = sum / double(rows.length), mean_square = squares / double(rows.length);
        const double right = chain == "softmax" ? std::exp(value(number)) / exponentials
                             : chain.ends_with("layer_norm")
                                 ? (value(number) - mean) / std::sqrt(mean_square - mean * mean + epsilon)
                                 : value(number) / std::sqrt(mean_square + epsilon);
        const double weight = value(number - first); // of its column; and what is added there
        const double weighted = chain == "weighted_layer_norm" ? right * weight + weight : right;
        all.push_back({weighted, precision * (std::abs(right) + std::abs(weighted)) + 1e-6});
    }
    return all;
}

template <class T> Make make_chain(std::string_view chain, const Rows& rows) {
    return [chain, rows](Case& made) {
        using Gridfold = typename Element<T>::Gridfold;
        const Input<T> x(rows.elements(), made.copies()), weights(rows.length, 1);
        const std::int64_t each = rows.elements();
        const std::int64_t pitch = (each + 127) / 128 * 128; // of a copy
        const auto y = device_array<T>(pitch * made.copies());
        const gf::Extents extents{rows.count, rows.length};
        if (made.wants("gridfold")) {
            Contender contender = gridfold_contender(
                "gridfold", graph<T>(chain), on_gpu(), made.copies(),
                [=](int copy) {
                    gf::Bindings inputs{{"x", gf::device_view(reinterpret_cast<Gridfold*>(x.copy(copy)), extents)}};
                    const gf::Extents columns{rows.length};
                    if (chain == "weighted_layer_norm")
                        for (const char* name : {"w", "b"})
                            inputs.push_back(
                                {name, gf::device_view(reinterpret_cast<Gridfold*>(weights.copy(0)), columns)});
                    return inputs;
                },
                [=](int copy) {
                    return gf::Bindings{
                        {"y", gf::device_view(reinterpret_cast<Gridfold*>(y.get() + copy * pitch), extents)}};
                });
            contender.results = [=](int copy) {
                std::vector<double> values;
                for (const std::int64_t number : sample(rows))
                    values.push_back(double(float(to_host(y.get() + copy * pitch + number, 1).front())));
                return values;
            };
            made.add(std::move(contender), expected_of(chain, rows, sizeof(T) == 2 ? 1e-2 : 1e-4));
        }
        const Address from = [x](int copy) { return x.copy(copy); };
        if (made.wants("copy_ceiling"))
            made.add(copy_ceilings(
                from, [=](int copy) { return y.get() + copy * pitch; }, x.bytes() / 16 * 16));
    };
}

template <class T> void add_chains_of(Suite& suite) {
    for (const std::string_view chain : chains)
        for (const Rows& rows : shapes)
            suite.add(graph_case({.workload = fmt::format("{}_of_{}x{}", chain, rows.count, rows.length),
                                  .type = Element<T>::name,
                                  .bytes = rows.elements() * std::int64_t{sizeof(T)},
                                  .elements = rows.elements(),
                                  .contenders = {"gridfold", "copy_ceiling"},
                                  .writes = 1,
                                  .extra = 1.1},
                                 make_chain<T>(chain, rows)));
}

} // namespace

void add_chains(Suite& suite) {
    add_chains_of<float>(suite);
    add_chains_of<__nv_bfloat16>(suite);
}

} // namespace bench
