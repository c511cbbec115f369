// The emulated device reports misuse of CUDA that often has no visible effect on a GPU.
#include <array>
#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/device.hpp>
#include <gridfold/core/module.hpp>
#include <gridfold/core/nvrtc.hpp>
#include <gridfold/core/stream.hpp>

#include "emulated.hpp"
#include "fusion/user_graph.hpp"

namespace gf {
namespace {

using ::testing::HasSubstr;

class EmulatedDevice : public emulator::OnEmulatedDevice {
protected:
    /// Runs one block of `void gridfold_sweep(std::uint64_t* p, std::uint64_t n) { <body> }`.
    static void run(const std::string& body, std::uint64_t* p, std::uint64_t n = 0) {
        const std::string text =
            "#define GRIDFOLD_NAMESPACE device\nnamespace device {\n"
            "extern \"C\" __global__ void gridfold_sweep(unsigned long long* p, unsigned long long n) {\n" +
            body + "\n}\n}\n";
        const Module module(0, nvrtc::compile(text, "sm_90", {}).image);
        const CurrentDevice current(0);
        const Stream stream(0, StreamKind::independent);
        std::array<void*, 2> parameters{&p, &n};
        launch({module.kernel("gridfold_sweep"), 1, 32, parameters.data()}, stream);
        stream.wait();
    }
    template <class Step> void expect_lost(Step&& step, const char* finding) {
        EXPECT_THROW(step(), DeviceError);
        EXPECT_THAT(device->finding, HasSubstr(finding));
        device->reset();
    }
    static std::uint64_t* words(const DeviceBuffer& buffer) { return static_cast<std::uint64_t*>(buffer.address()); }
};

TEST_F(EmulatedDevice, runs_kernels_on_its_memory) {
    const DeviceBuffer buffer(0, 64);
    run("*p = 7;", words(buffer));
    EXPECT_EQ(*words(buffer), 7U);
    run("p[-1] = n;", words(buffer) + 8,
        reinterpret_cast<std::uintptr_t>(&buffer)); // a number that looks like an address
    EXPECT_EQ(words(buffer)[7], reinterpret_cast<std::uintptr_t>(&buffer));
}

TEST_F(EmulatedDevice, finds_accesses_beside_its_memory) {
    for (int i = 0; i < 4; ++i) { // three are guarded at their end, one at its beginning
        const DeviceBuffer buffer(0, 64);
        expect_lost([&] { run("if (p[8] + p[-1] == 1) *p = 1;", words(buffer)); }, "where it has no memory");
    }
}

TEST_F(EmulatedDevice, finds_kernels_that_are_given_memory_of_the_host) {
    std::uint64_t on_host = 0;
    expect_lost([&] { run("*p = 7;", &on_host); }, "an address of the host");
    EXPECT_EQ(on_host, 0U);
}

TEST_F(EmulatedDevice, finds_uses_of_freed_memory_that_others_could_have_by_then) {
    DeviceBuffer buffer(0, 64);
    std::uint64_t* const freed = words(buffer);
    buffer = {};
    const DeviceBuffer other(0, 64);
    EXPECT_NE(words(other), freed);
    expect_lost([&] { run("*p = 7;", freed); }, "freed memory");

    const CurrentDevice current(0);
    const Stream stream(0, StreamKind::independent);
    const auto free_too_early = [&] { // unless the copy was faster
        PinnedBuffer pinned(0, 64);
        copy_to_host(pinned.address(), other.address(), 64, stream);
        pinned = {};
        stream.wait();
    };
    expect_lost(
        [&] {
            for (int tries = 0; tries < 1000; ++tries) free_too_early();
        },
        "a copy of memory that was freed");
}

TEST_F(EmulatedDevice, is_as_new_when_the_work_under_way_is_done) {
    const DeviceBuffer buffer(0, 64);
    const CurrentDevice current(0);
    const Stream stream(0, StreamKind::independent);
    device->work_late(true);
    fill_bytes(buffer.address(), 0x11, 64, stream);
    device->reset();
    EXPECT_EQ(*words(buffer), 0x1111111111111111U);
}

TEST_F(EmulatedDevice, ends_a_capture_that_forbids_what_is_asked) {
    const CurrentDevice current(0);
    const Stream stream(0, StreamKind::independent);
    test::UserGraph::begin(stream);
    EXPECT_THROW(stream.wait(), DeviceError);
    CUgraph_st* graph = nullptr;
    EXPECT_EQ(test::outcome_of("cuStreamEndCapture", StreamView(stream).get(), &graph), 901);
    EXPECT_EQ(graph, nullptr);
}

TEST_F(EmulatedDevice, frees_nothing_where_no_context_is_current) {
    const DeviceBuffer buffer(0, 64);
    const long memory = device->memory;
    EXPECT_EQ(driver::table().mem_free(reinterpret_cast<std::uintptr_t>(buffer.address())).code, 201);
    EXPECT_EQ(device->memory, memory);
}

} // namespace
} // namespace gf
