// A dozen statistics of one array in one sweep: each element is read once, whatever the number of results.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <random>
#include <vector>

#include <gridfold/gridfold.hpp>

int main() {
    std::mt19937 random(12);
    std::normal_distribution<float> normal(20, 5);
    std::vector<float> temperatures(1 << 20);
    for (float& t : temperatures) t = normal(random);

    gf::Graph g("statistics");
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    const gf::Value hot = x > 30;
    g.output("count_hot", gf::count(hot));
    g.output("mean_hot", gf::mean(x, {.where = hot}));
    g.output("any_freezing", gf::any(x <= 0));
    g.output("all_finite", gf::all(gf::isfinite(x)));
    g.output("min", gf::min(x));
    g.output("max", gf::max(x));
    g.output("coldest_at", gf::argmin(x));
    g.output("hottest_at", gf::argmax(x));
    g.output("sum", gf::sum(x, {.accumulate = gf::DType::f64}));
    g.output("mean", gf::mean(x));
    g.output("stddev", gf::stddev(x, {.ddof = 1}));
    g.output("l2_norm", gf::l2_norm(x - 20));

    const gf::Executable exe = gf::compile(g);
    const gf::Results r = exe.run({{"x", temperatures}});
    std::cout << "hot              " << r.get<std::int64_t>("count_hot") << " (on average " << r.get<float>("mean_hot")
              << ")\nfreezing, finite " << r.get<bool>("any_freezing") << ", " << r.get<bool>("all_finite")
              << "\nmin, max         " << r.get<float>("min") << " at " << r.get<std::int64_t>("coldest_at") << ", "
              << r.get<float>("max") << " at " << r.get<std::int64_t>("hottest_at") << "\nsum              "
              << r.get<double>("sum") << "\nmean, stddev     " << r.get<float>("mean") << ", " << r.get<float>("stddev")
              << "\nl2 norm          " << r.get<float>("l2_norm") << " (about 20)\n\n"
              << exe.explain();

    const auto coldest = std::min_element(temperatures.begin(), temperatures.end());
    const double sum = std::accumulate(temperatures.begin(), temperatures.end(), 0.0);
    const bool right = r.get<float>("min") == *coldest &&
                       r.get<std::int64_t>("coldest_at") == coldest - temperatures.begin() &&
                       r.get<std::int64_t>("count_hot") ==
                           std::count_if(temperatures.begin(), temperatures.end(), [](float t) { return t > 30; }) &&
                       std::abs(r.get<double>("sum") - sum) <= 1e-12 * sum &&
                       std::abs(r.get<float>("mean") - sum / (1 << 20)) < 1e-5 && exe.plan().sweeps.size() == 1;
    if (!right) std::cerr << "wrong\n";
    return right ? 0 : 1;
}
