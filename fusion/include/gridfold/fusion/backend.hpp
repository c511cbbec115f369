// The interface of a backend, which builds a plan for one device (Build) and runs it with bindings (Runner).
//
// The front end (executable.cpp) has checked all bindings before a backend gets them: names, types, extents, memory
// kinds, alignment, overlap. Arrays, parameters and scalars are identified by their numbers in the Plan.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gridfold/core/stream.hpp>
#include <gridfold/core/view.hpp>
#include <gridfold/fusion/plan.hpp>

namespace gf {

/// One bound array: its address and kind of memory (never Memory::unknown).
struct BoundArray {
    void* address = nullptr;
    Memory memory = Memory::host;
    friend bool operator==(const BoundArray&, const BoundArray&) = default;
};

/// The bindings of one run of a plan: of one problem, or of several. Each list holds one problem after the other.
struct Bound {
    std::vector<std::int64_t> extents;     ///< by Plan::dims
    std::vector<BoundArray> arrays;        ///< by Plan::arrays; temporaries are null: the runner owns them
    std::vector<std::uint64_t> parameters; ///< by Plan::parameters: the value's bytes, zero-extended
    /// By Plan::arrays: the owners of outputs that the caller did not bind, else null; empty for a plan without array
    /// outputs. A captured graph keeps them as long as it may run.
    std::vector<std::shared_ptr<const void>> owners;
    std::size_t count = 1; ///< the number of problems
    /// By Plan::arrays: the strides of an input, none for a contiguous one; an empty list if all are contiguous.
    std::vector<Strides> strides{};
    friend bool operator==(const Bound& a, const Bound& b) {
        return a.count == b.count && a.extents == b.extents && a.arrays == b.arrays && a.parameters == b.parameters &&
               a.strides == b.strides;
    }
};

/// One problem of a Bound.
struct BoundProblem {
    std::span<const std::int64_t> extents;
    std::span<const BoundArray> arrays;
    std::span<const std::uint64_t> parameters;
    std::span<const Strides> strides{}; ///< may be empty, as Bound::strides

    /// The strides of an array of Plan::arrays; none if it is contiguous.
    Strides strides_of(std::size_t array) const { return strides.empty() ? Strides() : strides[array]; }
};
inline BoundProblem problem_of(const Plan& plan, const Bound& bound, std::size_t number) {
    const auto part = [&](const auto& list, std::size_t each) { return std::span(list).subspan(number * each, each); };
    return {part(bound.extents, plan.dims.size()), part(bound.arrays, plan.arrays.size()),
            part(bound.parameters, plan.parameters.size()),
            bound.strides.empty() ? std::span<const Strides>() : part(bound.strides, plan.arrays.size())};
}

/// A scalar that a run yielded.
struct ScalarResult {
    std::uint64_t bits = 0; ///< the value's bytes, zero-extended
    bool empty = false;
};

/// Problems of one plan, with their bindings and all resources of a launch. Each problem gets the same bits as alone.
/// One thread at a time.
class Runner {
public:
    Runner() = default;
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;
    virtual ~Runner() = default;
    /// Replaces the bindings. Strong guarantee: an exception leaves the old ones unchanged.
    virtual void bind(const Bound& problems) = 0;
    /// Runs, in the stream's order if one is given, waits for all results, and fills `scalars`: problem by problem, by
    /// Plan::scalars.
    virtual void run(std::span<ScalarResult> scalars, StreamView stream) = 0;
    /// Runs without waiting, in the stream's order; the stream may be capturing. CPU: runs now, and returns when done.
    virtual void enqueue(StreamView stream) = 0;
    /// Waits for the enqueued run and fills `scalars`.
    virtual void wait(std::span<ScalarResult> scalars) = 0;
};

/// A backend's facts about one sweep, for explain().
struct SweepFacts {
    std::string source; ///< the generated kernel; "" on the CPU
    int registers = -1; ///< a thread; −1 = not known
    int spill_bytes = -1;
    int threads = -1;      ///< a block
    bool cached = false;   ///< its kernel came from a cache
    std::string loop = {}; ///< CPU: whether its steps are one compiled loop, or why not
};

/// A plan built for one device. Immutable; shared between threads.
class Build {
public:
    Build() = default;
    Build(const Build&) = delete;
    Build& operator=(const Build&) = delete;
    virtual ~Build() = default;
    /// A runner for one problem. Thread-safe, like many_runner(). CUDA: the bind() of either may compile, the first
    /// time that arrays are not aligned, have strides, or have rows of another class of length; many problems, also the
    /// first time and when their schedule changes.
    virtual std::unique_ptr<Runner> runner() const = 0;
    /// A runner for any number of problems: on a GPU, one launch a sweep for all.
    virtual std::unique_ptr<Runner> many_runner() const = 0;
    virtual std::vector<SweepFacts> facts() const = 0;
    /// "cpu (AVX-512, 16 threads)", "cuda:0 (NVIDIA H200)"
    virtual std::string device() const = 0;
};

struct BuildOptions {
    bool fast_math = false;
    int threads = 0; ///< CPU: 0 = OpenMP's default
};

/// The CPU backend, which is always available.
std::shared_ptr<const Build> build_cpu(std::shared_ptr<const Plan> plan, const BuildOptions& options);
/// The CUDA backend on device `ordinal`. Throws DeviceError, CompileError.
std::shared_ptr<const Build> build_cuda(std::shared_ptr<const Plan> plan, int ordinal, const BuildOptions& options);

} // namespace gf
