// What the reduction core reaches on this GPU: sums, sums of cubes and a dozen statistics against the read ceiling at the
// same byte count and against CUB, all as captured graphs in one run. Every result is checked before it is timed.
//
//     reach [largest log2 of elements, 30]
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>

#include <cub/device/device_reduce.cuh>

#include <gridfold/gridfold.hpp>

#include "../dozen.hpp"
#include "harness.cuh"
#include "read_ceiling.cuh"

namespace {

struct Cube {
    template <class T> __device__ T operator()(T x) const { return x * x * x; }
};

/// Digits 0 … 9, or −4 … 5 for floats (their sums stay exact in f32 for longer), from the element's number.
template <class T> __global__ void fill(T* data, std::int64_t n) {
    for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += std::int64_t(gridDim.x) * blockDim.x)
        data[i] = T(std::int64_t((std::uint64_t(i) * 0x9e3779b97f4a7c15ull) >> 40) % 10 - 4);
}

/// Copies of one input, one after the other, so that calls in turn find nothing of their own in the L2.
template <class T> struct Input {
    std::int64_t n;
    int copies;
    T* data = nullptr;
    std::int64_t pitch;

    Input(std::int64_t elements, std::int64_t cold_bytes) : n(elements) {
        pitch = (n * std::int64_t(sizeof(T)) + 255) / 256 * 256 / std::int64_t(sizeof(T));
        copies = int(std::clamp<std::int64_t>(cold_bytes / (pitch * std::int64_t(sizeof(T))), 1, 64));
        BENCH_CHECK(cudaMalloc(&data, std::size_t(pitch) * sizeof(T) * std::size_t(copies)));
        for (int c = 0; c < copies; ++c) fill<<<1024, 256>>>(copy(c), n);
        BENCH_CHECK(cudaDeviceSynchronize());
    }
    Input(const Input&) = delete;
    Input& operator=(const Input&) = delete;
    ~Input() { cudaFree(data); }
    T* copy(int c) const { return data + pitch * (c % copies); }
};

constexpr std::int64_t cold_bytes = std::int64_t(1) << 30;

struct Row {
    std::string workload, type;
    std::int64_t elements;
    double ceiling_us, ours_us, cub_us;
};
std::vector<Row> rows;

template <class T> std::vector<bench::Contender> ceilings(const Input<T>& input, std::uint32_t* sink) {
    std::vector<bench::Contender> all;
    for (const read_ceiling::Shape& shape : read_ceiling::shapes) {
        const std::int64_t words = input.n * std::int64_t(sizeof(T)) / 16;
        const int blocks = int(std::clamp<std::int64_t>((words + 511) / 512, 1, shape.blocks));
        all.push_back({std::string("ceiling ") + shape.name, [=, &input](cudaStream_t s, int c) {
                           shape.kernel<<<blocks, 512, 0, s>>>(reinterpret_cast<const uint4*>(input.copy(c)), words,
                                                               sink);
                       }});
    }
    return all;
}

void report(const std::string& workload, const std::string& type, std::int64_t n, std::size_t bytes,
            const std::vector<bench::Contender>& contenders) {
    Row row{workload, type, n, 0, 0, 0};
    for (const bench::Contender& c : contenders) {
        const double us = bench::median(c.microseconds);
        if (c.name.starts_with("ceiling")) {
            if (row.ceiling_us == 0 || us < row.ceiling_us) row.ceiling_us = us;
        } else if (c.name == "cub") {
            row.cub_us = us;
        } else {
            row.ours_us = us;
        }
    }
    rows.push_back(row);
    const double gb = double(n) * double(bytes) / 1e3;
    std::printf("%-8s %-4s 2^%-3.0f %9.2f us %7.0f GB/s  of ceiling %.3f (%9.2f us)", workload.c_str(), type.c_str(),
                std::log2(double(n)), row.ours_us, gb / row.ours_us, row.ceiling_us / row.ours_us, row.ceiling_us);
    if (row.cub_us > 0) std::printf("  CUB / ours %.3f (%9.2f us)", row.cub_us / row.ours_us, row.cub_us);
    std::printf("\n");
    std::fflush(stdout);
}

/// One Prepared a copy: each has its own bindings and its own workspace.
template <class T> std::vector<gf::Prepared> prepare(const gf::Executable& exe, const Input<T>& input, int calls) {
    std::vector<gf::Prepared> all;
    for (int c = 0; c < calls; ++c) all.push_back(exe.prepare({{"x", gf::device_view(input.copy(c), {input.n})}}));
    return all;
}

template <class T, class Result> void check(const char* what, Result ours, Result theirs) {
    if (std::memcmp(&ours, &theirs, sizeof(Result)) == 0) return;
    std::fprintf(stderr, "%s: gridfold %.17g, CUB %.17g\n", what, double(ours), double(theirs));
    if constexpr (std::is_integral_v<Result>) std::exit(3);
    if (std::abs(double(ours) - double(theirs)) > 1e-5 * (1 + std::abs(double(theirs)))) std::exit(3);
}

template <class T, class Result>
void against_cub(const std::string& workload, const std::string& type, std::int64_t n, bool cubes) {
    const Input<T> input(n, cold_bytes);
    const int calls = std::min(std::max(input.copies, n < (1 << 24) ? 20 : 1), 64);
    std::uint32_t* sink;
    Result* out;
    BENCH_CHECK(cudaMalloc(&sink, 4));
    BENCH_CHECK(cudaMalloc(&out, sizeof(Result)));

    gf::Graph g;
    const auto x = g.input<T>("x", {g.dim("n")});
    g.output("y", gf::sum(cubes ? x * x * x : x));
    gf::Options options;
    options.device = "cuda";
    const gf::Executable exe = gf::compile(g, options);
    std::vector<gf::Prepared> prepared = prepare(exe, input, calls);

    std::size_t temporary_bytes = 0;
    const auto cub_call = [&](void* temporary, std::size_t& bytes, const T* data, cudaStream_t s) {
        if (cubes)
            return cub::DeviceReduce::TransformReduce(temporary, bytes, data, out, n, cuda::std::plus<>{}, Cube{},
                                                      Result(0), s);
        return cub::DeviceReduce::Sum(temporary, bytes, data, out, n, s);
    };
    BENCH_CHECK(cub_call(nullptr, temporary_bytes, input.copy(0), nullptr));
    void* temporary;
    BENCH_CHECK(cudaMalloc(&temporary, temporary_bytes));

    BENCH_CHECK(cub_call(temporary, temporary_bytes, input.copy(0), nullptr));
    Result theirs;
    BENCH_CHECK(cudaMemcpy(&theirs, out, sizeof theirs, cudaMemcpyDeviceToHost));
    check<T, Result>(workload.c_str(), prepared[0].run().template get<Result>("y"), theirs);

    std::vector<bench::Contender> contenders = ceilings(input, sink);
    contenders.push_back({"gridfold", [&](cudaStream_t s, int c) { prepared[std::size_t(c)].enqueue(s); }});
    contenders.push_back(
        {"cub", [&](cudaStream_t s, int c) { BENCH_CHECK(cub_call(temporary, temporary_bytes, input.copy(c), s)); }});
    bench::measure(contenders, calls, n >= (1 << 26) ? 9 : 25);
    report(workload, type, n, sizeof(T), contenders);
    cudaFree(temporary);
    cudaFree(out);
    cudaFree(sink);
}

/// A dozen statistics of one column in one sweep; with `indices`, argmin and argmax in place of any and all.
void dozen(std::int64_t n, bool indices) {
    const Input<float> input(n, cold_bytes);
    const int calls = std::min(std::max(input.copies, n < (1 << 24) ? 20 : 1), 64);
    std::uint32_t* sink;
    BENCH_CHECK(cudaMalloc(&sink, 4));
    gf::Options options;
    options.device = "cuda";
    options.verify = n <= (1 << 20);
    const gf::Executable exe = gf::compile(bench::dozen(indices), options);
    std::vector<gf::Prepared> prepared = prepare(exe, input, calls);
    const gf::Results r = prepared[0].run();
    const bool right = r.get<float>("min") == -4 && r.get<float>("max") == 5 &&
                       std::abs(r.get<float>("mean") - 0.5f) < 0.1f &&
                       std::abs(r.get<float>("variance") - 8.25f) < 0.2f;
    if (!right || (indices && r.get<std::int64_t>("argmin") > 500)) {
        std::fprintf(stderr, "a statistic of 2^%.0f elements is wrong\n", std::log2(double(n)));
        std::exit(3);
    }
    std::vector<bench::Contender> contenders = ceilings(input, sink);
    contenders.push_back({"gridfold", [&](cudaStream_t s, int c) { prepared[std::size_t(c)].enqueue(s); }});
    bench::measure(contenders, calls, n >= (1 << 26) ? 9 : 25);
    report(indices ? "12 arg" : "12 stat", "f32", n, 4, contenders);
    cudaFree(sink);
}

} // namespace

int main(int argc, char** argv) {
    const int largest = argc > 1 ? std::atoi(argv[1]) : 30;
    cudaDeviceProp device;
    BENCH_CHECK(cudaGetDeviceProperties(&device, 0));
    int driver = 0;
    BENCH_CHECK(cudaDriverGetVersion(&driver));
    std::printf("%s, driver API %d, CUB %d\n", device.name, driver, CUB_VERSION);
    for (const int log2 : {10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30}) {
        if (log2 > largest) break;
        const std::int64_t n = std::int64_t(1) << log2;
        against_cub<float, float>("sum", "f32", n, false);
        against_cub<float, float>("cubes", "f32", n, true);
        if (log2 % 4 == 0 || log2 == 10) {
            against_cub<std::int32_t, std::int64_t>("sum", "i32", n, false);
            against_cub<std::int64_t, std::int64_t>("sum", "i64", n, false);
            against_cub<double, double>("sum", "f64", n, false);
        }
        if (log2 >= 16 && log2 % 4 == 0) {
            dozen(n, false);
            dozen(n, true);
        }
        if (log2 == 30) {
            dozen(n, false);
            dozen(n, true);
        }
    }
}
