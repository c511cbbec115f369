// Outputs that go around the caches, and prefetches of a chain's next rows (cpu/far_memory.hpp): here for arrays of any
// length, and with the bits of plain stores.
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "cpu/far_memory.hpp"
#include "cpu/llvm.hpp"
#include "cpu/next_rows.hpp"
#include "cpu/streamed_outputs.hpp"
#include "cpu/sweep_program.hpp"
#include "environment.hpp"
#include "error/refusal.hpp"
#include "fusion/chains.hpp"
#include "fusion/cpu_run.hpp"

namespace gf::test {
namespace {

/// Memory for an output that begins anywhere in a line, between bytes that nothing may change.
class Guarded {
public:
    Guarded(std::size_t bytes, std::size_t offset) : bytes_(bytes), offset_(64 + offset) {
        memory_.assign(bytes + offset_ + 128, guard);
    }
    char* get() { return reinterpret_cast<char*>(memory_.data() + offset_); }
    std::vector<std::uint8_t> written() const {
        const auto begin = memory_.begin() + static_cast<std::ptrdiff_t>(offset_);
        return {begin, begin + static_cast<std::ptrdiff_t>(bytes_)};
    }
    bool is_intact() const {
        for (std::size_t i = 0; i < memory_.size(); ++i)
            if ((i < offset_ || i >= offset_ + bytes_) && memory_[i] != guard) return false;
        return true;
    }

private:
    static constexpr std::uint8_t guard = 0xa5;
    std::size_t bytes_, offset_;
    std::vector<std::uint8_t> memory_;
};

TEST(FarMemory, is_stored_as_it_is_whatever_its_alignment_and_length) {
    std::vector<std::uint8_t> from(1'000);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
    for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
        if (!cpu::has(set)) continue;
        const cpu::StreamKernel store = cpu::stream_kernel(set);
        if (store == nullptr) GTEST_SKIP() << "this processor has no stores around its caches";
        for (std::size_t offset = 0; offset < 64; ++offset)
            for (const std::size_t bytes : {0UL, 1UL, 63UL, 64UL, 65UL, 127UL, 128UL, 200UL, 901UL}) {
                Guarded to(bytes, offset);
                store(to.get(), from.data() + offset, bytes);
                cpu::fence_streams();
                const auto begin = from.begin() + static_cast<std::ptrdiff_t>(offset);
                ASSERT_EQ(to.written(), std::vector(begin, begin + static_cast<std::ptrdiff_t>(bytes))) << offset;
                ASSERT_TRUE(to.is_intact()) << offset << ' ' << bytes;
            }
    }
}

/// Outputs of all sizes of elements; with folds; of chains of rows.
constexpr const char* texts[] = {
    "f(x: f32[i, k]) -> y = x * 2.5 + 1, d = f64(x) * x, h = f16(x), b = x > 0.5",
    "f(x: f32[i, k]) -> y = x * 0.5, s = sum(x), least = min(x * x)",
    "f(x: f32[i, k]) -> y = (x - mean(x)) / stddev(x)",
    "f(x: f32[i, k]) -> y = x * 3, s = sum(x over [k])",
    "f(x: f32[i, k]) -> y = x - max(x over [i])",
    "f(x: f32[i, k]) -> y[k, i] = exp(x)",
    "f(x: f32[i, k]) -> y = x - mean(x over [k]), z = abs(x)",
    softmax,
};

struct Shape {
    std::int64_t rows, length;
};
constexpr Shape shapes[] = {{1, 1}, {3, 5}, {40, 100}, {5, 2'048}, {3, 7'001}, {2, 100'003}, {3'001, 7}, {1, 300'000}};

/// What the graph writes with this choice of far memory, output after output. `offset`: of outputs in a line, in
/// elements.
std::vector<std::vector<std::uint8_t>> outputs(const char* far, const char* text, Shape shape, int threads,
                                               std::size_t offset) {
    const ChosenFarMemory chosen(far);
    const Executable exe = compile(parse(text), {.device = "cpu", .threads = threads});
    const std::vector<float> x = numbers(shape.rows * shape.length);
    const Results expected = exe.run({{"x", view(x.data(), {shape.rows, shape.length})}});
    std::vector<Guarded> memory;
    memory.reserve(expected.entries().size());
    Bindings bound;
    for (const Results::Entry& entry : expected.entries()) {
        std::size_t elements = 1;
        for (const std::int64_t extent : entry.array.extents) elements *= static_cast<std::size_t>(extent);
        memory.emplace_back(elements * size_of(entry.type), offset * size_of(entry.type));
        View array = entry.array;
        array.address = memory.back().get();
        if (entry.is_array) bound.emplace_back(entry.name, array);
    }
    const Results results = exe.run({{"x", view(x.data(), {shape.rows, shape.length})}}, bound);
    std::vector<std::vector<std::uint8_t>> all;
    std::size_t number = 0;
    for (const Results::Entry& entry : results.entries()) {
        const Guarded& of_entry = memory[number++];
        EXPECT_TRUE(of_entry.is_intact()) << entry.name;
        if (entry.is_array) {
            all.push_back(of_entry.written());
        } else {
            const auto* const scalar = reinterpret_cast<const std::uint8_t*>(&entry.bits);
            all.emplace_back(scalar, scalar + sizeof entry.bits);
        }
    }
    return all;
}

void expect_the_bits_of_near_memory(int threads, std::span<const char* const> of = texts) {
    for (const char* const set : sets_of_this_machine()) {
        const ChosenSet chosen(set);
        for (const char* const text : of)
            for (const Shape& shape : shapes)
                for (const std::size_t offset : {0U, 3U})
                    EXPECT_EQ(outputs("all", text, shape, threads, offset),
                              outputs("none", text, shape, threads, offset))
                        << text << ": " << shape.rows << " x " << shape.length << ", " << set << ", offset " << offset;
    }
}

TEST(FarMemory, gives_the_bits_of_near_memory) { expect_the_bits_of_near_memory(1); }
TEST(FarMemory, gives_the_bits_of_near_memory_on_three_threads) { expect_the_bits_of_near_memory(3); }
TEST(FarMemory, gives_the_bits_of_near_memory_in_compiled_loops) {
    if (const std::string reason = cpu::llvm::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    const ChosenLlvm llvm("always");
    expect_the_bits_of_near_memory(2, std::span(texts).first(2)); // others have no loop
}

TEST(FarMemory, in_the_memory_of_an_input) {
    const ChosenFarMemory far("all");
    for (const char* const text : {"f(x: f32[i, k]) -> y = x * 2 + 1", softmax}) {
        const Executable exe = compile(parse(text), {.device = "cpu", .threads = 2});
        std::vector<float> x = numbers(300 * 1'001);
        const std::vector<float> apart = exe.run({{"x", view(x.data(), {300, 1'001})}}).to_vector<float>("y");
        exe.run({{"x", view(x.data(), {300, 1'001})}}, {{"y", view(x.data(), {300, 1'001})}});
        EXPECT_EQ(std::memcmp(x.data(), apart.data(), x.size() * sizeof(float)), 0) << text;
    }
}

/// The outputs of all sweeps that go around the caches where memory is far.
std::size_t far_outputs(const char* text) {
    const Plan plan = fuse(parse(text));
    std::size_t outputs = 0;
    for (const Sweep& sweep : plan.sweeps) {
        const cpu::SweepProgram program = cpu::sweep_program(plan, sweep, InstructionSet::baseline);
        if (cpu::has_far_outputs(program, 1)) outputs += program.outputs.size();
    }
    return outputs;
}

TEST(FarMemory, has_the_outputs_that_are_written_in_order) {
    if (cpu::stream_kernel(InstructionSet::baseline) == nullptr) GTEST_SKIP() << "no stores around the caches";
    constexpr auto maps = "f(x: f32[i, k]) -> y = x * 2.5 + 1, d = f64(x) * x, s = sum(x)";
    {
        const ChosenFarMemory none("none");
        EXPECT_EQ(far_outputs(maps), 0U);
    }
    const ChosenFarMemory all("all");
    EXPECT_EQ(far_outputs(maps), 2U);
    EXPECT_EQ(far_outputs(softmax), 1U);
    EXPECT_EQ(far_outputs("f(x: f32[i, k]) -> y[k, i] = exp(x)"), 0U); // scattered
    EXPECT_EQ(far_outputs("f(x: f32[i, k]) -> s = sum(x over [k])"), 0U);
}

TEST(NextRows, are_prefetched_in_shares_of_the_steps) {
    std::vector<char> memory(4'000);
    cpu::NextRows next;
    next.resize(2);
    next.array(0) = {memory.data(), 4};
    next.array(1) = {memory.data() + 1, 1};
    EXPECT_EQ(next.step(10), 0U); // nothing is next yet
    next.begin(1'000, 300);
    std::size_t elements = 0;
    for (const std::size_t share : {100U, 1U, 49U, 150U}) {
        const std::size_t step = next.step(share);
        EXPECT_NEAR(static_cast<double>(step), static_cast<double>(share) * 1'000 / 300, 1);
        elements += step;
    }
    EXPECT_EQ(elements, 1'000U);
    EXPECT_EQ(next.step(100), 0U);
}

TEST(FarMemory, is_chosen_by_the_environment) {
    const auto set = InstructionSet::baseline;
    {
        const ChosenFarMemory none("none");
        EXPECT_FALSE(cpu::far_memory(set).holds(std::size_t{1} << 40));
    }
    {
        const ChosenFarMemory all("all");
        EXPECT_EQ(cpu::far_memory(set).holds(1), cpu::stream_kernel(set) != nullptr);
    }
    EXPECT_FALSE(cpu::far_memory(set).holds(1'000'000)); // of any processor
    const ChosenFarMemory wrong("some");
    expect_refused<InvalidOption>([] { compile(parse("f(x: f32[n]) -> y = x"), {.device = "cpu"}); },
                                  {"GRIDFOLD_FAR_MEMORY=some", "none or all", "unset it"});
}

} // namespace
} // namespace gf::test
