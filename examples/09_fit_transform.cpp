// Statistics that are fitted once and applied elsewhere: the mean and deviation of each column of a table are written
// as .npy files, beside the text form of the graph that applies them. Another process reads all three, and needs
// nothing of the graph that fitted.
//
//     09_fit_transform fit table.npy folder
//     09_fit_transform transform table.npy folder standardised.npy
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include <gridfold/gridfold.hpp>
#include <gridfold/npy/npy.hpp>

namespace {

std::string file_in(const std::string& folder, std::string_view name) { return folder + "/" + std::string(name); }

/// The mean and deviation of each column of a table of i32.
gf::Graph fit() {
    gf::Graph g("fit");
    const gf::Dim row = g.dim("row"), column = g.dim("column");
    const gf::Value x = gf::cast(g.input<std::int32_t>("x", {row, column}), gf::DType::f32);
    g.output("mean", gf::mean(x, gf::over(row)));
    g.output("deviation", gf::stddev(x, gf::over(row)));
    return g;
}

/// A table standardised by them. A column whose values were all the same becomes 0.
gf::Graph transform() {
    gf::Graph g("transform");
    const gf::Dim row = g.dim("row"), column = g.dim("column");
    const gf::Value x = gf::cast(g.input<std::int32_t>("x", {row, column}), gf::DType::f32);
    const gf::Value mean = g.input<float>("mean", {column}), deviation = g.input<float>("deviation", {column});
    const gf::Value z = gf::select(deviation > 0, (x - mean) / deviation, 0);
    g.output("z", z);
    g.output("furthest", gf::max(gf::abs(z)));
    return g;
}

void write_fit(const std::string& table, const std::string& folder) {
    const gf::npy::Array x = gf::npy::open(table);
    const gf::Results r = gf::compile(fit()).run({{"x", x.view()}});
    std::filesystem::create_directories(folder);
    gf::npy::write(file_in(folder, "mean.npy"), r.array("mean"));
    gf::npy::write(file_in(folder, "deviation.npy"), r.array("deviation"));
    std::ofstream text(file_in(folder, "transform.txt"));
    text << gf::to_text(transform()) << '\n';
    text.close();
    if (!text) throw gf::InvalidOption(folder, "it must be a folder that may be written", "give another one");
    std::cout << folder << " has the mean and deviation of " << x.view().extents[1] << " columns\n";
}

void write_transformed(const std::string& table, const std::string& folder, const std::string& result) {
    std::ifstream file(file_in(folder, "transform.txt"));
    if (!file) throw gf::InvalidOption(folder, "it must hold what fit wrote", "run 09_fit_transform fit first");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const gf::npy::Array x = gf::npy::open(table), mean = gf::npy::open(file_in(folder, "mean.npy")),
                         deviation = gf::npy::open(file_in(folder, "deviation.npy"));
    const gf::Results r =
        gf::compile(gf::parse(text)).run({{"x", x.view()}, {"mean", mean.view()}, {"deviation", deviation.view()}});
    gf::npy::write(result, r.array("z"));
    std::cout << text << result << ": the value furthest from its column's mean is " << r.get<float>("furthest")
              << " deviations away\n";
}

} // namespace

int main(int argc, char** argv) try {
    const std::string_view step = argc > 1 ? argv[1] : "";
    if (step == "fit" && argc == 4)
        write_fit(argv[2], argv[3]);
    else if (step == "transform" && argc == 5)
        write_transformed(argv[2], argv[3], argv[4]);
    else
        throw gf::InvalidOption("09_fit_transform", "it takes a step, a table and where files are",
                                "run 09_fit_transform fit table.npy folder, then 09_fit_transform transform table.npy "
                                "folder standardised.npy");
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
