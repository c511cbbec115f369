// Results of the golden graphs against the committed hashes. This folder's README.md says when hashes may change.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "device/device_under_test.hpp"
#include "environment.hpp"
#include "fusion/device_scale.hpp"
#include "golden_graphs.hpp"
#include "inputs.hpp"
#include "own_ops.hpp"
#include "random/settings.hpp"

namespace gf::golden {
namespace {

const std::string_view device = test::device_under_test;

/// An array in the memory of the device under test, `offset_bytes` after the start of its allocation.
class Array {
public:
    Array(const std::vector<std::byte>& bytes, std::size_t offset_bytes) : offset_(offset_bytes) {
        if (device == "cpu") {
            host_.resize(offset_ + bytes.size());
            std::ranges::copy(bytes, host_.begin() + static_cast<std::ptrdiff_t>(offset_));
            return;
        }
        on_device_ = DeviceBuffer(0, offset_ + bytes.size());
        const CurrentDevice current(0);
        const Stream stream(0, StreamKind::ordered_with_default);
        copy_to_device(address(), bytes.data(), bytes.size(), stream);
        stream.wait();
    }
    View view(DType type, const Extents& extents) {
        return {address(), type, extents, device == "cpu" ? Memory::host : Memory::device, true};
    }

private:
    void* address() {
        return (device == "cpu" ? host_.data() : static_cast<std::byte*>(on_device_.address())) + offset_;
    }
    std::size_t offset_;
    std::vector<std::byte> host_;
    DeviceBuffer on_device_;
};

/// The bindings of a graph at one size.
class Problem {
public:
    Problem(const GoldenGraph& graph, const Size& size) {
        for (const std::string& dim : graph.free_dims) bindings_.emplace_back(dim, size.extents.at(dim));
        for (const Parameter& parameter : graph.parameters) {
            const InputKey key{graph.name, parameter.name, size.text};
            if (parameter.dims.empty())
                std::visit([&](auto number) { bindings_.emplace_back(parameter.name, number); },
                           scalar(key, parameter.type));
            else
                bind_array(key, parameter, size);
        }
    }
    const Bindings& bindings() const { return bindings_; }

private:
    void bind_array(const InputKey& key, const Parameter& parameter, const Size& size) {
        std::vector<std::int64_t> extents;
        std::size_t count = 1;
        for (const std::string& dim : parameter.dims) {
            extents.push_back(size.extents.at(dim));
            count *= static_cast<std::size_t>(extents.back());
        }
        arrays_.emplace_back(elements(key, parameter.type, count), misalignment(key) * size_of(parameter.type));
        bindings_.emplace_back(parameter.name, arrays_.back().view(parameter.type, Extents(extents)));
    }
    std::deque<Array> arrays_;
    Bindings bindings_;
};

/// Hashes elements, any NaN as one NaN.
void add_elements(Hash& hash, DType type, const std::byte* bytes, std::size_t count) {
    const std::size_t size = size_of(type);
    const std::uint64_t infinity = type == DType::f16    ? 0x7c00
                                   : type == DType::bf16 ? 0x7f80
                                   : type == DType::f32  ? 0x7f800000
                                                         : 0x7ff0000000000000;
    const std::uint64_t sign = std::uint64_t{1} << (8 * size - 1);
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, bytes + i * size, size);
        if (is_floating(type) && (bits & ~sign) > infinity) bits = infinity + 1;
        for (std::size_t byte = 0; byte < size; ++byte) hash.add(static_cast<std::uint8_t>(bits >> (8 * byte)));
    }
}

/// Hashes an array in host or device memory.
void add_array(Hash& hash, const View& array) {
    const std::size_t count = element_count(array.extents);
    std::vector<std::byte> bytes(count * size_of(array.type));
    if (array.memory == Memory::device) {
        const CurrentDevice current(0);
        const Stream stream(0, StreamKind::ordered_with_default);
        copy_to_host(bytes.data(), array.address, bytes.size(), stream);
        stream.wait();
    } else if (!bytes.empty()) {
        std::memcpy(bytes.data(), array.address, bytes.size());
    }
    add_elements(hash, array.type, bytes.data(), count);
}

/// The hash of a result's type, its empty flag and, unless it is empty, its elements; and of which are there, if some
/// may not be.
std::uint64_t hash_of(const Results::Entry& result) {
    Hash hash;
    hash.add(to_text(result.type));
    hash.add(result.empty ? 1 : 0);
    if (result.empty) return hash.value();
    if (!result.is_array) {
        std::byte bytes[sizeof result.bits];
        std::memcpy(bytes, &result.bits, sizeof bytes);
        add_elements(hash, result.type, bytes, 1);
        return hash.value();
    }
    add_array(hash, result.array);
    if (result.valid.extents.rank() > 0) add_array(hash, result.valid);
    return hash.value();
}

/// The function that runs a graph.
enum class Way { fused, unfused, as_many };

/// The hashes of a graph's results at each of its sizes. Sets `outputs` to the names of the results.
Hashes hashes_of(const GoldenGraph& graph, Way way, std::vector<std::string>& outputs) {
    const Executable executable =
        compile(parse(graph.text), {.device = std::string(device), .fuse = way != Way::unfused});
    Hashes hashes;
    const auto add = [&](const Size& size, const Results& results) {
        outputs.clear();
        for (const Results::Entry& entry : results.entries()) {
            hashes[line_name(graph, size)].push_back(hash_of(entry));
            outputs.push_back(entry.name);
        }
    };
    if (way == Way::as_many) {
        std::deque<Problem> problems;
        std::vector<Bindings> bindings;
        for (const Size& size : graph.sizes) bindings.push_back(problems.emplace_back(graph, size).bindings());
        const std::vector<Results> results = executable.run_many(bindings);
        for (std::size_t i = 0; i < results.size(); ++i) add(graph.sizes[i], results[i]);
        return hashes;
    }
    for (const Size& size : graph.sizes) add(size, executable.run(Problem(graph, size).bindings()));
    return hashes;
}

/// The differences at one size, or "".
std::string difference(const GoldenGraph& graph, const Size& size, const std::vector<std::string>& outputs,
                       const Hashes& expected, const Hashes& actual) {
    const auto line = expected.find(line_name(graph, size));
    if (line == expected.end()) return "it has no hashes";
    const std::vector<std::uint64_t>& found = actual.at(line_name(graph, size));
    if (line->second.size() != found.size())
        return fmt::format("it has {} hashes and {} results", line->second.size(), found.size());
    std::string words;
    for (std::size_t i = 0; i < found.size(); ++i)
        if (line->second[i] != found[i])
            words += fmt::format("result {} has hash {:016x}, not {:016x}; ", outputs[i], found[i], line->second[i]);
    return words;
}

/// A file of graphs, and the part of it that runs on slow builds: on the emulated device, which takes a second to
/// compile a kernel, and under sanitizers.
struct File {
    const char* name;
    std::size_t one_in;         ///< runs one graph of so many
    std::int64_t most_elements; ///< the most elements of a graph's largest domain
};
void PrintTo(const File& file, std::ostream* out) { *out << file.name; }
constexpr File files[]{{"maps", 120, 25'000},   {"functions", 12, 25'000},      {"reductions", 12, 25'000},
                       {"shapes", 5, 25'000},   {"random", 50, 25'000},         {"large", 2, 110'000},
                       {"own_ops", 2, 110'000}, {"widened_moments", 3, 25'000}, {"kept", 4, 25'000},
                       {"operands", 4, 25'000}};

/// GRIDFOLD_GOLDEN_BITS: "write" writes the hashes, "all" runs everything on slow builds, too.
std::string_view setting() {
    const char* const text = std::getenv("GRIDFOLD_GOLDEN_BITS");
    return text == nullptr ? "" : text;
}

/// Every one_in-th graph of a file, at sizes of at most file.most_elements.
std::vector<GoldenGraph> some_graphs(const File& file, std::size_t one_in) {
    const auto too_large = [&](const Size& size) {
        std::int64_t elements = 1;
        for (const auto& [dim, extent] : size.extents) elements *= extent;
        return elements > file.most_elements;
    };
    std::vector<GoldenGraph> graphs = read_graphs(file.name);
    for (GoldenGraph& graph : graphs) std::erase_if(graph.sizes, too_large);
    std::erase_if(graphs, [](const GoldenGraph& graph) { return graph.sizes.empty(); });
    std::vector<GoldenGraph> some;
    for (std::size_t i = 0; i < graphs.size(); i += one_in) some.push_back(std::move(graphs[i]));
    return some;
}

/// All graphs of a file; on slow builds one in file.one_in * fewer.
std::vector<GoldenGraph> graphs_for_here(const File& file, std::size_t fewer = 1) {
    const bool emulated = device == "cuda" && test::is_emulated();
    if (setting() == "all" || !(oracle::sanitized || emulated)) return read_graphs(file.name);
    return some_graphs(file, file.one_in * fewer * (oracle::sanitized && emulated ? 4 : 1));
}

/// The function that is called with the hashes of each graph, one graph at a time.
using Look = std::function<void(const GoldenGraph&, const Hashes&, const std::vector<std::string>& outputs)>;

/// Runs the graphs; several at once on a device, where each must be compiled first.
void run(const std::vector<GoldenGraph>& graphs, Way way, const Look& look) {
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    const auto work = [&] {
        for (std::size_t i = next++; i < graphs.size(); i = next++) {
            std::vector<std::string> outputs;
            Hashes hashes;
            std::string error;
            try {
                hashes = hashes_of(graphs[i], way, outputs);
            } catch (const std::exception& thrown) {
                error = thrown.what();
            }
            const std::lock_guard lock(mutex);
            if (error.empty())
                look(graphs[i], hashes, outputs);
            else
                ADD_FAILURE() << error << "\n" << graphs[i].text;
        }
    };
    std::vector<std::jthread> threads;
    const unsigned count = device == "cpu" ? 1 : std::max(std::thread::hardware_concurrency(), 1u);
    for (unsigned t = 1; t < count; ++t) threads.emplace_back(work);
    work();
}

class GoldenBits : public testing::TestWithParam<File> {
protected:
    void SetUp() override {
        if (device == "cpu") return;
        if (const std::string reason = cuda_unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    }

    static void expect_golden_bits(const std::vector<GoldenGraph>& graphs, Way way) {
        EXPECT_FALSE(graphs.empty());
        const Hashes expected = read_hashes(GetParam().name);
        constexpr int shown = 10;
        int different = 0;
        std::size_t results = 0;
        run(graphs, way, [&](const GoldenGraph& graph, const Hashes& hashes, const std::vector<std::string>& outputs) {
            for (const Size& size : graph.sizes) {
                results += outputs.size();
                const std::string words = difference(graph, size, outputs, expected, hashes);
                if (words.empty() || ++different > shown) continue;
                ADD_FAILURE() << graph.name << " at " << size.text << ": " << words << "\n" << graph.text;
            }
        });
        fmt::print("count: {} hashes of results of golden graphs\n", results);
        EXPECT_EQ(different, 0) << "graphs and sizes differ, of which at most " << shown
                                << " are shown. Only a new version "
                                << "of the order or of a function may change them; how to write the hashes anew: "
                                << GRIDFOLD_GOLDEN_BITS_FOLDER << "/README.md";
    }
};

TEST_P(GoldenBits, are_those_of_the_hashes) {
    if (device != "cpu" || setting() != "write") return expect_golden_bits(graphs_for_here(GetParam()), Way::fused);
    const std::vector<GoldenGraph> graphs = read_graphs(GetParam().name);
    Hashes hashes;
    run(graphs, Way::fused, [&](const GoldenGraph&, const Hashes& of_graph, const std::vector<std::string>&) {
        hashes.insert(of_graph.begin(), of_graph.end());
    });
    if (!HasFailure()) write_hashes(GetParam().name, graphs, hashes);
}

TEST_P(GoldenBits, are_the_same_unfused) { expect_golden_bits(graphs_for_here(GetParam(), 16), Way::unfused); }

TEST_P(GoldenBits, are_the_same_of_many_problems_in_one_call) {
    expect_golden_bits(graphs_for_here(GetParam(), 4), Way::as_many);
}

TEST_P(GoldenBits, belong_to_the_graphs_and_sizes_that_there_are) {
    std::size_t lines = 0;
    for (const GoldenGraph& graph : read_graphs(GetParam().name)) lines += graph.sizes.size();
    EXPECT_EQ(read_hashes(GetParam().name).size(), lines);
}

using InstructionSets = GoldenBits;

TEST_P(InstructionSets, give_the_golden_bits_in_the_baseline_instructions) {
    const test::ChosenSet chosen("baseline");
    expect_golden_bits(some_graphs(GetParam(), oracle::sanitized ? GetParam().one_in : 1), Way::fused);
}

TEST_P(InstructionSets, give_the_golden_bits_in_avx2) {
    const test::ChosenSet chosen("avx2");
    try {
        compile(parse("f(x: f32[n]) -> s = sum(x)"), {.device = "cpu"});
    } catch (const Error& refused) {
        GTEST_SKIP() << refused.what();
    }
    expect_golden_bits(some_graphs(GetParam(), oracle::sanitized ? GetParam().one_in : 1), Way::fused);
}

std::string name_of(const testing::TestParamInfo<File>& test) { return test.param.name; }
INSTANTIATE_TEST_SUITE_P(Files, GoldenBits, testing::ValuesIn(files), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(InstructionSets); // on a GPU
INSTANTIATE_TEST_SUITE_P(Files, InstructionSets,
                         testing::ValuesIn(files, device == "cpu" ? std::end(files) : std::begin(files)), name_of);

} // namespace
} // namespace gf::golden
