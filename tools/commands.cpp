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
#include <gridfold/ops/text.hpp>

#include "arguments.hpp"
#include "outputs.hpp"
#include "print.hpp"
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
    Progress progress("compiling");
    const auto start = Clock::now();
    const Executable executable = compile(graph, arguments.options);
    const double compile_seconds = seconds_since(start);
    const Files files = read_files(executable.plan(), arguments.outputs, arguments.many);
    check_json(arguments, files);

    progress.now(fmt::format("running on {}", executable.device()));
    std::optional<PreparedMany> prepared; // prepared once, so that binding is not timed again
    const auto run = [&]() -> std::vector<Results> {
        if (!arguments.many) return {executable.run(inputs.problems.front())};
        if (!prepared) prepared = executable.prepare_many(inputs.problems);
        return prepared->run();
    };
    const auto begin = Clock::now();
    const std::vector<Results> results = run();
    const double run_seconds = seconds_since(begin);

    progress.now("writing");
    write_files(files, results, arguments.many);
    if (arguments.time) {
        progress.now("timing");
        fmt::print(stderr, "{}", time_runs(run, executable, inputs, compile_seconds, run_seconds));
    }
    if (write_to_stdout(files, results, arguments.many)) return "";
    if (arguments.many) return arguments.json ? print_json(results, files) : print_lines(results, files);
    return arguments.json ? print_json(results.front().entries(), files)
                          : print_lines(results.front().entries(), files);
}

} // namespace gf::tool
