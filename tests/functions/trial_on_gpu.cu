// Trials on CUDA's first device: operands are made there, and only the CPU's operands and results are copied.
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda_runtime.h>

#include <gridfold/core/buffer.hpp>

#include "functions/trial.hpp"

namespace gf::test {
namespace {

constexpr int threads = 128, blocks = 132 * 16;

void check(cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

template <class T>
__global__ void make_operands(Domain domain, Points points, std::uint64_t first, std::uint64_t count, T* a, T* b) {
    for (std::uint64_t i = blockIdx.x * std::uint64_t{threads} + threadIdx.x; i < count; i += gridDim.x * threads) {
        const Point<T> p = chosen_point<T>(domain, points, first + i);
        a[i] = p.a;
        if (b != nullptr) b[i] = p.b;
    }
}
/// A tally for each block.
template <class Name, class T>
__global__ void find_errors(const T* a, const T* b, const T* results, std::uint64_t first, std::uint64_t count,
                            Tally* tallies) {
    Tally own;
    for (std::uint64_t i = blockIdx.x * std::uint64_t{threads} + threadIdx.x; i < count; i += gridDim.x * threads)
        own.add(error_in_ulps(results[i], Name::exact(double(a[i]), b == nullptr ? 0.0 : double(b[i]))), first + i);
    __shared__ unsigned char memory[threads * sizeof(Tally)]; // Tally has a constructor: no array of it is shared
    Tally* const all = reinterpret_cast<Tally*>(memory);
    all[threadIdx.x] = own;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int i = 1; i < threads; ++i) own.add(all[i]);
    tallies[blockIdx.x] = own;
}
struct Found {
    unsigned long long count, at;
};
template <class T> __global__ void find_differences(const T* x, const T* y, std::uint64_t count, Found* found) {
    for (std::uint64_t i = blockIdx.x * std::uint64_t{threads} + threadIdx.x; i < count; i += gridDim.x * threads)
        if (!same_bits(x[i], y[i])) {
            atomicAdd(&found->count, 1ull);
            atomicMin(&found->at, static_cast<unsigned long long>(i));
        }
}

template <class T> class GpuTrial : public Trial<T> {
public:
    explicit GpuTrial(std::uint64_t capacity)
        : a_(0, capacity * sizeof(T)), b_(0, capacity * sizeof(T)), results_(0, capacity * sizeof(T)),
          others_(0, capacity * sizeof(T)), tallies_(0, blocks * sizeof(Tally)), found_(0, sizeof(Found)),
          host_a_(0, capacity * sizeof(T)), host_b_(0, capacity * sizeof(T)), host_results_(0, capacity * sizeof(T)) {}

    void make(const Function& f, Points points, std::uint64_t first, std::uint64_t count) override {
        first_ = first;
        count_ = count;
        second_ = f.arity() == 2;
        make_operands<T><<<blocks, threads>>>(f.domain, points, first, count, at(a_), second_ ? at(b_) : nullptr);
        check(cudaGetLastError());
        copy(host_a_, a_, count, cudaMemcpyDeviceToHost);
        if (second_) copy(host_b_, b_, count, cudaMemcpyDeviceToHost);
    }
    View a() override { return a_.view(dtype_of<T>, extents()); }
    View b() override { return b_.view(dtype_of<T>, extents()); }
    View results() override { return results_.view(dtype_of<T>, extents()); }
    Tally errors(const Function& f) override {
        const T* const b = second_ ? at(b_) : nullptr;
        Tally* const tallies = static_cast<Tally*>(tallies_.address());
#define GRIDFOLD_FUNCTION(function, ...) \
    if (f.name == #function)             \
        find_errors<function##_name><<<blocks, threads>>>(at(a_), b, at(results_), first_, count_, tallies);
#include "functions/functions.def"
#undef GRIDFOLD_FUNCTION
        check(cudaGetLastError());
        std::vector<Tally> some(blocks);
        check(cudaMemcpy(some.data(), tallies, blocks * sizeof(Tally), cudaMemcpyDeviceToHost));
        Tally all;
        for (const Tally& tally : some) all.add(tally);
        return all;
    }
    View host_a() override { return host_a_.view(dtype_of<T>, extents()); }
    View host_b() override { return host_b_.view(dtype_of<T>, extents()); }
    View host_results() override { return host_results_.view(dtype_of<T>, extents()); }
    Difference difference(std::uint64_t count) override {
        copy(others_, host_results_, count, cudaMemcpyHostToDevice);
        Found found{0, ~0ull};
        check(cudaMemcpy(found_.address(), &found, sizeof found, cudaMemcpyHostToDevice));
        find_differences<<<blocks, threads>>>(at(results_), at(others_), count, static_cast<Found*>(found_.address()));
        check(cudaGetLastError());
        check(cudaMemcpy(&found, found_.address(), sizeof found, cudaMemcpyDeviceToHost));
        return {found.count, found.count == 0 ? 0 : first_ + found.at};
    }

private:
    Extents extents() const { return {static_cast<std::int64_t>(count_)}; }
    static T* at(const DeviceBuffer& buffer) { return static_cast<T*>(buffer.address()); }
    template <class To, class From>
    static void copy(const To& to, const From& from, std::uint64_t count, cudaMemcpyKind kind) {
        check(cudaMemcpy(to.address(), from.address(), count * sizeof(T), kind));
    }

    DeviceBuffer a_, b_, results_, others_, tallies_, found_;
    PinnedBuffer host_a_, host_b_, host_results_;
    std::uint64_t first_ = 0, count_ = 0;
    bool second_ = false;
};

} // namespace

template <class T> std::unique_ptr<Trial<T>> trial_on_gpu(std::uint64_t capacity) {
    return std::make_unique<GpuTrial<T>>(capacity);
}
template std::unique_ptr<Trial<float>> trial_on_gpu(std::uint64_t);
template std::unique_ptr<Trial<double>> trial_on_gpu(std::uint64_t);

} // namespace gf::test
