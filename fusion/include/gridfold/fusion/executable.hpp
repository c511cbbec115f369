// Running a graph: compile it once, run it often.
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

/// How to compile and run.
struct Options {
    /// "auto" (cuda where it can run, else cpu; explain() says why), "cpu", "cuda", "cuda:1".
    std::string device = "auto";
    /// false: one sweep a node with materialised intermediates, for debugging and as the unfused contender. Same bits.
    bool fuse = true;
    /// Also runs the unfused graph on the CPU after every run() and compares every output; a difference throws
    /// InternalError. On cuda an output that an inexact map (exp …) reaches is held to the bound that follows from the
    /// rows' ulps, and not compared where none does: explain() says which. Not together with fast_math.
    bool verify = false;
    /// Gives up the same-bits contract: contraction and faster, less exact functions.
    bool fast_math = false;
    /// The CPU backend's threads; 0: as many as OpenMP would take. Changes no bit.
    int threads = 0;
    /// Where array results that are not bound get their memory. Both must outlive the executable and all Results of it:
    /// the memory of results that are gone serves later runs, which is why they are given here and not to each run.
    MemoryResources memory{};
};

/// A name and what is bound to it: an array to an input or output, or a number to a run-time scalar or a dim.
///
/// The arrays that are bound give the dims their extents. A dim that none of them has (one that only index() and
/// outputs have) is bound by name: {"n", 1000}. Others may be, and must then agree with the arrays.
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
    // As View's.
    template <detail::TemporaryArray Range>
    Binding(std::string_view, Range&&) = delete;                  // dangles: bind an array kept in a variable
    Binding(std::string_view, const std::vector<bool>&) = delete; // packs its bits: bind a std::vector<std::uint8_t>
};
using Bindings = std::vector<Binding>;

/// An executable with bindings and everything a launch needs (workspace, intermediates, CUDA Graph, result slot).
/// Move-only; one thread at a time. The Executable it came from may be destroyed before it.
class Prepared {
public:
    Prepared(Prepared&&) noexcept;
    Prepared& operator=(Prepared&&) noexcept;
    ~Prepared();

    /// Binds another array (or scalar value) to an input or output. Checked as at prepare(); on an exception the old
    /// binding stands.
    void rebind(std::string_view name, View array);
    void rebind(std::string_view name, Literal scalar);
    /// Several at once: extents that change together must be bound together.
    void rebind(const Bindings& bindings);
    /// Runs and waits. Arrays that the caller did not bind are this Prepared's own: the next run overwrites them.
    Results run(StreamView stream = {});
    /// Starts a run in the stream's order without waiting. results() waits for it, and only then are arrays in host
    /// memory filled that are bound as outputs: call it before the next rebind() or enqueue(). Inputs in host memory
    /// are read before enqueue() returns, page-locked ones when the stream gets there.
    ///
    /// While the stream is capturing, the run becomes part of the graph, which then owns what it needs: one launch of
    /// it may be in flight at a time, however often the graph is instantiated, and none beside a run of this Prepared
    /// if an array output is not bound (both write the same array). All arrays must be in device memory. A DeviceError
    /// may leave a part of the run in the capture: end it and start anew.
    void enqueue(StreamView stream);
    /// The results of the last run. InvalidResult where nothing was run since prepare() or rebind().
    Results results();

    struct Impl;

private:
    friend class Executable;
    explicit Prepared(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Several problems of one executable, bound and ready to run together: on a GPU in one launch a sweep, and with the
/// bits that each would have alone. Move-only; one thread at a time.
class PreparedMany {
public:
    PreparedMany(PreparedMany&&) noexcept;
    PreparedMany& operator=(PreparedMany&&) noexcept;
    ~PreparedMany();

    /// The number of problems.
    std::size_t size() const noexcept;
    /// As Prepared's, of one problem, numbered from 0: on an exception the old bindings stand. Costs a pass over the
    /// bindings of all problems.
    void rebind(std::size_t problem, std::string_view name, View array);
    void rebind(std::size_t problem, std::string_view name, Literal scalar);
    void rebind(std::size_t problem, const Bindings& bindings);
    /// Runs and waits; a Results for each problem, in their order. Arrays that the caller did not bind are overwritten
    /// by the next run.
    std::vector<Results> run(StreamView stream = {});
    /// As Prepared's, captures included.
    void enqueue(StreamView stream);
    std::vector<Results> results();

    struct Impl;

private:
    friend class Executable;
    explicit PreparedMany(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// A plan bound to a backend. Immutable; copies share it; any number of threads may call it at once.
class Executable {
public:
    /// Runs once. Outputs that are not bound are allocated in the inputs' kind of memory and owned by the Results; when
    /// those are gone, the memory serves the next run. So do device copies of host arrays: each thread that was ever in
    /// run() at the same time as others leaves one set, until the Executable is gone.
    Results run(const Bindings& inputs, const Bindings& outputs = {}, StreamView stream = {}) const;
    Prepared prepare(const Bindings& inputs, const Bindings& outputs = {}) const;
    /// Runs many problems, small ones above all, each with extents and scalars of its own: on a GPU one launch a sweep
    /// (the first call compiles its kernels). `outputs`: empty, or one list for each problem. A mistake in one of them
    /// is an InvalidBinding that names it, and nothing runs.
    std::vector<Results> run_many(std::span<const Bindings> inputs, std::span<const Bindings> outputs = {},
                                  StreamView stream = {}) const;
    PreparedMany prepare_many(std::span<const Bindings> inputs, std::span<const Bindings> outputs = {}) const;
    /// The plan, sweep by sweep, in words: what it reads and writes, why it is a sweep of its own, what it will cost.
    std::string explain() const;
    /// The kernels that the cuda backend generates for the plan, one a sweep, whichever device this executable is for:
    /// the sweeps alone, with your names and the plan's instructions as comments; or, `full`, all that is compiled.
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
