// Preprocessing of a column of a real table: clip, log1p, z-score, in two sweeps without a stored intermediate.
//
//     03_standardise column.npy standardised.npy
#include <cmath>
#include <iostream>

#include <gridfold/gridfold.hpp>
#include <gridfold/npy/npy.hpp>

namespace {

/// The z-score of log1p of the values, which are clipped at `ceiling`.
gf::Graph standardise() {
    gf::Graph g("standardise");
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    const gf::Value ceiling = g.scalar<float>("ceiling");
    const gf::Value y = gf::log1p(gf::clamp(x, 0, ceiling));
    const gf::Value mean = gf::mean(y), stddev = gf::stddev(y);
    g.output("mean", mean);
    g.output("stddev", stddev);
    g.output("z", (y - mean) / stddev);
    return g;
}

} // namespace

int main(int argc, char** argv) try {
    if (argc != 3)
        throw gf::InvalidOption("03_standardise", "it takes two files",
                                "run 03_standardise column.npy standardised.npy");
    const gf::npy::Array column = gf::npy::open(argv[1]);
    const gf::Executable exe = gf::compile(standardise());
    const gf::Results r = exe.run({{"x", column.view()}, {"ceiling", 40.0}});
    gf::npy::write(argv[2], r.array("z"));
    std::cout << "log1p(x) has mean " << r.get<float>("mean") << " and standard deviation " << r.get<float>("stddev")
              << "; " << argv[2] << " has 0 and 1\n\n"
              << exe.explain();

    // Reads the file back and checks it.
    const gf::npy::Array written = gf::npy::open(argv[2]);
    const gf::Results check =
        gf::compile(gf::parse("check(z: f32[n]) -> mean = mean(z), stddev = stddev(z)")).run({{"z", written.view()}});
    const bool right = written.view().extents == column.view().extents && std::abs(check.get<float>("mean")) < 1e-5F &&
                       std::abs(check.get<float>("stddev") - 1) < 1e-5F;
    if (!right)
        std::cerr << "wrong: mean " << check.get<float>("mean") << ", stddev " << check.get<float>("stddev") << '\n';
    return right ? 0 : 1;
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
