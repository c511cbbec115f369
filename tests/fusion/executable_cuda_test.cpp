// Bindings and results in device memory. Skipped if CUDA cannot be used.
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "error/refusal.hpp"
#include "fusion/device_array.hpp"
#include "fusion/on_cuda.hpp"
#include "fusion/own_reductions.hpp"

namespace {

using gf::test::DeviceArray;
using gf::test::expect_refused;
using gf::test::to_host;

class GpuExecutable : public gf::test::OnCuda {
protected:
    gf::Executable compile(bool verify = false) {
        return gf::compile(gf::parse("scale(x: f32[n], a: f32) -> y = x * a, total = sum(x * a)"),
                           {.device = "cuda", .verify = verify});
    }
    const std::vector<float> values{1, 2, 3, 4, 5};
};

TEST_F(GpuExecutable, results_are_in_the_memory_that_the_inputs_are_in) {
    const gf::Executable exe = compile();
    const DeviceArray x(values);
    const gf::Results on_device = exe.run({{"x", x.view()}, {"a", 2}}), on_host = exe.run({{"x", values}, {"a", 2}});
    EXPECT_EQ(on_device.get<float>("total"), 30);
    EXPECT_EQ(on_host.get<float>("total"), 30);
    EXPECT_EQ(on_device.array("y").memory, gf::Memory::device);
    EXPECT_EQ(on_host.array("y").memory, gf::Memory::host);
    EXPECT_EQ(to_host(on_device.array("y")), (std::vector<float>{2, 4, 6, 8, 10}));
    EXPECT_EQ(on_host.span<float>("y")[4], 10);
    expect_refused<gf::InvalidResult>([&] { on_device.span<float>("y"); },
                                      {"\"y\" is in device memory", "to_vector(\"y\")"});
    EXPECT_EQ(on_device.to_vector<float>("y"), on_host.to_vector<float>("y"));
}

TEST_F(GpuExecutable, states_of_up_to_64_words_have_the_bits_of_the_cpu) {
    std::vector<float> x(20'011);
    std::vector<std::uint8_t> odd(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<float>(i * 7919 % 10'007) / 128 - 39;
        odd[i] = i % 3 == 1;
    }
    const std::span<const bool> keep(reinterpret_cast<const bool*>(odd.data()), odd.size());
    for (const std::string name : {"five_facts", "eight_powers", "thirty_two_scales", "histogram_mark", "widest"}) {
        const std::string text =
            "f(x: f32[n], keep: bool[n]) -> all = " + name + "(x), some = " + name + "(x where keep)";
        const auto result = [&](const char* device) {
            return gf::compile(gf::parse(text), {.device = device}).run({{"x", x}, {"keep", keep}});
        };
        const gf::Results here = result("cpu"), there = result("cuda");
        for (const char* output : {"all", "some"})
            EXPECT_EQ(std::bit_cast<std::uint64_t>(here.get_as<double>(output)),
                      std::bit_cast<std::uint64_t>(there.get_as<double>(output)))
                << name << ' ' << output;
    }
}

TEST_F(GpuExecutable, an_output_may_be_the_input_in_place) {
    const gf::Executable exe = gf::compile(gf::parse("f(x: f32[n]) -> y = (x - mean(x)) * 2"), {.device = "cuda"});
    std::vector<float> many(100'003);
    for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i % 7);
    const std::vector<float> apart = exe.run({{"x", many}}).to_vector<float>("y");
    for (const std::size_t offset : {0, 1}) { // aligned to 16 bytes, and not
        const DeviceArray x(many);
        const auto n = static_cast<std::int64_t>(many.size() - offset);
        const gf::View view = gf::device_view(x.pointer() + offset, {n});
        const std::vector<float> own = exe.run({{"x", view}}).to_vector<float>("y");
        const gf::Results r = exe.run({{"x", view}}, {{"y", view}});
        EXPECT_EQ(r.to_vector<float>("y"), own);
        if (offset == 0) {
            EXPECT_EQ(own, apart);
        }
    }
    std::vector<float> host = many;
    exe.run({{"x", host}}, {{"y", host}});
    EXPECT_EQ(host, apart);
}

/// A device allocator that counts its allocations.
class CountedDeviceMemory final : public gf::DeviceMemoryResource {
public:
    std::size_t given = 0, taken_back = 0;
    void* allocate(std::size_t bytes, gf::StreamView) override {
        given += bytes;
        return buffers_.emplace_back(0, bytes).address();
    }
    void deallocate(void* address, std::size_t bytes, gf::StreamView) noexcept override {
        taken_back += bytes;
        std::erase_if(buffers_, [&](const gf::DeviceBuffer& buffer) { return buffer.address() == address; });
    }

private:
    std::vector<gf::DeviceBuffer> buffers_;
};

TEST_F(GpuExecutable, array_results_get_their_memory_from_the_callers_resource) {
    CountedDeviceMemory memory;
    {
        const gf::Executable exe =
            gf::compile(gf::parse("f(x: f32[n]) -> y = x * 2"), {.device = "cuda", .memory = {.device = &memory}});
        const DeviceArray x(values);
        const gf::Results r = exe.run({{"x", x.view()}});
        EXPECT_EQ(r.to_vector<float>("y"), (std::vector<float>{2, 4, 6, 8, 10}));
        EXPECT_EQ(memory.given, 20u);
        EXPECT_EQ(memory.taken_back, 0u);
    }
    EXPECT_EQ(memory.taken_back, 20u);
}

TEST_F(GpuExecutable, extents_are_values_of_expressions) {
    const gf::Executable exe = gf::compile(
        gf::parse("f(x: f32[n]) -> last = sum(x where index(n) == n - 1), y = n - index(n)"), {.device = "cuda"});
    for (const std::size_t count : {5, 3}) {
        const std::vector<float> x(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
        const gf::Results results = exe.run({{"x", x}});
        EXPECT_EQ(results.get<float>("last"), static_cast<float>(count));
        EXPECT_EQ(results.span<std::int64_t>("y")[0], static_cast<std::int64_t>(count));
    }
    const std::vector<float> two{7, 8};
    EXPECT_EQ(exe.run_many(std::array{gf::Bindings{{"x", values}}, gf::Bindings{{"x", two}}})[1].get<float>("last"), 8);
}

TEST_F(GpuExecutable, host_memory_that_is_claimed_to_be_device_memory_is_refused) {
    const gf::Executable exe = compile();
    expect_refused<gf::InvalidBinding>(
        [&] {
            exe.run({{"x", gf::device_view(values.data(), {5})}, {"a", 2}});
        },
        {"input \"x\"", "as device memory", "is host memory", "host_view or view"});
    EXPECT_EQ(exe.run({{"x", values}, {"a", 1}}).get<float>("total"), 15);
}

TEST_F(GpuExecutable, device_memory_that_is_claimed_to_be_host_memory_is_refused) {
    const gf::Executable exe = compile();
    const DeviceArray x(values);
    expect_refused<gf::InvalidBinding>(
        [&] {
            exe.run({{"x", gf::host_view(x.pointer(), {5})}, {"a", 2}});
        },
        {"input \"x\"", "as host memory", "is device memory", "device_view or view"});
    EXPECT_EQ(exe.run({{"x", x.view()}, {"a", 1}}).get<float>("total"), 15);
}

TEST_F(GpuExecutable, device_memory_of_unknown_kind_is_found_out_by_either_backend) {
    const DeviceArray x(values);
    EXPECT_EQ(compile().run({{"x", gf::view(x.pointer(), {5})}, {"a", 3}}).get<float>("total"), 45);
    const gf::Executable on_cpu = gf::compile(gf::parse("f(x: f32[n]) -> s = sum(x)"), {.device = "cpu"});
    expect_refused<gf::InvalidBinding>(
        [&] {
            on_cpu.run({{"x", gf::view(x.pointer(), {5})}});
        },
        {"input \"x\"", "is device memory", "runs on the cpu", "bind a host array"});
    EXPECT_EQ(on_cpu.run({{"x", values}}).get<float>("s"), 15);
}

TEST_F(GpuExecutable, a_verified_run_compares_all_bits) {
    EXPECT_EQ(compile(true).run({{"x", values}, {"a", 2}}).get<float>("total"), 30);
    const gf::Executable exe = gf::compile(gf::parse("f(x: f32[n]) -> y = exp(x), p = max(exp(x)), s = sum(exp(x))"),
                                           {.device = "cuda", .verify = true});
    const DeviceArray x(std::vector<float>{-20, -1, 0, 1, 20});
    EXPECT_NEAR(exe.run({{"x", x.view()}}).get<float>("p"), 4.85165e8F, 1e3F);
    const std::string text = exe.explain();
    EXPECT_NE(text.find("verify: every run is compared by bits"), std::string::npos) << text;
}

TEST_F(GpuExecutable, a_prepared_run_follows_rebinding_between_host_and_device) {
    const DeviceArray x(values);
    gf::Prepared prepared = compile().prepare({{"x", x.view()}, {"a", 1}});
    EXPECT_EQ(prepared.run().get<float>("total"), 15);
    prepared.rebind("x", values);
    EXPECT_EQ(prepared.run().get<float>("total"), 15);
    EXPECT_EQ(prepared.run().array("y").memory, gf::Memory::host);
    prepared.rebind({{"x", x.view()}, {"a", -1}});
    EXPECT_EQ(prepared.run().get<float>("total"), -15);
    EXPECT_EQ(to_host(prepared.run().array("y"))[4], -5);
}

TEST_F(GpuExecutable, explains_its_kernels) {
    const std::string text = compile().explain();
    for (const char* words : {"device cuda:0", "asked for by name", "registers a thread", "threads a block"})
        EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
}

} // namespace
