// A gridfold sweep inside a user's CUDA Graph: captured from a stream between the user's own copies, and launched again
// with new data. It needs the CUDA toolkit to build and a GPU to run, and prints a message if one is missing.
#include <iostream>

#include <gridfold/gridfold.hpp>

#ifdef GRIDFOLD_EXAMPLE_HAS_TOOLKIT
#include <cmath>
#include <vector>

#include <cuda_runtime.h>

namespace {

void check(cudaError_t error) {
    if (error != cudaSuccess) throw gf::DeviceError(cudaGetErrorString(error));
}

int run() {
    constexpr std::int64_t n = 1 << 20;
    constexpr std::size_t bytes = n * sizeof(float);
    float *host_x = nullptr, *host_y = nullptr, *x = nullptr, *y = nullptr;
    check(cudaMallocHost(&host_x, bytes));
    check(cudaMallocHost(&host_y, bytes));
    check(cudaMalloc(&x, bytes));
    check(cudaMalloc(&y, bytes));

    // Scales to length 1: a reduction, then a map that needs its result, in two sweeps.
    const gf::Executable exe =
        gf::compile(gf::parse("unit(x: f32[n]) -> y = x / sqrt(sum(x * x))"), {.device = "cuda"});
    gf::Prepared prepared = exe.prepare({{"x", gf::device_view(x, {n})}}, {{"y", gf::device_view(y, {n})}});

    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    check(cudaStreamCreate(&stream));
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    check(cudaMemcpyAsync(x, host_x, bytes, cudaMemcpyHostToDevice, stream));
    prepared.enqueue(stream); // launches nothing now: the run becomes a part of the graph
    check(cudaMemcpyAsync(host_y, y, bytes, cudaMemcpyDeviceToHost, stream));
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&exec, graph, 0));

    bool right = true;
    for (int round = 1; round <= 3; ++round) {
        double squares = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            host_x[i] = static_cast<float>(1 + i * round % 5);
            squares += host_x[i] * host_x[i];
        }
        check(cudaGraphLaunch(exec, stream));
        check(cudaStreamSynchronize(stream));
        const double expected = host_x[n - 1] / std::sqrt(squares);
        std::cout << "launch " << round << ": y[n - 1] = " << host_y[n - 1] << ", expected " << expected << '\n';
        right = right && std::abs(host_y[n - 1] - expected) <= 1e-6;
    }
    check(cudaGraphExecDestroy(exec));
    check(cudaGraphDestroy(graph));
    check(cudaStreamDestroy(stream));
    check(cudaFree(x));
    check(cudaFree(y));
    check(cudaFreeHost(host_x));
    check(cudaFreeHost(host_y));
    if (!right) std::cerr << "wrong\n";
    return right ? 0 : 1;
}

} // namespace
#else
namespace {

int run() {
    std::cout << "skipped: this was built without the CUDA toolkit, whose runtime the user's side of it calls\n";
    return 0;
}

} // namespace
#endif

int main() try {
    if (const std::string reason = gf::cuda_unavailable_reason(); !reason.empty()) {
        std::cout << "skipped: capturing a CUDA Graph with our sweeps in it: " << reason << '\n';
        return 0;
    }
    return run();
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
