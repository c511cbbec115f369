// Images as a network wants them: u8 pixels in the order that files have, images × height × width × channels, become
// f16 in images × channels × height × width, with mean 0 and deviation 1 for each channel. The statistics are one
// sweep over the bytes; the second sweep normalises and transposes as it writes.
//
//     08_image_channels photographs.npy [normalised.npy]
#include <cmath>
#include <iostream>

#include <gridfold/gridfold.hpp>
#include <gridfold/npy/npy.hpp>

namespace {

gf::Graph normalise() {
    gf::Graph g("normalise");
    const gf::Dim n = g.dim("n"), h = g.dim("h"), w = g.dim("w"), c = g.dim("c");
    const gf::Value x = gf::cast(g.input<std::uint8_t>("images", {n, h, w, c}), gf::DType::f32);
    const gf::Value mean = g.let("mean", gf::mean(x, gf::over(n, h, w)));
    const gf::Value deviation = g.let("deviation", gf::stddev(x, gf::over(n, h, w)));
    g.output("mean", mean);
    g.output("deviation", deviation);
    g.output("normalised", gf::cast((x - mean) / deviation, gf::DType::f16), {n, c, h, w});
    return g;
}

} // namespace

int main(int argc, char** argv) try {
    if (argc < 2)
        throw gf::InvalidOption("08_image_channels", "it takes a .npy file of u8 images, n × h × w × c",
                                "run 08_image_channels examples/data/photographs.npy");
    const gf::npy::Array images = gf::npy::open(argv[1]);
    const gf::Executable exe = gf::compile(normalise());
    const gf::Results r = exe.run({{"images", images.view()}});
    const auto mean = r.to_vector<float>("mean"), deviation = r.to_vector<float>("deviation");
    for (std::size_t c = 0; c < mean.size(); ++c)
        std::cout << "channel " << c << ": " << mean[c] << " ± " << deviation[c] << '\n';
    if (argc > 2) gf::npy::write(argv[2], r.array("normalised"));

    // The same statistics of what was written: 0 and 1, but for the rounding to f16.
    const gf::Results of_normalised = gf::compile(gf::parse("check(y: f16[n, c, h, w]) -> "
                                                            "mean = mean(f32(y) over [n, h, w]), "
                                                            "deviation = stddev(f32(y) over [n, h, w])"))
                                          .run({{"y", r.array("normalised")}});
    for (std::size_t c = 0; c < mean.size(); ++c)
        if (std::abs(of_normalised.to_vector<float>("mean")[c]) > 1e-3F ||
            std::abs(of_normalised.to_vector<float>("deviation")[c] - 1) > 1e-3F)
            throw gf::InternalError("the normalised channels do not have mean 0 and deviation 1");
    std::cout << "normalised on " << exe.device() << '\n';
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
