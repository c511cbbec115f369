// Executable and Prepared: a graph compiled once, bound and run often.
//
// A run does in this order: check what is bound (bindings.hpp), give the outputs that are not bound their memory, bind
// the runner, run it. The first two can only fail with nothing changed; a runner that fails while it runs is not used
// again by Executable::run.
#include <gridfold/fusion/executable.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <gridfold/fusion/fuse.hpp>

#include "cuda/emit_cuda.hpp"
#include "front/explain.hpp"
#include "front/problem.hpp"

namespace gf {
namespace {

using namespace detail;

/// Runners that one Executable::run() after the other borrows, whatever thread it is in.
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
        idle_.reserve(++made_count_); // so that giving back cannot fail
        return made;
    }
    /// Instead of giving back what may not be used again.
    void forget() noexcept {
        const std::lock_guard lock(mutex_);
        --made_count_;
    }
    void give_back(std::unique_ptr<Lent> lent) noexcept {
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(lent));
    }
    /// Calls `use(lent)`. What was refused before anything ran can be lent again; after other exceptions it is not.
    template <class Make, class Use> auto with(Make&& make, Use&& use) {
        auto lent = take(make);
        try {
            auto result = use(*lent);
            give_back(std::move(lent));
            return result;
        } catch (const InvalidGraph&) {
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

/// Since the bindings changed.
enum class Last { nothing, run, enqueued };

void require_a_run(Last last) {
    if (last == Last::nothing)
        throw InvalidGraph(
            "results() was called, but nothing was run with the bindings that stand: results belong to a run; "
            "call run() or enqueue() first");
}

} // namespace

struct Prepared::Impl {
    explicit Impl(const std::shared_ptr<const Compiled>& compiled)
        : runner(compiled->chosen.build->runner()), problem(compiled) {}

    /// Takes what was given. On an exception the old bindings stand.
    void commit() {
        const Bound& next = problem.stage();
        if (!is_bound || next != problem.bound()) {
            runner->bind(next);
            is_bound = true;
        }
        problem.accept();
        last = Last::nothing;
    }
    void run(StreamView stream) {
        last = Last::nothing;
        runner->run(problem.scalars, stream);
        problem.publish(true);
        last = Last::run;
    }

    std::unique_ptr<Runner> runner;
    Problem problem;
    bool is_bound = false; ///< the runner has taken the problem's Bound
    Last last = Last::nothing;
};

struct PreparedMany::Impl {
    explicit Impl(std::shared_ptr<const Compiled> c)
        : compiled(std::move(c)), runner(compiled->chosen.build->many_runner()) {}

    void bind(std::span<const Bindings> inputs, std::span<const Bindings> outputs);
    std::vector<Results> run(StreamView stream) {
        last = Last::nothing;
        runner->run(scalars, stream);
        publish(true);
        last = Last::run;
        return results();
    }
    /// Fills each problem's results from `scalars`.
    void publish(bool verify);
    std::vector<Results> results() const {
        std::vector<Results> all;
        for (const auto& problem : problems) all.push_back(problem->results());
        return all;
    }

    std::shared_ptr<const Compiled> compiled;
    std::unique_ptr<ManyRunner> runner;
    std::vector<std::unique_ptr<Problem>> problems;
    std::vector<ScalarResult> scalars; ///< problem by problem
    Last last = Last::nothing;
};

void PreparedMany::Impl::bind(std::span<const Bindings> inputs, std::span<const Bindings> outputs) {
    if (!outputs.empty() && outputs.size() != inputs.size())
        throw InvalidGraph(
            fmt::format("{} problems were given outputs, and {} inputs: each problem has its own of both, or none has "
                        "outputs; give as many of them, empty ones where nothing is bound",
                        outputs.size(), inputs.size()));
    last = Last::nothing;
    while (problems.size() < inputs.size()) problems.push_back(std::make_unique<Problem>(compiled));
    problems.resize(inputs.size());
    std::vector<Bound> bounds;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        Problem& problem = *problems[i];
        try {
            problem.let_go_of_results();
            problem.give_only(inputs[i], outputs.empty() ? std::span<const Binding>{} : outputs[i]);
            bounds.push_back(problem.stage());
        } catch (const InvalidGraph& error) {
            throw InvalidGraph(fmt::format("problem {} of {}: {}", i, inputs.size(), error.what()));
        }
    }
    refuse_shared_outputs(compiled->plan(), bounds);
    scalars.resize(inputs.size() * compiled->plan().scalars.size());
    runner->bind(bounds);
    for (const auto& problem : problems) problem->accept();
}

void PreparedMany::Impl::publish(bool verify) {
    const std::size_t each = compiled->plan().scalars.size();
    for (std::size_t i = 0; i < problems.size(); ++i) {
        std::copy_n(scalars.begin() + static_cast<std::ptrdiff_t>(i * each), each, problems[i]->scalars.begin());
        problems[i]->publish(verify);
    }
}

Prepared::Prepared(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Prepared::Prepared(Prepared&&) noexcept = default;
Prepared& Prepared::operator=(Prepared&&) noexcept = default;
Prepared::~Prepared() = default;

void Prepared::rebind(std::string_view name, View array) {
    const Binding binding(name, array);
    impl_->problem.start_from_current();
    impl_->problem.give({&binding, 1}, Side::both);
    impl_->commit();
}

void Prepared::rebind(std::string_view name, Literal scalar) {
    impl_->problem.start_from_current();
    impl_->problem.give(name, scalar);
    impl_->commit();
}

void Prepared::rebind(const Bindings& bindings) {
    impl_->problem.start_from_current();
    impl_->problem.give(bindings, Side::both);
    impl_->commit();
}

Results Prepared::run(StreamView stream) {
    impl_->run(stream);
    return impl_->problem.results();
}

void Prepared::enqueue(StreamView stream) {
    impl_->last = Last::nothing;
    impl_->runner->enqueue(stream);
    impl_->last = Last::enqueued;
}

Results Prepared::results() {
    require_a_run(impl_->last);
    if (impl_->last == Last::enqueued) {
        impl_->runner->wait(impl_->problem.scalars);
        impl_->problem.publish(false);
    }
    return impl_->problem.results();
}

PreparedMany::PreparedMany(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PreparedMany::PreparedMany(PreparedMany&&) noexcept = default;
PreparedMany& PreparedMany::operator=(PreparedMany&&) noexcept = default;
PreparedMany::~PreparedMany() = default;

std::size_t PreparedMany::size() const noexcept { return impl_->problems.size(); }

std::vector<Results> PreparedMany::run(StreamView stream) { return impl_->run(stream); }

void PreparedMany::enqueue(StreamView stream) {
    impl_->last = Last::nothing;
    impl_->runner->enqueue(stream);
    impl_->last = Last::enqueued;
}

std::vector<Results> PreparedMany::results() {
    require_a_run(impl_->last);
    if (impl_->last == Last::enqueued) {
        impl_->runner->wait(impl_->scalars);
        impl_->publish(false);
    }
    return impl_->results();
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
        prepared.problem.let_go_of_results();
        prepared.problem.give_only(inputs, outputs);
        prepared.commit();
        prepared.run(stream);
        return prepared.problem.results();
    });
}

Prepared Executable::prepare(const Bindings& inputs, const Bindings& outputs) const {
    auto prepared = std::make_unique<Prepared::Impl>(impl_->compiled);
    prepared->problem.give_only(inputs, outputs);
    prepared->commit();
    return Prepared(std::move(prepared));
}

std::vector<Results> Executable::run_many(std::span<const Bindings> inputs, std::span<const Bindings> outputs,
                                          StreamView stream) const {
    if (inputs.empty() && outputs.empty()) return {};
    const auto make = [&] { return std::make_unique<PreparedMany::Impl>(impl_->compiled); };
    return impl_->pool_of_many.with(make, [&](PreparedMany::Impl& prepared) {
        prepared.bind(inputs, outputs);
        return prepared.run(stream);
    });
}

PreparedMany Executable::prepare_many(std::span<const Bindings> inputs, std::span<const Bindings> outputs) const {
    if (inputs.empty())
        throw InvalidGraph("prepare_many() was given no problem: what is prepared can be run; give it one or more");
    auto prepared = std::make_unique<PreparedMany::Impl>(impl_->compiled);
    prepared->bind(inputs, outputs);
    return PreparedMany(std::move(prepared));
}

std::string Executable::explain() const {
    const Compiled& compiled = *impl_->compiled;
    std::string text = detail::explain(compiled.plan(), device(), compiled.chosen.why, compiled.chosen.build->facts());
    if (compiled.reference) text += compiled.reference->explain();
    return text;
}

std::string Executable::source() const {
    std::string text;
    for (std::size_t i = 0; i < plan().sweeps.size(); ++i) text += cuda::emit_cuda(plan(), static_cast<int>(i)).source;
    return text;
}

const Plan& Executable::plan() const { return impl_->compiled->plan(); }
std::string Executable::device() const { return impl_->compiled->chosen.build->device(); }

Executable compile(const Graph& graph, const Options& options) {
    if (graph.outputs().empty())
        throw InvalidGraph(
            fmt::format("graph {} has no output: a graph is compiled for its outputs; name a result with "
                        "g.output(\"name\", value)",
                        graph.name()));
    if (options.verify && options.fast_math)
        throw InvalidGraph(
            "Options asks for verify and fast_math: verify compares bits, which fast_math gives up; leave one "
            "of the two out");
    FuseOptions fuse_options;
    fuse_options.fuse = options.fuse;
    fuse_options.fast_math = options.fast_math;
    auto plan = std::make_shared<const Plan>(fuse(graph, fuse_options));
    auto compiled = std::make_shared<Compiled>();
    compiled->chosen = build_for(options.device, plan, {.fast_math = options.fast_math});
    compiled->signature = make_signature(graph, std::move(plan));
    compiled->output_slots = find_output_slots(compiled->signature);
    if (options.verify) compiled->reference = std::make_unique<const Reference>(graph, compiled->chosen.target);
    return Executable(std::make_shared<const Executable::Impl>(std::move(compiled)));
}

} // namespace gf
