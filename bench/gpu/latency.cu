// Host round trips on this GPU: from the call to the result in the caller's hands, by the host's clock. A Prepared with
// unchanged bindings, the same rebound before each run, and CUB with a copy and a synchronisation. Then what compiling costs:
// cold, and warm (the kernel in the on-disk cache), each until the first launch has returned.
//
//     latency            all of it; runs itself again as `latency compile` for the compile times of fresh processes
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <cub/device/device_reduce.cuh>

#include <gridfold/gridfold.hpp>

#include "harness.cuh"

namespace {

struct Cube {
    __device__ float operator()(float x) const { return x * x * x; }
};

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

struct Latency {
    double p50, p99;
};

template <class F> Latency latency(F&& once) {
    std::vector<double> times;
    for (int i = 0; i < 200; ++i) once();
    for (int i = 0; i < 5000; ++i) {
        const auto start = Clock::now();
        once();
        times.push_back(microseconds_since(start));
    }
    std::ranges::sort(times);
    return {times[times.size() / 2], times[times.size() * 99 / 100]};
}

gf::Graph sum_of_cubes() {
    gf::Graph g;
    const auto x = g.input<float>("x", {g.dim("n")});
    g.output("cubes", gf::sum(x * x * x));
    return g;
}

gf::Options on_cuda() {
    gf::Options options;
    options.device = "cuda";
    return options;
}

/// One process: context made, then compile to the end of the first run.
void time_compile() {
    float* data;
    const std::int64_t n = 65536;
    BENCH_CHECK(cudaMalloc(&data, std::size_t(n) * sizeof(float)));
    BENCH_CHECK(cudaMemset(data, 0, std::size_t(n) * sizeof(float)));
    BENCH_CHECK(cudaDeviceSynchronize());
    const auto start = Clock::now();
    const gf::Graph g = sum_of_cubes();
    const gf::Executable exe = gf::compile(g, on_cuda());
    const double compiled = microseconds_since(start);
    gf::Prepared p = exe.prepare({{"x", gf::device_view(data, {n})}});
    (void)p.run();
    std::printf("compile %.2f ms, to the first result %.2f ms\n", compiled / 1e3, microseconds_since(start) / 1e3);
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], "compile") == 0) {
        time_compile();
        return 0;
    }
    const std::int64_t n = 65536;
    float *a, *b, *out;
    BENCH_CHECK(cudaMalloc(&a, std::size_t(n) * sizeof(float)));
    BENCH_CHECK(cudaMalloc(&b, std::size_t(n) * sizeof(float)));
    BENCH_CHECK(cudaMalloc(&out, sizeof(float)));
    std::vector<float> host(std::size_t(n), 2.0f);
    BENCH_CHECK(cudaMemcpy(a, host.data(), std::size_t(n) * sizeof(float), cudaMemcpyHostToDevice));
    std::ranges::fill(host, 3.0f);
    BENCH_CHECK(cudaMemcpy(b, host.data(), std::size_t(n) * sizeof(float), cudaMemcpyHostToDevice));

    const gf::Graph g = sum_of_cubes();
    const gf::Executable exe = gf::compile(g, on_cuda());
    gf::Prepared p = exe.prepare({{"x", gf::device_view(a, {n})}});
    const auto expect = [](float value, float right) {
        if (value == right) return;
        std::fprintf(stderr, "wrong result %g, not %g\n", double(value), double(right));
        std::exit(3);
    };
    const Latency unchanged = latency([&] { expect(p.run().get<float>("cubes"), 8.0f * 65536); });
    bool flip = false;
    const Latency rebound = latency([&] {
        flip = !flip;
        p.rebind("x", gf::device_view(flip ? b : a, {n}));
        expect(p.run().get<float>("cubes"), (flip ? 27.0f : 8.0f) * 65536);
    });
    const Latency run = latency([&] {
        expect(exe.run({{"x", gf::device_view(a, {n})}}).get<float>("cubes"), 8.0f * 65536);
    });

    std::size_t bytes = 0;
    BENCH_CHECK(cub::DeviceReduce::TransformReduce(nullptr, bytes, a, out, n, cuda::std::plus<>{}, Cube{}, 0.0f));
    void* temporary;
    BENCH_CHECK(cudaMalloc(&temporary, bytes));
    float* pinned;
    BENCH_CHECK(cudaMallocHost(&pinned, sizeof(float)));
    cudaStream_t stream;
    BENCH_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const Latency theirs = latency([&] {
        BENCH_CHECK(
            cub::DeviceReduce::TransformReduce(temporary, bytes, a, out, n, cuda::std::plus<>{}, Cube{}, 0.0f, stream));
        BENCH_CHECK(cudaMemcpyAsync(pinned, out, sizeof(float), cudaMemcpyDeviceToHost, stream));
        BENCH_CHECK(cudaStreamSynchronize(stream));
        expect(*pinned, 8.0f * 65536);
    });

    std::printf("round trip, 64K f32, sum of cubes, us       p50     p99\n");
    const auto row = [](const char* name, Latency l) { std::printf("%-38s %8.2f %7.2f\n", name, l.p50, l.p99); };
    row("Prepared::run, unchanged bindings", unchanged);
    row("Prepared::rebind + run", rebound);
    row("Executable::run", run);
    row("CUB, copy, synchronise", theirs);
    std::printf("CUB / unchanged %.2f\n\n", theirs.p50 / unchanged.p50);
    std::fflush(stdout);

    const std::string folder = (std::filesystem::temp_directory_path() / "gridfold-latency-cache").string();
    setenv("GRIDFOLD_CACHE_DIR", folder.c_str(), 1);
    const std::string self = std::filesystem::canonical("/proc/self/exe").string() + " compile";
    for (int process = 0; process < 5; ++process) {
        if (process < 2) std::filesystem::remove_all(folder);
        std::printf("%s: ", process < 2 ? "cold cache" : "warm cache");
        std::fflush(stdout);
        if (std::system(self.c_str()) != 0) return 3;
    }
    std::filesystem::remove_all(folder);
}
