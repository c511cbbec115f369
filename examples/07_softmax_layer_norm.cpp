// Layers of a neural network, row by row: softmax of scores, and layer norm with a gain and a bias. Each is written as
// its formula; on a GPU it is one kernel that reads each row once. A row has the same bits in any batch.
//
//     07_softmax_layer_norm [rows] [length]
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <span>
#include <vector>

#include <gridfold/gridfold.hpp>

namespace {

gf::Graph softmax() {
    gf::Graph g("softmax");
    const gf::Dim row = g.dim("row"), k = g.dim("k");
    const gf::Value x = g.input<float>("x", {row, k});
    const gf::Value e = gf::exp(x - gf::max(x, gf::over(k)));
    g.output("y", e / gf::sum(e, gf::over(k)));
    return g;
}

gf::Graph layer_norm() {
    gf::Graph g("layer_norm");
    const gf::Dim row = g.dim("row"), k = g.dim("k");
    const gf::Value x = g.input<float>("x", {row, k});
    const gf::Value gain = g.input<float>("gain", {k}), bias = g.input<float>("bias", {k});
    const gf::Value z = (x - gf::mean(x, gf::over(k))) / gf::sqrt(gf::variance(x, gf::over(k)) + 1e-5);
    g.output("y", z * gain + bias);
    return g;
}

/// The largest distance of a row of y from softmax in f64.
double error_of_softmax(std::span<const float> x, std::span<const float> y) {
    const double most = *std::max_element(x.begin(), x.end());
    double sum = 0, error = 0;
    for (const float value : x) sum += std::exp(value - most);
    for (std::size_t i = 0; i < x.size(); ++i) error = std::max(error, std::abs(y[i] - std::exp(x[i] - most) / sum));
    return error;
}

/// The same for layer norm.
double error_of_layer_norm(std::span<const float> x, std::span<const float> y, std::span<const float> gain,
                           std::span<const float> bias) {
    const auto n = static_cast<double>(x.size());
    double mean = 0, variance = 0, error = 0;
    for (const float value : x) mean += value / n;
    for (const float value : x) variance += (value - mean) * (value - mean) / n;
    for (std::size_t i = 0; i < x.size(); ++i)
        error = std::max(error, std::abs(y[i] - ((x[i] - mean) / std::sqrt(variance + 1e-5) * gain[i] + bias[i])));
    return error;
}

} // namespace

int main(int argc, char** argv) try {
    const std::size_t rows = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    const std::size_t length = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 768;
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0, 3);
    std::vector<float> x(rows * length), gain(length), bias(length);
    for (float& value : x) value = normal(random);
    for (float& value : gain) value = 1 + normal(random) / 10;
    for (float& value : bias) value = normal(random);

    const gf::Executable scores = gf::compile(softmax()), norm = gf::compile(layer_norm());
    const auto view_of = [&](std::size_t first, std::size_t count) {
        return gf::view(x.data() + first * length, {std::int64_t(count), std::int64_t(length)});
    };
    const gf::Results y = scores.run({{"x", view_of(0, rows)}});
    const gf::Results z = norm.run({{"x", view_of(0, rows)}, {"gain", gain}, {"bias", bias}});

    double softmax_error = 0, norm_error = 0;
    for (std::size_t r = 0; r < rows; ++r) {
        const std::span<const float> row(x.data() + r * length, length);
        softmax_error = std::max(softmax_error, error_of_softmax(row, y.span<float>("y").subspan(r * length, length)));
        norm_error =
            std::max(norm_error, error_of_layer_norm(row, z.span<float>("y").subspan(r * length, length), gain, bias));
    }
    std::cout << rows << " rows of " << length << " on " << scores.device() << "\nlargest error  softmax "
              << softmax_error << ", layer norm " << norm_error << "\n\n"
              << scores.explain();

    if (rows > 0) {
        const gf::Results alone = scores.run({{"x", view_of(rows - 1, 1)}});
        const std::span<const float> last = alone.span<float>("y");
        const float* const in_batch = y.span<float>("y").data() + (rows - 1) * length;
        if (!last.empty() && std::memcmp(last.data(), in_batch, last.size_bytes()) != 0) {
            std::cerr << "wrong: the last row has other bits alone\n";
            return 1;
        }
    }
    const bool right = softmax_error < 1e-6 && norm_error < 1e-4;
    if (!right) std::cerr << "wrong\n";
    return right ? 0 : 1;
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
