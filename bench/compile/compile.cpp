// Workload compile: the time of gf::compile of a sum of cubes in a process that has a context and has compiled nothing,
// with an empty and with a filled kernel cache. Each repetition is two fresh processes, cold and then warm.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include <unistd.h>

#include "harness/cuda.hpp"
#include "harness/element.hpp"
#include "harness/gridfold.hpp"
#include "harness/workloads.hpp"

namespace bench {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t elements = 65536;
constexpr int repetitions = 7;

struct Costs {
    double compiled, first_result; ///< microseconds from the start
};

/// The costs in a new process with that folder as its cache.
Costs in_fresh_process(const fs::path& cache) {
    const std::string command = "GRIDFOLD_CACHE_DIR='" + cache.string() + "' '" +
                                fs::canonical("/proc/self/exe").string() + "' " + compile_once_flag;
    const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), pclose);
    Costs costs{};
    if (!output || std::fscanf(output.get(), "%lf %lf", &costs.compiled, &costs.first_result) != 2)
        throw std::runtime_error("a process that was to compile failed");
    return costs;
}

/// Owns a new folder.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string pattern = (fs::temp_directory_path() / "gridfold-compile-XXXXXX").string();
        if (!mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder could be made");
        path_ = pattern;
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

Times measure_compile() {
    Times times;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
        const TemporaryFolder cache;
        for (const std::string state : {"cold", "warm"}) {
            const Costs costs = in_fresh_process(cache.path());
            times["gridfold_" + state].microseconds.push_back(costs.compiled);
            times["gridfold_" + state + "_first_result"].microseconds.push_back(costs.first_result);
        }
    }
    return times;
}

} // namespace

void compile_once() {
    const auto data = device_array<float>(elements); // makes the context
    const auto start = std::chrono::steady_clock::now();
    const auto microseconds = [start] {
        return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    };
    gf::Graph g("cubes");
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    g.output("cubes", gf::sum(x * x * x));
    const gf::Executable exe = gf::compile(g, on_gpu());
    const double compiled = microseconds();
    gf::Prepared prepared = exe.prepare({{"x", gf::device_view(data.get(), {elements})}});
    if (prepared.run().get<float>("cubes") != 0) throw std::runtime_error("a wrong sum of cubes");
    std::printf("%.3f %.3f\n", compiled, microseconds());
}

void add_compile(Suite& suite) {
    constexpr std::int64_t bytes = elements * std::int64_t{sizeof(float)};
    suite.add(
        {.workload = "compile",
         .type = Element<float>::name,
         .bytes = bytes,
         .mode = "call",
         .elements = elements,
         .moved = bytes,
         .contenders = {"gridfold_cold", "gridfold_cold_first_result", "gridfold_warm", "gridfold_warm_first_result"},
         .repetitions = repetitions,
         .measure = [](const Spec&, const std::set<std::string>&, const Settings&) { return measure_compile(); }});
}

} // namespace bench
