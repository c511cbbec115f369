// The CUDA runtime for benchmarks: checked calls, owners of streams, events and graphs, and device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

namespace bench {

/// A call of CUDA failed.
struct CudaError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The device has too little memory for a case, which is then skipped, not failed.
struct NoRoom : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Throws CudaError, with the place of the call, for anything but success. (clang 14 has no std::source_location with
/// libstdc++.)
inline void check(cudaError_t error, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (error == cudaSuccess) return;
    throw CudaError(std::string(file) + ":" + std::to_string(line) + ": " + cudaGetErrorString(error));
}

template <auto destroy> struct Destroy {
    template <class T> void operator()(T* handle) const { destroy(handle); }
};
using Stream = std::unique_ptr<CUstream_st, Destroy<cudaStreamDestroy>>;
using Event = std::unique_ptr<CUevent_st, Destroy<cudaEventDestroy>>;
using CudaGraph = std::unique_ptr<CUgraph_st, Destroy<cudaGraphDestroy>>;
using CudaGraphExec = std::unique_ptr<CUgraphExec_st, Destroy<cudaGraphExecDestroy>>;

/// A stream that is not ordered with the default stream.
inline Stream make_stream() {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return Stream(stream);
}

inline Event make_event() {
    cudaEvent_t event = nullptr;
    check(cudaEventCreate(&event));
    return Event(event);
}

/// Zeroed device memory, freed with its last owner. Contenders share it by value.
template <class T> std::shared_ptr<T[]> device_array(std::int64_t count) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    void* address = nullptr;
    check(cudaMalloc(&address, bytes));
    std::shared_ptr<T[]> owner(static_cast<T*>(address), [](T* p) { cudaFree(p); });
    check(cudaMemset(address, 0, bytes));
    check(cudaDeviceSynchronize());
    return owner;
}

/// A host copy of the current elements.
template <class T> std::vector<T> to_host(const T* device, std::int64_t count) {
    std::vector<T> host(static_cast<std::size_t>(count));
    check(cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
}

/// Page-locked host memory.
template <class T> std::shared_ptr<T[]> pinned_array(std::int64_t count) {
    void* address = nullptr;
    check(cudaMallocHost(&address, static_cast<std::size_t>(count) * sizeof(T)));
    return std::shared_ptr<T[]>(static_cast<T*>(address), [](T* p) { cudaFreeHost(p); });
}

} // namespace bench
