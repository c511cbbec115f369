// Checks every rung of the ladder on this GPU against exact sums from the host: odd sizes, an address aligned only to 4
// bytes, scratch in the state that the previous step left, and the second launch of a captured graph.
//
//     bench_ladder_check      exits 0 if all is right, 1 if a result is wrong, 2 if CUDA fails
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <cuda_runtime.h>

#include "harness/cuda.hpp"
#include "ladder/batched_rows.hpp"
#include "ladder/clocked_cubes.hpp"
#include "ladder/steps.hpp"

namespace {

using bench::check;
using bench::to_host;

int wrong = 0;

void expect(double is, double right, const std::string& what) {
    if (is == right || (std::isnan(is) && std::isnan(right))) return;
    std::fprintf(stderr, "wrong: %s gives %.17g, not %.17g\n", what.c_str(), is, right);
    ++wrong;
}

template <class T> std::shared_ptr<T[]> to_device(const std::vector<T>& host) {
    const auto device = bench::device_array<T>(std::int64_t(host.size()));
    check(cudaMemcpy(device.get(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    check(cudaDeviceSynchronize());
    return device;
}

/// Digits -4 … 4. Every partial sum is an integer far below 2^24, so that f32 is exact in any order.
int digit(std::size_t i) { return int((i * 0x9e3779b97f4a7c15u >> 40) % 9) - 4; }

template <class T> std::vector<T> digits(std::size_t n) {
    std::vector<T> all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = T(digit(i));
    return all;
}

/// Captures two calls of a step.
bench::CudaGraphExec twice(const ladder::Step& step, cudaStream_t stream, const float* in, std::int64_t n, float* out,
                           void* scratch) {
    cudaGraph_t captured;
    cudaGraphExec_t exec;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int call = 0; call < 2; ++call) step.enqueue(stream, in, n, out, scratch);
    check(cudaStreamEndCapture(stream, &captured));
    const bench::CudaGraph graph(captured);
    check(cudaGraphInstantiate(&exec, graph.get(), 0));
    return bench::CudaGraphExec(exec);
}

void check_steps(cudaStream_t stream) {
    const std::vector<std::int64_t> sizes{
        0,    1,    31,   32,   33,    255,   256,           257,       511,           512,          513,
        1000, 1024, 1025, 2047, 65536, 65537, (1 << 20) + 3, (1 << 22), (1 << 22) + 1, (1 << 25) + 7};
    const std::vector<float> host = digits<float>(std::size_t(sizes.back()) + 1);
    const auto in = to_device(host);
    const auto out = bench::device_array<float>(1);
    const auto scratch = bench::device_array<unsigned>(ladder::scratch_bytes / sizeof(unsigned));
    for (const int offset : {0, 1})
        for (const std::int64_t n : sizes) {
            double right = 0;
            for (std::int64_t i = 0; i < n; ++i) right += double(host[std::size_t(offset + i)]);
            for (const ladder::Step& step : ladder::steps()) {
                const auto graph = twice(step, stream, in.get() + offset, n, out.get(), scratch.get());
                for (int launch = 0; launch < 2; ++launch) {
                    check(cudaMemsetAsync(out.get(), 0xff, sizeof(float), stream));
                    check(cudaGraphLaunch(graph.get(), stream));
                    check(cudaStreamSynchronize(stream));
                    expect(double(to_host(out.get(), 1)[0]), right,
                           std::string(step.name) + " of " + std::to_string(n) + " from " + std::to_string(offset));
                }
            }
        }
    const std::vector<unsigned> words = to_host(scratch.get(), 256 / std::int64_t{sizeof(unsigned)});
    for (std::size_t i = 0; i < words.size(); ++i) expect(words[i], 0, "word " + std::to_string(i) + " of scratch");
}

/// The folds of 37 rows of digits.
template <class T, class Result> void check_rows(const ladder::RowFold& fold, cudaStream_t stream) {
    expect(double(fold.element_bytes), sizeof(T), "the element's size");
    expect(double(fold.result_bytes), sizeof(Result), "the result's size");
    const bool sum = std::strcmp(fold.function, "sum") == 0;
    const double empty = sum                     ? 0
                         : std::is_integral_v<T> ? double(std::numeric_limits<T>::lowest())
                                                 : -std::numeric_limits<double>::infinity();
    const std::int64_t rows = 37;
    for (const std::int64_t columns : {0, 1, 31, 255, 257, 1000, 65537}) {
        const auto in = to_device(digits<T>(std::size_t(rows * columns) + 1));
        const auto out = bench::device_array<Result>(rows);
        fold.enqueue(stream, in.get(), rows, columns, out.get());
        check(cudaStreamSynchronize(stream));
        const std::vector<Result> results = to_host(out.get(), rows);
        for (std::int64_t row = 0; row < rows; ++row) {
            double right = empty;
            for (std::int64_t c = 0; c < columns; ++c) {
                const double d = digit(std::size_t(row * columns + c));
                right = sum ? right + d : std::max(right, d);
            }
            expect(double(results[std::size_t(row)]), right,
                   std::string(fold.function) + " of " + fold.type + ", row " + std::to_string(row) + " of " +
                       std::to_string(columns) + " columns");
        }
    }
}

void check_row_folds(cudaStream_t stream) {
    for (const ladder::RowFold& fold : ladder::row_folds()) {
        const std::string type = fold.type;
        if (type == "f32")
            check_rows<float, float>(fold, stream);
        else if (type == "f64")
            check_rows<double, double>(fold, stream);
        else if (std::strcmp(fold.function, "sum") == 0)
            check_rows<std::int32_t, std::int64_t>(fold, stream);
        else
            check_rows<std::int32_t, std::int32_t>(fold, stream);
        if (type != "f32") continue;
        std::vector<float> row(1000, 1.0f);
        row[700] = std::numeric_limits<float>::quiet_NaN();
        const auto in = to_device(row), out = bench::device_array<float>(1);
        fold.enqueue(stream, in.get(), 1, std::int64_t(row.size()), out.get());
        check(cudaStreamSynchronize(stream));
        expect(double(to_host(out.get(), 1)[0]), double(row[700]), std::string(fold.function) + " of a row with a NaN");
    }
}

void check_cubes(cudaStream_t stream) {
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{257}, (std::size_t{1} << 20) + 3}) {
        std::vector<std::int32_t> host = digits<std::int32_t>(n + 1);
        if (n > 0) host[0] = -100000; // its cube needs more than 32 bits
        double right = 0;
        for (std::size_t i = 0; i < n; ++i) right += std::pow(host[i], 3);
        const auto in = to_device(host);
        const auto out = bench::device_array<std::uint64_t>(1);
        for (const ladder::CubesShape& shape : ladder::cubes_shapes()) {
            const auto times = bench::device_array<ladder::BlockTime>(shape.blocks);
            ladder::enqueue_cubes(shape, stream, in.get(), std::int64_t(n), out.get(), times.get());
            check(cudaStreamSynchronize(stream));
            const std::string what = std::string("cubes by ") + shape.name + " of " + std::to_string(n);
            expect(double(std::int64_t(to_host(out.get(), 1)[0])), right, what);
            const double us = ladder::kernel_us(to_host(times.get(), shape.blocks));
            if (!(us >= 0 && us < 1e6)) expect(us, 0, what + ": microseconds");
            if (n >> 20) std::printf("sum of cubes of 1 Mi i32, %-12s %10.2f us\n", shape.name, us);
        }
    }
}

} // namespace

int main() try {
    const bench::Stream stream = bench::make_stream();
    check_steps(stream.get());
    check_row_folds(stream.get());
    check_cubes(stream.get());
    std::printf(wrong == 0 ? "every rung is right\n" : "%d results are wrong\n", wrong);
    return wrong == 0 ? 0 : 1;
} catch (const bench::CudaError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
}
