// The classic: the sum of the cubes of an array, in one sweep.
//
//     01_sum_of_cubes                 2^20 random digits
//     01_sum_of_cubes array.npy       an array of i32, i64, f32 or f64
//     01_sum_of_cubes file type       a raw file of such elements
//
// Prints the sum, whether a plain loop gives the same, and its speed: from 1 MiB on compared with the machine's read
// bandwidth. A smaller array is read in the time that starting threads takes.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <gridfold/gridfold.hpp>
#include <gridfold/npy/npy.hpp>

#include "read_bandwidth.hpp"

namespace {

/// The array that the arguments name.
struct Input {
    std::vector<std::int32_t> digits;
    std::vector<gf::npy::Array> files;
    gf::View view() const { return files.empty() ? gf::View(digits) : files.front().view(); }
};

Input read_input(int argc, char** argv) {
    Input input;
    if (argc == 2) input.files.push_back(gf::npy::open(argv[1]));
    if (argc == 3) input.files.push_back(gf::npy::open_raw(argv[1], gf::dtype_from_text(argv[2]).value()));
    if (input.files.empty()) {
        std::mt19937 random(20);
        input.digits.resize(1 << 20);
        for (std::int32_t& digit : input.digits) digit = static_cast<std::int32_t>(random() % 10);
    }
    return input;
}

/// The sum by a plain loop: cubes in the elements' type, summed in 64 bits.
template <class T> auto loop(const gf::View& x) {
    const T* const elements = static_cast<const T*>(x.address);
    std::conditional_t<std::is_integral_v<T>, std::int64_t, double> sum = 0;
    for (std::int64_t i = 0; i < x.extents[0]; ++i) sum += static_cast<T>(elements[i] * elements[i] * elements[i]);
    return sum;
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

template <class Work> double seconds(Work&& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class T> int sum_cubes(const gf::View& x) {
    gf::Graph g("sum_of_cubes");
    const gf::Dim n = g.dim("n");
    const gf::Value v = g.input<T>("x", {n});
    g.output("sum_of_cubes", gf::sum(v * v * v));
    const gf::Executable exe = gf::compile(g);

    // On a GPU the array is copied there first, so that the sweep is measured without the bus.
    const bool on_gpu = exe.device().starts_with("cuda");
    const std::size_t bytes = static_cast<std::size_t>(x.extents[0]) * sizeof(T);
    gf::DeviceBuffer copy;
    if (on_gpu) {
        copy = gf::DeviceBuffer(0, bytes);
        const gf::CurrentDevice current(0);
        const gf::Stream stream(0, gf::StreamKind::ordered_with_default);
        gf::copy_to_device(copy.address(), x.address, bytes, stream);
        stream.wait();
    }
    const gf::View where = on_gpu ? copy.view(x.type, x.extents) : x;

    gf::Prepared prepared = exe.prepare({{"x", where}});
    Reader reader(where);
    std::vector<double> run_seconds, read_seconds;
    for (int round = 0; round < 21; ++round) { // interleaved, so that both run under the same conditions
        read_seconds.push_back(seconds([&] { reader.read(); }));
        run_seconds.push_back(seconds([&] { prepared.run(); }));
    }
    const double speed = static_cast<double>(bytes) / median(run_seconds) * 1e-9;
    const double ceiling = reader.bytes() / median(read_seconds) * 1e-9;

    using Sum = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
    const Sum fused = prepared.run().template get<Sum>("sum_of_cubes");
    const auto expected = loop<T>(x);
    std::cout << x.extents[0] << " elements of " << gf::to_text(x.type) << " on " << exe.device() << '\n'
              << std::setprecision(15) << "fused       " << fused << '\n'
              << "plain loop  " << expected << '\n'
              << std::setprecision(3) << "median run  " << median(run_seconds) * 1e3 << " ms, " << speed << " GB/s";
    if (bytes >= std::size_t{1} << 20)
        std::cout << ": " << speed / ceiling << " of the " << ceiling
                  << " GB/s at which this machine reads the same bytes";
    std::cout << "\n\n" << exe.explain();
    // Integer sums are exact in any order; floating sums in different orders differ by rounding.
    const double difference = std::abs(static_cast<double>(fused) - static_cast<double>(expected));
    const bool right =
        std::is_integral_v<T> ? difference == 0 : difference <= 1e-5 * std::abs(static_cast<double>(expected));
    if (!right) std::cerr << "the two disagree\n";
    return right ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) try {
    const Input input = read_input(argc, argv);
    const gf::View x = input.view();
    if (x.extents.rank() != 1) throw gf::InvalidBinding("the array", "it must have one dim", "reshape it");
    switch (x.type) {
    case gf::DType::i32: return sum_cubes<std::int32_t>(x);
    case gf::DType::i64: return sum_cubes<std::int64_t>(x);
    case gf::DType::f32: return sum_cubes<float>(x);
    case gf::DType::f64: return sum_cubes<double>(x);
    default: throw gf::InvalidBinding("the array", "it must be of i32, i64, f32 or f64", "convert it");
    }
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
