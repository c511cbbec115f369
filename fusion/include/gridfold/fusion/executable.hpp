// Compiling a graph once and running it often.
//
//     gf::Executable exe = gf::compile(g);
//     gf::Results r = exe.run({{"x", data}, {"alpha", 0.5f}});
//     auto sum = r.get<std::int64_t>("sum");
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gridfold/core/error.hpp>
#include <gridfold/core/memory_resource.hpp>
#include <gridfold/core/stream.hpp>
#include <gridfold/core/view.hpp>
#include <gridfold/fusion/results.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf::plan {
struct Plan;
} // namespace gf::plan

namespace gf {

/// The options of compiling and running.
struct Options {
    /// "auto" (cuda if it can run, else cpu; explain() says why), "cpu", "cuda", "cuda:1".
    std::string device = "auto";
    /// false: one sweep a node with materialised intermediates, for debugging and for comparison. Same bits.
    bool fuse = true;
    /// Also runs the unfused graph on the CPU after every run() and compares every output; a difference throws
    /// InternalError. Compared by bits, on every device. Not together with fast_math.
    bool verify = false;
    /// Gives up the same-bits contract: contraction and faster, less exact functions.
    bool fast_math = false;
    /// The CPU backend's threads; 0: OpenMP's default. Changes no bit.
    int threads = 0;
    /// Allocators of array results that are not bound. Both must outlive the executable and all its Results, because
    /// later runs reuse the memory of destroyed Results.
    MemoryResources memory{};
};

/// A binding by name: an array to an input or output, or a number to a run-time scalar or a dim. Inputs may have
/// strides; outputs are contiguous. An output in the memory of an input, gaps between its elements included, is
/// refused, except over a contiguous input as a whole where the graph allows that.
///
/// Bound arrays determine the extents of their dims. A dim of no bound array (one of index() or of unbound outputs) is
/// bound by name: {"n", 1000}. Other dims may be bound, too, and must then agree with the arrays.
struct Binding {
    std::string name;
    View array{}; ///< used if !scalar
    std::optional<Literal> scalar{};
    Binding(std::string_view to, View view) : name(to), array(view) {}
    template <class N>
        requires std::is_arithmetic_v<N>
    Binding(std::string_view to, N value) : name(to), scalar(value) {}
    template <detail::ArrayThatStays Range>
    Binding(std::string_view to, Range&& range) : name(to), array(std::forward<Range>(range)) {}
    // As in View.
    template <detail::TemporaryArray Range>
    Binding(std::string_view, Range&&) = delete;                  // dangles: bind an array kept in a variable
    Binding(std::string_view, const std::vector<bool>&) = delete; // packs its bits: bind a std::vector<std::uint8_t>
};
using Bindings = std::vector<Binding>;

/// An executable with bindings and everything a launch needs (workspace, intermediates, CUDA Graph, result slot).
/// Move-only; one thread at a time. The Executable it came from may be destroyed before it. A moved-from one refuses
/// every use but assignment (InvalidBinding).
class Prepared {
public:
    Prepared(Prepared&&) noexcept;
    Prepared& operator=(Prepared&&) noexcept;
    ~Prepared();

    /// Binds another array (or scalar value) to an input or output. Checked as in prepare(); an exception leaves the
    /// old binding unchanged. An array may have other strides than the one before, or none. On a GPU a
    /// binding may compile kernels, for all uses of this Executable: the first array that is not aligned to 16 bytes,
    /// the first in device memory with strides, and the first rows of a length whose kernel differs. Up to 512 elements
    /// that is one for each power of 2 and each alignment; longer rows have one for each power of 2 of blocks, few ones
    /// another. Rows of a power of 2 up to 2,048 elements, and those of a multiple of 2,048 for each number of slabs of
    /// a block, have others where outputs and weights are aligned, too. Bind one beforehand where that would come at a
    /// bad time. Without NVRTC strides that need a new kernel are a DeviceError.
    void rebind(std::string_view name, View array);
    void rebind(std::string_view name, Literal scalar);
    /// Changes several bindings at once: extents that change together must be bound together.
    void rebind(const Bindings& bindings);
    /// Runs and waits. Arrays that the caller did not bind are this Prepared's own: the next run overwrites them.
    Results run(StreamView stream = {});
    /// Starts a run in the stream's order without waiting. results() waits for it and fills outputs in host memory:
    /// call it before the next rebind() or enqueue(). Inputs in host memory are read before enqueue() returns;
    /// page-locked inputs without strides are read in stream order.
    ///
    /// While the stream is capturing, the run becomes part of the graph, which then owns the memory it needs. Only one
    /// launch of the run may be in flight at a time, in all instances of the graph; if an array output is not bound,
    /// also not at the same time as a run of this Prepared (both write the same array). All arrays must be in device
    /// memory. A DeviceError may leave a part of the run in the capture: end that capture and begin another.
    void enqueue(StreamView stream);
    /// The results of the last run. InvalidResult if nothing was run since prepare() or rebind().
    Results results();

    struct Impl;

private:
    friend class Executable;
    explicit Prepared(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Several problems of one executable, bound and ready to run together: on a GPU, in one launch a sweep. Each problem
/// gets the same bits as alone. Move-only, as Prepared; one thread at a time. Moved from, it has no problems.
class PreparedMany {
public:
    PreparedMany(PreparedMany&&) noexcept;
    PreparedMany& operator=(PreparedMany&&) noexcept;
    ~PreparedMany();

    /// The number of problems.
    std::size_t size() const noexcept;
    /// Prepared::rebind() for one problem, numbered from 0. Takes time in proportion to the bindings of all problems.
    /// On a GPU it may compile kernels, as Prepared::rebind() or if the launch becomes much larger or smaller.
    void rebind(std::size_t problem, std::string_view name, View array);
    void rebind(std::size_t problem, std::string_view name, Literal scalar);
    void rebind(std::size_t problem, const Bindings& bindings);
    /// Runs and waits. Returns a Results for each problem, in their order. The next run overwrites arrays that the
    /// caller did not bind.
    std::vector<Results> run(StreamView stream = {});
    /// As Prepared::enqueue(), captures included.
    void enqueue(StreamView stream);
    std::vector<Results> results();

    struct Impl;

private:
    friend class Executable;
    explicit PreparedMany(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// A plan bound to a backend. Immutable; copies share it, and a move copies; any number of threads may call it at once.
class Executable {
public:
    Executable(const Executable&) = default;
    Executable& operator=(const Executable&) = default;

    /// Runs once. On a GPU it may compile kernels, as Prepared::rebind(). Outputs that are not bound are allocated in
    /// the inputs' kind of memory and owned by the Results; later runs reuse the memory of destroyed Results. The
    /// Executable also keeps device copies of host arrays, one set for each thread that was ever in run() at the same
    /// time as others.
    Results run(const Bindings& inputs, const Bindings& outputs = {}, StreamView stream = {}) const;
    Prepared prepare(const Bindings& inputs, const Bindings& outputs = {}) const;
    /// Runs many problems, each with its own extents and scalars: on a GPU, in one launch a sweep (the first call
    /// compiles its kernels, and so may a call with a much larger or smaller launch). Worth it for small problems.
    /// `outputs`: empty, or one list for each problem. A mistake is an InvalidBinding that names the problem, and
    /// nothing runs.
    std::vector<Results> run_many(std::span<const Bindings> inputs, std::span<const Bindings> outputs = {},
                                  StreamView stream = {}) const;
    PreparedMany prepare_many(std::span<const Bindings> inputs, std::span<const Bindings> outputs = {}) const;
    /// The plan in words, sweep by sweep: the arrays it reads and writes, the reason for each sweep, and its cost.
    std::string explain() const;
    /// The kernels that the cuda backend generates for the plan and aligned arrays, one a sweep, for any device of this
    /// executable: the sweeps alone, with the graph's names and the plan's instructions as comments; or, `full`, the
    /// whole text.
    std::string source(bool full = false) const;
    const plan::Plan& plan() const;
    /// "cpu (AVX-512, 2 threads)", "cuda:0 (NVIDIA H200)"
    std::string device() const;

    struct Impl;

private:
    friend Executable compile(const Graph& graph, const Options& options);
    explicit Executable(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
    std::shared_ptr<const Impl> impl_;
};

/// Fuses, generates and builds. Throws InvalidGraph (no outputs, a refused construct), InvalidOption (an unknown
/// device name), DeviceError, CompileError.
Executable compile(const Graph& graph, const Options& options = {});

} // namespace gf
