// Executable and Prepared: a graph compiled once, bound and run often.
//
// A run checks the bindings (bindings.hpp), allocates the outputs that are not bound, binds the runner and runs it
// (problem_set.hpp). Executable::run does not reuse a runner that failed while running.
#include <gridfold/fusion/executable.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <gridfold/fusion/fuse.hpp>

#include "cuda/emit_cuda.hpp"
#include "front/explain.hpp"
#include "front/problem_set.hpp"

namespace gf {
namespace {

using namespace detail;

/// Runners that successive calls of Executable::run() borrow, from any thread.
template <class Lent> class Pool {
public:
    template <class Make> std::unique_ptr<Lent> take(Make&& make) {
        {
            const std::lock_guard lock(mutex_);
            if (!idle_.empty()) {
                auto taken = std::move(idle_.back());
                idle_.pop_back();
                return taken;
            }
        }
        std::unique_ptr<Lent> made = make();
        const std::lock_guard lock(mutex_);
        idle_.reserve(++made_count_); // so that returning a runner cannot fail
        return made;
    }
    /// Called instead of returning a runner that must not be used again.
    void forget() noexcept {
        const std::lock_guard lock(mutex_);
        --made_count_;
    }
    void give_back(std::unique_ptr<Lent> lent) noexcept {
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(lent));
    }
    /// Calls `use(lent)`. After a UsageError, before anything ran, `lent` is reused; after other exceptions it is not.
    template <class Make, class Use> auto with(Make&& make, Use&& use) {
        auto lent = take(make);
        try {
            auto result = use(*lent);
            give_back(std::move(lent));
            return result;
        } catch (const UsageError&) {
            give_back(std::move(lent));
            throw;
        } catch (...) {
            forget();
            throw;
        }
    }

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Lent>> idle_;
    std::size_t made_count_ = 0;
};

} // namespace

struct Prepared::Impl : ProblemSet {
    static constexpr const char* owner = "Prepared";
    explicit Impl(std::shared_ptr<const Compiled> compiled) : ProblemSet(std::move(compiled), Count::one) {}
};

struct PreparedMany::Impl : ProblemSet {
    static constexpr const char* owner = "PreparedMany";
    explicit Impl(std::shared_ptr<const Compiled> compiled) : ProblemSet(std::move(compiled), Count::many) {}
};

namespace {

/// The results of all problems after `wait(problems)`. The list is allocated before that call.
template <class Wait> std::vector<Results> all_results(ProblemSet& problems, Wait&& wait) {
    std::vector<Results> results;
    results.reserve(problems.size());
    wait(problems);
    for (std::size_t i = 0; i < problems.size(); ++i) results.push_back(problems.results(i));
    return results;
}

/// What a Prepared or PreparedMany has, unless it was moved from.
template <class Impl> Impl& alive(const std::unique_ptr<Impl>& impl) {
    if (!impl)
        throw InvalidBinding(fmt::format("a moved-from {}", Impl::owner), "its bindings are gone",
                             "use the one that it was moved to, or prepare another");
    return *impl;
}

} // namespace

Prepared::Prepared(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Prepared::Prepared(Prepared&&) noexcept = default;
Prepared& Prepared::operator=(Prepared&&) noexcept = default;
Prepared::~Prepared() = default;

void Prepared::rebind(std::string_view name, View array) { alive(impl_).rebind(0, name, array); }
void Prepared::rebind(std::string_view name, Literal scalar) { alive(impl_).rebind(0, name, scalar); }
void Prepared::rebind(const Bindings& bindings) { alive(impl_).rebind(0, bindings); }

Results Prepared::run(StreamView stream) {
    Impl& problem = alive(impl_);
    problem.run(stream);
    return problem.results(0);
}

void Prepared::enqueue(StreamView stream) { alive(impl_).enqueue(stream); }

Results Prepared::results() {
    Impl& problem = alive(impl_);
    problem.finish();
    return problem.results(0);
}

PreparedMany::PreparedMany(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PreparedMany::PreparedMany(PreparedMany&&) noexcept = default;
PreparedMany& PreparedMany::operator=(PreparedMany&&) noexcept = default;
PreparedMany::~PreparedMany() = default;

std::size_t PreparedMany::size() const noexcept { return impl_ ? impl_->size() : 0; }

void PreparedMany::rebind(std::size_t problem, std::string_view name, View array) {
    alive(impl_).rebind(problem, name, array);
}
void PreparedMany::rebind(std::size_t problem, std::string_view name, Literal scalar) {
    alive(impl_).rebind(problem, name, scalar);
}
void PreparedMany::rebind(std::size_t problem, const Bindings& bindings) { alive(impl_).rebind(problem, bindings); }

std::vector<Results> PreparedMany::run(StreamView stream) {
    return all_results(alive(impl_), [&](ProblemSet& problems) { problems.run(stream); });
}

void PreparedMany::enqueue(StreamView stream) { alive(impl_).enqueue(stream); }

std::vector<Results> PreparedMany::results() {
    return all_results(alive(impl_), [](ProblemSet& problems) { problems.finish(); });
}

struct Executable::Impl {
    explicit Impl(std::shared_ptr<const Compiled> c) : compiled(std::move(c)) {}

    std::shared_ptr<const Compiled> compiled;
    mutable Pool<Prepared::Impl> pool;
    mutable Pool<PreparedMany::Impl> pool_of_many;
};

Results Executable::run(const Bindings& inputs, const Bindings& outputs, StreamView stream) const {
    const auto make = [&] { return std::make_unique<Prepared::Impl>(impl_->compiled); };
    return impl_->pool.with(make, [&](Prepared::Impl& prepared) {
        prepared.bind({&inputs, 1}, {&outputs, 1});
        prepared.run(stream);
        return prepared.results(0);
    });
}

Prepared Executable::prepare(const Bindings& inputs, const Bindings& outputs) const {
    auto prepared = std::make_unique<Prepared::Impl>(impl_->compiled);
    prepared->bind({&inputs, 1}, {&outputs, 1});
    return Prepared(std::move(prepared));
}

std::vector<Results> Executable::run_many(std::span<const Bindings> inputs, std::span<const Bindings> outputs,
                                          StreamView stream) const {
    if (inputs.empty() && outputs.empty()) return {};
    const auto make = [&] { return std::make_unique<PreparedMany::Impl>(impl_->compiled); };
    return impl_->pool_of_many.with(make, [&](PreparedMany::Impl& prepared) {
        prepared.bind(inputs, outputs);
        return all_results(prepared, [&](ProblemSet& problems) { problems.run(stream); });
    });
}

PreparedMany Executable::prepare_many(std::span<const Bindings> inputs, std::span<const Bindings> outputs) const {
    if (inputs.empty())
        throw InvalidBinding("prepare_many() was given no problem", "what is prepared can be run",
                             "give it one or more");
    auto prepared = std::make_unique<PreparedMany::Impl>(impl_->compiled);
    prepared->bind(inputs, outputs);
    return PreparedMany(std::move(prepared));
}

std::string Executable::explain() const {
    const Compiled& compiled = *impl_->compiled;
    std::string text = detail::explain(compiled.plan(), device(), compiled.chosen.why, compiled.chosen.build->facts());
    if (compiled.reference) text += "verify: every run is compared by bits with the unfused graph on the cpu\n";
    return text;
}

std::string Executable::source(bool full) const {
    std::string text;
    for (const SweepId i : plan().sweeps.ids()) {
        if (!text.empty()) text += "\n";
        text += full ? cuda::emit_cuda(plan(), i).source : cuda::sweep_text(plan(), i);
    }
    return text;
}

const Plan& Executable::plan() const { return impl_->compiled->plan(); }
std::string Executable::device() const { return impl_->compiled->chosen.build->device(); }

Executable compile(const Graph& graph, const Options& options) {
    if (graph.outputs().empty())
        throw InvalidGraph(fmt::format("graph {} has no output", graph.name()), "a graph is compiled for its outputs",
                           "name a result with g.output(\"name\", value)");
    if (options.verify && options.fast_math)
        throw InvalidOption("Options asks for verify and fast_math", "verify compares bits, which fast_math gives up",
                            "leave one of the two out");
    if (options.threads < 0)
        throw InvalidOption(fmt::format("Options asks for {} threads", options.threads), "threads are counted from 1",
                            "use 0 for OpenMP's default number of threads");
    FuseOptions fuse_options;
    fuse_options.fuse = options.fuse;
    fuse_options.fast_math = options.fast_math;
    auto plan = std::make_shared<const Plan>(fuse(graph, fuse_options));
    auto compiled = std::make_shared<Compiled>();
    compiled->chosen = build_for(options.device, plan, {.fast_math = options.fast_math, .threads = options.threads});
    compiled->signature = make_signature(graph, std::move(plan));
    compiled->memory = options.memory;
    if (options.verify) compiled->signature.in_place.clear(); // the reference reads the inputs after the run
    if (options.verify) compiled->reference = std::make_unique<const Reference>(graph, compiled->chosen.target);
    return Executable(std::make_shared<const Executable::Impl>(std::move(compiled)));
}

} // namespace gf
