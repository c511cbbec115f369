// bench_gpu: measures gridfold, CUB, Thrust, hand-written kernels and the ceilings on this machine's first GPU.
#include <charconv>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <gridfold/gridfold.hpp>

#include "harness/cub_version.hpp"
#include "harness/cuda.hpp"
#include "harness/suite.hpp"
#include "harness/workloads.hpp"

namespace {

void print_help() {
    std::cout << R"(bench_gpu: gridfold on the first GPU against CUB, Thrust, hand-written kernels and read ceilings.

Benchmarks are named workload/type/bytes:B/mode/contender, as in sum/f32/bytes:1048576/graph/cub.
  graph   a captured CUDA Graph of up to 64 calls on copies that rotate through 1 GiB, timed by events, us a call;
          contenders of a case take turns, one repetition is one round
  call    host clock from the call to the result in the host's hands: the median, and percentiles as counters

  --benchmark_filter=REGEX     searched for in that plain name; -REGEX takes what it is not found in.
                               Contenders that it leaves out are not made, and take no turns
  --benchmark_list_tests       prints the names and ends; needs no GPU
  --benchmark_out=FILE         writes JSON: every repetition, with the device and versions in its context
  --max_bytes=N                leaves out inputs of more than N bytes (default 1073741824; all: 17179869184).
                               A case that the device's memory cannot hold is skipped with that reason
  --keep_l2                    leaves the L2 as it is before a timed graph. Then inputs whose copies all fit into it
                               (up to about 512 KiB each) are found there; otherwise other data fills it first

Exit status: 0, or 1 if a result was wrong or a call failed, 2 where there is no GPU: then nothing is measured.

bench_gpu --max_bytes=17179869184 --benchmark_filter='^sum/f32/' --benchmark_out=sum-f32.json

Google Benchmark's own options (repetitions and times are fixed, names and formats as above):
)";
    benchmark::PrintDefaultHelp();
}

struct Arguments {
    bench::Settings settings;
    bool list = false, writes_file = false;
};

std::int64_t to_bytes(std::string_view text) {
    std::int64_t bytes = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
    if (error != std::errc{} || end != text.data() + text.size())
        throw std::runtime_error("--max_bytes takes a number of bytes, not '" + std::string(text) + "'");
    return bytes;
}

/// Removes this program's own arguments from argv.
Arguments take_own(int& count, char** arguments) {
    Arguments own;
    int kept = 1;
    for (int i = 1; i < count; ++i) {
        const std::string_view argument = arguments[i];
        constexpr std::string_view max_bytes = "--max_bytes=", out = "--benchmark_out=";
        if (argument.starts_with(max_bytes))
            own.settings.max_bytes = to_bytes(argument.substr(max_bytes.size()));
        else if (argument == "--keep_l2")
            own.settings.keep_l2 = true;
        else if (argument == "--benchmark_list_tests" || argument == "--benchmark_list_tests=true")
            own.list = true;
        else
            arguments[kept++] = arguments[i];
        own.writes_file = own.writes_file || argument.starts_with(out);
    }
    count = kept;
    return own;
}

std::string version(int number, int major, int minor) {
    return std::to_string(number / major) + "." + std::to_string(number % major / minor);
}

/// The kernel module's version from /proc, such as "580.159.04", or "unknown".
std::string driver_version() {
    std::ifstream file("/proc/driver/nvidia/version");
    for (std::string word; file >> word;)
        if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos)
            return word;
    return "unknown";
}

void add_context(const bench::Settings& settings) {
    cudaDeviceProp device;
    bench::check(cudaGetDeviceProperties(&device, 0));
    int driver_api = 0, runtime = 0;
    bench::check(cudaDriverGetVersion(&driver_api));
    bench::check(cudaRuntimeGetVersion(&runtime));
    benchmark::AddCustomContext("gpu", device.name);
    benchmark::AddCustomContext("compute_capability",
                                std::to_string(device.major) + "." + std::to_string(device.minor));
    benchmark::AddCustomContext("multiprocessors", std::to_string(device.multiProcessorCount));
    benchmark::AddCustomContext("l2_bytes", std::to_string(device.l2CacheSize));
    benchmark::AddCustomContext("memory_bytes", std::to_string(device.totalGlobalMem));
    benchmark::AddCustomContext("driver", driver_version());
    benchmark::AddCustomContext("driver_cuda", version(driver_api, 1000, 10));
    benchmark::AddCustomContext("cuda", version(runtime, 1000, 10));
    benchmark::AddCustomContext("cub", bench::cub_version());
    benchmark::AddCustomContext("l2_before_graphs", settings.keep_l2 ? "kept" : "filled with other data");
}

} // namespace

int main(int count, char** arguments) try {
    if (count == 2 && std::strcmp(arguments[1], bench::compile_once_flag) == 0) {
        bench::compile_once();
        return 0;
    }
    const Arguments own = take_own(count, arguments);
    benchmark::Initialize(&count, arguments, print_help);
    if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
    const std::string filter = benchmark::GetBenchmarkFilter();

    bench::Suite suite(own.settings);
    bench::add_workloads(suite);
    if (own.list) {
        for (const std::string& name : suite.names(filter)) std::cout << name << '\n';
        return 0;
    }
    if (const std::string reason = gf::cuda_unavailable_reason(); !reason.empty()) {
        std::cerr << "bench_gpu: there is no GPU to measure: " << reason << '\n';
        return 2;
    }
    add_context(own.settings);
    return suite.run(filter, own.writes_file) ? 0 : 1;
} catch (const std::exception& error) {
    std::cerr << "bench_gpu: " << error.what() << '\n';
    return 1;
}
