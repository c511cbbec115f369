// Memory, streams, modules, graphs and capture on a real device.
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/capture.hpp>
#include <gridfold/core/device.hpp>
#include <gridfold/core/event.hpp>
#include <gridfold/core/graph_exec.hpp>
#include <gridfold/core/module.hpp>
#include <gridfold/core/nvrtc.hpp>

namespace gf {
namespace {

constexpr int device = 0;

class OnDevice : public ::testing::Test {
protected:
    void SetUp() override {
        if (const std::string reason = cuda_unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
        current.emplace(device);
    }
    std::optional<CurrentDevice> current;
};

/// add(x, y): x[0] = 10 · x[0] + y. A launch's order shows in the digits.
Module digits_module() {
    const Device d = devices().at(device);
    const char* text = "extern \"C\" __global__ void digit(long long* x, long long y) { *x = *x * 10 + y; }\n"
                       "extern \"C\" __global__ void fault(long long* x) { *(volatile long long*)8 = 1; }\n";
    return {device, nvrtc::compile(text, nvrtc::target_for(d.capability_major, d.capability_minor), {}).image};
}

struct Digit {
    void* x;
    long long y;
    void* parameters[2] = {&x, &y};
    Launch launch(KernelView kernel) { return {kernel, 1, 1, parameters}; }
};

long long read_back(const DeviceBuffer& buffer, StreamView stream) {
    long long value = -1;
    copy_to_host(&value, buffer.address(), sizeof value, stream);
    Event event(device);
    event.record(stream);
    event.wait();
    return value;
}

TEST_F(OnDevice, bytes_go_there_and_back) {
    std::vector<int> numbers(100'000);
    std::iota(numbers.begin(), numbers.end(), 7);
    const std::size_t bytes = numbers.size() * sizeof(int);
    const DeviceBuffer there(device, bytes);
    PinnedBuffer back(device, bytes);
    const Stream stream(device, StreamKind::independent);
    fill_bytes(there.address(), 0xee, bytes, stream);
    copy_to_device(there.address(), numbers.data(), bytes, stream);
    copy_to_host(back.address(), there.address(), bytes, stream);
    stream.wait();
    EXPECT_EQ(std::memcmp(back.address(), numbers.data(), bytes), 0);
}

TEST_F(OnDevice, pointers_are_told_apart) {
    const DeviceBuffer on_device(device, 16);
    const PinnedBuffer pinned(device, 16);
    const HostBuffer host(16);
    EXPECT_EQ(pointer_info(on_device.address()).memory, Memory::device);
    EXPECT_EQ(pointer_info(on_device.address()).device, device);
    EXPECT_EQ(pointer_info(pinned.address()).memory, Memory::host);
    EXPECT_TRUE(pointer_info(pinned.address()).pinned);
    EXPECT_EQ(pointer_info(host.address()).memory, Memory::host);
    EXPECT_FALSE(pointer_info(host.address()).pinned);
}

TEST_F(OnDevice, more_memory_than_there_is_throws_and_harms_nothing) {
    EXPECT_THROW(DeviceBuffer(device, std::size_t{1} << 50), DeviceError);
    EXPECT_NO_THROW(DeviceBuffer(device, 1024));
}

TEST_F(OnDevice, garbage_is_no_module_and_a_missing_kernel_no_kernel) {
    EXPECT_THROW(Module(device, std::string("garbage")), DeviceError);
    EXPECT_THROW(static_cast<void>(digits_module().kernel("absent")), DeviceError);
    const Module module = digits_module();
    const KernelFacts facts = facts_of(module.kernel("digit"), device);
    EXPECT_GT(facts.registers, 0);
    EXPECT_EQ(facts.local_bytes, 0);
}

TEST_F(OnDevice, a_graph_runs_in_the_order_of_its_edges_and_is_updated_in_place) {
    const Module module = digits_module();
    const KernelView digit = module.kernel("digit");
    const DeviceBuffer x(device, 8);
    const Stream stream(device, StreamKind::ordered_with_default);
    fill_bytes(x.address(), 0, 8, stream);
    Digit one{x.address(), 1}, two{x.address(), 2}, three{x.address(), 3};
    const std::vector<int> after_0 = {0}, after_1 = {1};
    const std::vector<KernelNode> nodes = {
        {one.launch(digit), {}}, {two.launch(digit), after_0}, {three.launch(digit), after_1}};
    GraphExec graph(device, nodes);
    graph.launch(stream);
    EXPECT_EQ(read_back(x, stream), 123);
    Digit nine{x.address(), 9};
    graph.update(1, nine.launch(digit));
    graph.launch(stream);
    EXPECT_EQ(read_back(x, stream), 123193);
}

TEST_F(OnDevice, kernels_of_a_graph_that_may_overlap_keep_its_order) {
    const Device d = devices().at(device);
    if (!kernels_may_overlap(d)) GTEST_SKIP() << "kernels of this device wait for each other";
    const char* text = "extern \"C\" __global__ void digit(long long* x, long long y) {\n"
                       "    asm volatile(\"griddepcontrol.launch_dependents;\");\n"
                       "    asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n"
                       "    for (int i = 0; i < 1000; ++i) __nanosleep(100);\n"
                       "    *x = *x * 10 + y;\n"
                       "}\n";
    const Module module(device,
                        nvrtc::compile(text, nvrtc::target_for(d.capability_major, d.capability_minor), {}).image);
    const DeviceBuffer x(device, 8);
    const Stream stream(device, StreamKind::ordered_with_default);
    fill_bytes(x.address(), 0, 8, stream);
    std::vector<Digit> digits;
    for (long long y = 1; y <= 5; ++y) digits.push_back({x.address(), y});
    const std::vector<std::vector<int>> after{{}, {0}, {1}, {2, 1}, {3, 0, 2}};
    std::vector<KernelNode> nodes;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        digits[i].parameters[0] = &digits[i].x;
        digits[i].parameters[1] = &digits[i].y;
        nodes.push_back({digits[i].launch(module.kernel("digit")), after[i]});
        nodes.back().launch.may_overlap = true;
    }
    const GraphExec graph(device, nodes);
    graph.launch(stream);
    graph.launch(stream);
    EXPECT_EQ(read_back(x, stream), 1234512345);
}

TEST_F(OnDevice, a_captured_graph_owns_what_it_is_given_until_it_is_gone) {
    const Stream stream(device, StreamKind::independent);
    EXPECT_FALSE(is_capturing(stream));
    auto object = std::make_shared<int>(1);
    EXPECT_THROW(give_to_captured_graph(stream, object), DeviceError);
    const std::weak_ptr<int> watched = object;
    object.reset();
    EXPECT_TRUE(watched.expired());
}

TEST_F(OnDevice, an_event_that_was_never_recorded_is_reached) {
    const Event event(device);
    EXPECT_TRUE(event.is_reached());
    EXPECT_NO_THROW(event.wait());
}

} // namespace
} // namespace gf
