// A program against the installed package: three results of one array in one sweep, checked against loops. The array
// comes from a .npy file, which the program writes first.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include <gridfold/gridfold.hpp>
#include <gridfold/npy/npy.hpp>

int main() {
    std::vector<std::int32_t> data(100'000);
    std::iota(data.begin(), data.end(), -30'000);
    const std::string path = std::filesystem::temp_directory_path() / "gridfold_consumer.npy";
    gf::npy::write(path, data);
    const gf::npy::Array file = gf::npy::open(path); // maps the file: it is not read before the run

    gf::Graph graph("summary");
    const gf::Dim n = graph.dim("n");
    const gf::Value x = graph.input<std::int32_t>("x", {n});
    graph.output("sum", gf::sum(x));
    graph.output("peak", gf::max(gf::abs(x)));
    graph.output("negative", gf::count(x < 0));

    const gf::Executable executable = gf::compile(graph, {.device = "cpu"});
    const gf::Results results = executable.run({{"x", file.view()}});

    const auto sum = results.get<std::int64_t>("sum");
    const auto peak = results.get<std::int32_t>("peak");
    const auto negative = results.get<std::int64_t>("negative");
    std::cout << "sum = " << sum << "\npeak = " << peak << "\nnegative = " << negative << '\n';

    const bool right = sum == std::accumulate(data.begin(), data.end(), std::int64_t{0}) && peak == 69'999 &&
                       negative == std::count_if(data.begin(), data.end(), [](int value) { return value < 0; });
    if (!right) std::cerr << "wrong\n";
    return right ? 0 : 1;
}
