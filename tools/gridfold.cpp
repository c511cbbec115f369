// The command `gridfold`: command line and exit codes. It writes to stdout only on success.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <gridfold/core/error.hpp>
#include <gridfold/core/version.hpp>
#include <gridfold/ops/nearest.hpp>

#include "commands.hpp"
#include "ops.hpp"

namespace {

enum ExitCode { right = 0, users_mistake = 1, device_failed = 2, our_mistake = 3 };

/// Prints the message to stderr and returns the code.
int fail(ExitCode code, const char* message) noexcept {
    std::fprintf(stderr, "gridfold: %s\n", message);
    return code;
}

/// Prints the text of a command.
int print(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        return fail(users_mistake, fmt::format("stdout can't be written: {}", std::strerror(errno)).c_str());
    return right;
}

void add_graph(CLI::App& command, std::string& graph) {
    command.add_option("graph", graph, "The graph as text, or @file")->required()->type_name("GRAPH");
}

void add_options(CLI::App& command, gf::Options& options) {
    command.add_option("--device", options.device, "auto, cpu, cuda or cuda:<number>")->type_name("DEVICE");
    command.add_flag_callback(
        "--no-fuse", [&] { options.fuse = false; }, "Run one sweep a node");
    command.add_flag("--verify", options.verify, "Also run unfused on the cpu, and compare every output");
}

constexpr const char* bindings_help = R"(Values of an array of the graph:
  x=array.npy              a .npy file, mapped into memory; pipes are read to their end
  x=raw:f32:path           a file of elements and nothing else, of one dim
  x=raw:f32[100,20]:path   the same, of these extents
  x=-, x=raw:f32:-         the same, from stdin
Values of a run-time scalar and of a dim:
  scalar=2, scalar=true    a number
  scalar=array.npy         a .npy file of an array without dims
  n=100                    the extent of a dim that no array has
Where an array goes to stdout (-o y=-), nothing else may: other arrays need files, and
scalars must be left out of the graph (with --many, they can go to files).
The functions that a graph may use: gridfold ops)";

/// Runs the command; errors are exceptions.
int run_command(int argc, char** argv) {
    CLI::App app("Fuses map-reduce graphs and runs them on arrays in files, on a GPU or the CPU.", "gridfold");
    app.require_subcommand(1);
    app.set_version_flag("--version", std::string(gf::version()));
    app.footer("Exit codes: 0 success, 1 invalid input, 2 a device or memory failed, 3 an error inside gridfold.");

    CLI::App& devices = *app.add_subcommand("devices", "List what there is to run on");

    CLI::App& explain = *app.add_subcommand("explain", "Show how a graph is fused, without running it");
    std::string explained_graph;
    gf::Options explain_options;
    gf::tool::Explain as = gf::tool::Explain::words;
    add_graph(explain, explained_graph);
    add_options(explain, explain_options);
    auto* const forms = explain.add_option_group("form", "Instead of words");
    forms->require_option(0, 1);
    forms->add_flag_callback(
        "--text", [&] { as = gf::tool::Explain::text; }, "The plan, one instruction a line");
    forms->add_flag_callback(
        "--dot", [&] { as = gf::tool::Explain::dot; }, "The plan as Graphviz, sweeps as clusters");
    std::string source;
    forms->add_flag("--source{sweeps}", source, "The CUDA kernels, a sweep each; --source=full: all that is compiled")
        ->check(CLI::IsMember({"sweeps", "full"}));

    CLI::App& run = *app.add_subcommand("run", "Run a graph and print its results, a line each");
    gf::tool::RunArguments arguments;
    add_graph(run, arguments.graph);
    run.add_option("bindings", arguments.inputs, "An array or a number for each input, scalar and dim; see below")
        ->type_name("NAME=VALUE");
    run.add_option(
           "-o,--output", arguments.outputs,
           "Write an array result to a .npy file, or to stdout as NAME=-; with --many, any result of all problems")
        ->type_name("NAME=PATH")
        ->allow_extra_args(false);
    add_options(run, arguments.options);
    run.add_flag(
        "--many", arguments.many,
        "Run many problems at once: arrays with a dim more, in front, hold one at each index; others are shared");
    run.footer(bindings_help);
    run.add_flag("--json", arguments.json, "Print one JSON object, with --many a list of them");
    run.add_flag("--time", arguments.time, "Also say on stderr how long it took");

    CLI::App& ops = *app.add_subcommand("ops", "List the maps and reductions that a graph may use, or describe one");
    std::string op;
    bool as_page = false;
    auto* const op_option = ops.add_option("name", op, "A map or a reduction, by name or symbol")->type_name("NAME");
    ops.add_flag("--markdown", as_page, "All of them as the page docs/ops.md")->excludes(op_option);

    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& success) { // --help, --version
        return app.exit(success);
    } catch (const CLI::ParseError& error) {
        const std::string first = argc > 1 ? argv[1] : "-";
        if (app.get_subcommands().empty() && !first.starts_with('-')) {
            std::vector<std::string_view> names;
            for (const CLI::App* const command : app.get_subcommands({})) names.push_back(command->get_name());
            const std::string near = gf::detail::suggestion(first, names);
            return fail(users_mistake, fmt::format("'{}' is not a command: they are {}; {}", first,
                                                   fmt::join(names, ", "), near.empty() ? "see gridfold --help" : near)
                                           .c_str());
        }
        if (explain && source == "sweeps" && std::find(argv, argv + argc, std::string_view("full")) != argv + argc)
            return fail(users_mistake,
                        "--source full: the option takes its word after an equals sign; write --source=full");
        return fail(users_mistake, fmt::format("{}; see gridfold --help", error.what()).c_str());
    }
    if (ops)
        return print(as_page ? gf::tool::ops_page() : op.empty() ? gf::tool::list_ops() : gf::tool::describe_ops(op));
    if (devices) return print(gf::tool::list_devices());
    if (!source.empty()) as = source == "full" ? gf::tool::Explain::full_source : gf::tool::Explain::source;
    if (explain) return print(gf::tool::explain(explained_graph, explain_options, as));
    return print(gf::tool::run(arguments));
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run_command(argc, argv);
    } catch (const gf::UsageError& error) {
        return fail(users_mistake, error.what());
    } catch (const gf::IoError& error) {
        return fail(users_mistake, error.what());
    } catch (const gf::DeviceError& error) {
        return fail(device_failed, error.what());
    } catch (const gf::OutOfMemory& error) {
        return fail(device_failed, error.what());
    } catch (const std::bad_alloc&) {
        return fail(device_failed, "this machine has not enough memory for the arrays");
    } catch (const std::exception& error) {
        return fail(our_mistake, error.what());
    }
}
