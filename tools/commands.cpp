// The commands devices, explain and run.
#include "commands.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include <gridfold/core/device.hpp>
#include <gridfold/core/nvrtc.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/fusion/plan.hpp>
#include <gridfold/ops/batched.hpp>
#include <gridfold/ops/text.hpp>

#include "arguments.hpp"
#include "outputs.hpp"
#include "print.hpp"
#include "problems.hpp"
#include "progress.hpp"

namespace gf::tool {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::size_t input_bytes(const Inputs& inputs) {
    std::size_t bytes = 0;
    for (const npy::Array& file : inputs.files) bytes += element_count(file.view().extents) * size_of(file.view().type);
    return bytes;
}

/// Reports the first run, which reads cold files, and the best of the next runs, for up to a second.
template <class Run>
std::string time_runs(Run&& run, const Executable& executable, const Inputs& inputs, double compile_seconds,
                      double first_seconds) {
    constexpr int most = 20;
    double best = first_seconds;
    const auto start = Clock::now();
    for (int i = 0; i < most && seconds_since(start) < 1; ++i) {
        const auto begin = Clock::now();
        run();
        best = std::min(best, seconds_since(begin));
    }
    return fmt::format("compiled in {:.3f} ms, first run {:.3f} ms, best run {:.3f} ms, {:.2f} GB/s read, on {}\n",
                       compile_seconds * 1e3, first_seconds * 1e3, best * 1e3,
                       static_cast<double>(input_bytes(inputs)) / best * 1e-9, executable.device());
}

/// The problems of --many as one graph over one more dim, bound.
struct Batch {
    Executable executable;
    Prepared prepared;
};

/// The most elements of a problem's arrays up to which one graph over all problems is faster than prepare_many(), where
/// all results are scalars and where some are arrays (bench/NOTES.md, "many problems as one graph").
constexpr std::size_t short_of_scalars = 256, short_of_arrays = 2048;

bool are_short(const Graph& graph, const Inputs& inputs) {
    const bool has_arrays = std::ranges::any_of(
        graph.outputs(), [&](const Graph::Output& output) { return !graph.node(output.node).dims.empty(); });
    return inputs.elements_of_problem() <= (has_arrays ? short_of_arrays : short_of_scalars);
}

/// None where the problems run by themselves: they are not short; a value has as many dims as there may be; all
/// problems together have too many elements. Nor for a mistake in the bindings: prepare_many() names the problem that
/// has it.
std::optional<Batch> batch_of(const Graph& graph, const Inputs& inputs, const Options& options) {
    if (!are_short(graph, inputs)) return {};
    std::string dim = "problem";
    while (std::ranges::any_of(graph.dims(), [&](const Graph::DimInfo& other) { return other.name == dim; }))
        dim += '_';
    try {
        const Executable executable = compile(batched(graph, dim, inputs.varying()), options);
        return Batch{executable, executable.prepare(inputs.batch())};
    } catch (const InvalidGraph&) {
        return {};
    } catch (const InvalidBinding&) {
        return {};
    }
}

void check_json(const RunArguments& arguments, const Files& files) {
    if (!arguments.json) return;
    for (const auto& [name, path] : files)
        if (path == stdout_path)
            throw InvalidOption(fmt::format("-o {}=-", name),
                                "stdout takes this array and nothing else, but --json prints there",
                                "leave one of the two out");
}

} // namespace

std::string list_devices() {
    Graph g;
    g.output("one", g.constant(1, DType::i32));
    std::string text = compile(g, {.device = "cpu"}).device() + "\n";
    for (const Device& device : devices())
        text += fmt::format("cuda:{} ({}, compute capability {}.{}, {} multiprocessors, {:.1f} GiB)\n", device.ordinal,
                            device.name, device.capability_major, device.capability_minor, device.multiprocessors,
                            static_cast<double>(device.memory_bytes) / (1 << 30));
    if (const std::string reason = cuda_unavailable_reason(); !reason.empty())
        return text + fmt::format("cuda can't be used: {}\n", reason);
    if (const std::string reason = nvrtc::unavailable_reason(); !reason.empty())
        text += fmt::format("cuda runs only what is cached: {}\n", reason);
    return text;
}

std::string explain(const std::string& graph_text, const Options& options, Explain as) {
    const Graph graph = read_graph(graph_text);
    const Executable executable = compile(graph, options);
    switch (as) {
    case Explain::words: return executable.explain();
    case Explain::text: return to_text(executable.plan());
    case Explain::source: return executable.source();
    case Explain::full_source: return executable.source(true);
    case Explain::dot: {
        std::ostringstream out;
        write_dot(out, executable.plan());
        return out.str();
    }
    }
    return {};
}

std::string run(const RunArguments& arguments) {
    const Graph graph = read_graph(arguments.graph);
    const Inputs inputs = read_inputs(graph, arguments.inputs, arguments.many);
    const Files files = read_files(graph, arguments.outputs, arguments.many);
    check_json(arguments, files);
    Progress progress("compiling");
    const auto start = Clock::now();
    std::optional<Batch> batch;
    if (arguments.many) batch = batch_of(graph, inputs, arguments.options);
    const Executable executable = batch ? batch->executable : compile(graph, arguments.options);
    const double compile_seconds = seconds_since(start);

    progress.now(fmt::format("running on {}", executable.device()));
    std::optional<PreparedMany> prepared; // prepared once, so that binding is not timed again
    const auto run = [&]() -> std::vector<Results> {
        if (batch) return {batch->prepared.run()};
        if (!arguments.many) return {executable.run(inputs.batch())};
        if (!prepared) prepared = executable.prepare_many(inputs.problems());
        return prepared->run();
    };
    const auto begin = Clock::now();
    const std::vector<Results> results = run();
    const double run_seconds = seconds_since(begin);
    const std::vector<Entries> problems = batch ? entries_of_batch(results.front(), inputs.count) : entries_of(results);

    progress.now("writing");
    write_files(files, problems, arguments.many);
    if (arguments.time) {
        progress.now("timing");
        fmt::print(stderr, "{}", time_runs(run, executable, inputs, compile_seconds, run_seconds));
    }
    if (write_to_stdout(files, problems, arguments.many)) return "";
    if (arguments.many) return arguments.json ? print_json(problems, files) : print_lines(problems, files);
    return arguments.json ? print_json(problems.front(), files) : print_lines(problems.front(), files);
}

} // namespace gf::tool
