// What the CPU backend reaches: sum, sum of cubes and a dozen statistics of 2^k f32, as fractions of this machine's own
// read bandwidth and against one OpenMP SIMD loop a statistic. Every round runs every contender once, so that all see
// the same noise; figures are medians over the rounds, ratios are medians of each round's own.
//
//     bench_cpu_reach [k = 28] [rounds = 21]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <gridfold/gridfold.hpp>

#include "../dozen.hpp"
#include "loops.hpp"

namespace {

double median(std::vector<double> values) {
    std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    return values[values.size() / 2];
}

struct Contender {
    std::string name;
    std::function<double()> run; ///< returns a result, so that no work is dropped
    double bytes;                ///< read
    std::vector<double> seconds;
};

gf::Graph one(const char* name, gf::Value (*statistic)(gf::Value)) {
    gf::Graph g(name);
    g.output(name, statistic(g.input<float>("x", {g.dim("n")})));
    return g;
}

double twelve_loops(const std::vector<float>& x) {
    return static_cast<double>(loops::sum(x.data(), x.size())) +
           static_cast<double>(loops::sum_of_squares(x.data(), x.size())) +
           static_cast<double>(loops::l2_norm(x.data(), x.size())) + loops::mean(x.data(), x.size()) +
           loops::variance(x.data(), x.size()) + loops::stddev(x.data(), x.size()) +
           static_cast<double>(loops::min(x.data(), x.size())) + static_cast<double>(loops::max(x.data(), x.size())) +
           static_cast<double>(loops::count_positive(x.data(), x.size())) +
           (loops::any(x.data(), x.size()) ? 1.0 : 0.0) + (loops::all(x.data(), x.size()) ? 1.0 : 0.0) +
           static_cast<double>(loops::product(x.data(), x.size()));
}

} // namespace

int main(int count, char** arguments) {
    const int k = count > 1 ? std::atoi(arguments[1]) : 28;
    const int rounds = count > 2 ? std::atoi(arguments[2]) : 21;
    std::vector<float> x(std::size_t{1} << k);
    std::minstd_rand random(1);
    for (float& element : x) element = static_cast<float>(random() % 2048) / 1024.0F - 0.984375F;
    const double bytes = static_cast<double>(x.size() * sizeof(float));

    const gf::Options cpu{.device = "cpu"};
    const auto prepare = [&](const gf::Graph& g) { return gf::compile(g, cpu).prepare({{"x", x}}); };
    gf::Prepared sum = prepare(one("sum", [](gf::Value v) { return gf::sum(v); }));
    gf::Prepared cubes = prepare(one("sum", [](gf::Value v) { return gf::sum(v * v * v); }));
    gf::Prepared moments = prepare(one("sum", [](gf::Value v) { return gf::cast<float>(gf::variance(v)); }));
    gf::Prepared all = prepare(bench::dozen(false));
    const auto run = [](gf::Prepared& p) { return static_cast<double>(p.run().get<float>("sum")); };

    std::vector<Contender> contenders;
    contenders.push_back({"read: sum of 64-bit words",
                          [&] { return static_cast<double>(loops::read_words(x.data(), x.size())); },
                          bytes,
                          {}});
    contenders.push_back(
        {"sum, OpenMP loop", [&] { return static_cast<double>(loops::sum(x.data(), x.size())); }, bytes, {}});
    contenders.push_back({"sum", [&] { return run(sum); }, bytes, {}});
    contenders.push_back({"sum of cubes, OpenMP loop",
                          [&] { return static_cast<double>(loops::sum_of_cubes(x.data(), x.size())); },
                          bytes,
                          {}});
    contenders.push_back({"sum of cubes", [&] { return run(cubes); }, bytes, {}});
    contenders.push_back({"variance, OpenMP loop", [&] { return loops::variance(x.data(), x.size()); }, bytes, {}});
    contenders.push_back({"variance", [&] { return run(moments); }, bytes, {}});
    contenders.push_back({"a dozen, twelve OpenMP loops", [&] { return twelve_loops(x); }, 12 * bytes, {}});
    contenders.push_back({"a dozen, one sweep", [&] { return run(all); }, bytes, {}});

    double results = 0;
    for (int round = -1; round < rounds; ++round) {
        for (Contender& contender : contenders) {
            const auto start = std::chrono::steady_clock::now();
            results += contender.run();
            const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
            if (round >= 0) contender.seconds.push_back(time.count());
        }
    }

    const auto ratio = [&](const Contender& a, const Contender& b) {
        std::vector<double> ratios;
        for (std::size_t r = 0; r < a.seconds.size(); ++r) ratios.push_back(a.seconds[r] / b.seconds[r]);
        return median(ratios);
    };
    std::cout << fmt::format("2^{} f32, {} rounds, {}\n", k, rounds, gf::compile(bench::dozen(false), cpu).device());
    for (const Contender& contender : contenders)
        std::cout << fmt::format("{:30} {:9.3f} ms  {:6.2f} GB/s  {:5.2f} of the read loop's speed\n", contender.name,
                                 median(contender.seconds) * 1e3, contender.bytes / median(contender.seconds) * 1e-9,
                                 ratio(contenders[0], contender));
    std::cout << fmt::format("a dozen in one sweep is {:.2f} times as fast as twelve loops\n",
                             ratio(contenders[7], contenders[8]));
    return std::isnan(results) ? 1 : 0;
}
