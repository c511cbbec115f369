// A dozen statistics of one array in one sweep: each element is read once for any number of results.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <numeric>
#include <random>
#include <vector>

#include <gridfold/gridfold.hpp>

int main() {
    // The factor of a price's change in each minute: their product is the change over the whole time.
    std::mt19937 random(12);
    std::normal_distribution<float> normal(1, 1e-3F);
    std::vector<float> steps(1 << 20);
    for (float& step : steps) step = normal(random);

    gf::Graph g("statistics");
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    g.output("sum", gf::sum(x, {.accumulate = gf::DType::f64}));
    g.output("sum_of_squares", gf::sum_of_squares(x));
    g.output("l2_norm", gf::l2_norm(x));
    g.output("mean", gf::mean(x));
    g.output("variance", gf::variance(x));
    g.output("stddev", gf::stddev(x));
    g.output("min", gf::min(x));
    g.output("max", gf::max(x));
    g.output("rises", gf::count(x > 1));
    g.output("any_zero", gf::any(x == 0));
    g.output("all_finite", gf::all(gf::isfinite(x)));
    g.output("product", gf::product(x));

    const gf::Executable exe = gf::compile(g);
    const gf::Results r = exe.run({{"x", steps}});
    std::cout << "sum, of squares  " << r.get<double>("sum") << ", " << r.get<float>("sum_of_squares")
              << "\nl2 norm          " << r.get<float>("l2_norm") << "\nmean             " << r.get<float>("mean")
              << "\nvariance, stddev " << r.get<float>("variance") << ", " << r.get<float>("stddev")
              << "\nmin, max         " << r.get<float>("min") << ", " << r.get<float>("max") << "\nrises            "
              << r.get<std::int64_t>("rises") << "\nzero, finite     " << std::boolalpha << r.get<bool>("any_zero")
              << ", " << r.get<bool>("all_finite") << "\nproduct          " << r.get<float>("product") << "\n\n"
              << exe.explain();

    const double sum = std::accumulate(steps.begin(), steps.end(), 0.0);
    const double product = std::accumulate(steps.begin(), steps.end(), 1.0, std::multiplies<>());
    const bool right =
        exe.plan().sweeps.size() == 1 && r.get<float>("min") == *std::min_element(steps.begin(), steps.end()) &&
        r.get<std::int64_t>("rises") == std::count_if(steps.begin(), steps.end(), [](float s) { return s > 1; }) &&
        std::abs(r.get<double>("sum") - sum) <= 1e-12 * sum &&
        std::abs(r.get<float>("product") - product) <= 1e-3 * product;
    if (!right) std::cerr << "wrong\n";
    return right ? 0 : 1;
}
