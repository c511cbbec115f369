// Timing graph-captured work on a GPU: contenders take turns within a round, and what is reported is the median over the
// rounds, so that ratios are of one run. Cold: a captured graph makes several calls, each on another copy of the input,
// until their bytes are several times the L2.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <cuda_runtime.h>

#define BENCH_CHECK(call)                                                                                   \
    do {                                                                                                    \
        const cudaError_t error_ = (call);                                                                  \
        if (error_ != cudaSuccess) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
            std::exit(2);                                                                                   \
        }                                                                                                   \
    } while (false)

namespace bench {

/// One contender: enqueue(stream, copy) puts one call on copy number `copy` of the input into the stream.
struct Contender {
    std::string name;
    std::function<void(cudaStream_t, int)> enqueue;
    cudaGraphExec_t graph = nullptr;
    std::vector<double> microseconds{};
};

inline double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// Captures `calls` calls of each contender, then times the graphs in turn, `rounds` times. Microseconds a call.
inline void measure(std::vector<Contender>& contenders, int calls, int rounds) {
    cudaStream_t stream;
    BENCH_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaEvent_t start, stop;
    BENCH_CHECK(cudaEventCreate(&start));
    BENCH_CHECK(cudaEventCreate(&stop));
    for (Contender& c : contenders) {
        cudaGraph_t graph;
        BENCH_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        for (int i = 0; i < calls; ++i) c.enqueue(stream, i);
        BENCH_CHECK(cudaStreamEndCapture(stream, &graph));
        BENCH_CHECK(cudaGraphInstantiate(&c.graph, graph, 0));
        BENCH_CHECK(cudaGraphDestroy(graph));
        BENCH_CHECK(cudaGraphLaunch(c.graph, stream)); // warm
    }
    BENCH_CHECK(cudaStreamSynchronize(stream));
    for (int round = 0; round < rounds; ++round)
        for (std::size_t n = 0; n < contenders.size(); ++n) {
            Contender& c = contenders[(n + std::size_t(round)) % contenders.size()];
            BENCH_CHECK(cudaEventRecord(start, stream));
            BENCH_CHECK(cudaGraphLaunch(c.graph, stream));
            BENCH_CHECK(cudaEventRecord(stop, stream));
            BENCH_CHECK(cudaEventSynchronize(stop));
            float milliseconds = 0;
            BENCH_CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
            c.microseconds.push_back(1e3 * double(milliseconds) / calls);
        }
    for (Contender& c : contenders) BENCH_CHECK(cudaGraphExecDestroy(c.graph));
    BENCH_CHECK(cudaEventDestroy(start));
    BENCH_CHECK(cudaEventDestroy(stop));
    BENCH_CHECK(cudaStreamDestroy(stream));
}

} // namespace bench
