// A captured run reads arrays in device memory by their strides when it replays.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/core/device.hpp>
#include <gridfold/core/stream.hpp>
#include <gridfold/gridfold.hpp>

#include "emulator/device/emulated.hpp"
#include "error/refusal.hpp"
#include "fusion/device_array.hpp"
#include "fusion/user_graph.hpp"

namespace {

using gf::test::DeviceArray;

class StridedCapture : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string reason = gf::cuda_unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
        if (auto* const emulated = gf::emulator::emulated_device()) emulated->reset();
    }
};

std::vector<float> numbers(std::size_t n, float first) {
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = first + static_cast<float>(i % 251) / 7;
    return x;
}

TEST_F(StridedCapture, replays_with_what_memory_then_holds) {
    constexpr std::int64_t rows = 90, columns = 110;
    const auto x = numbers(rows * columns, 1), other = numbers(rows * columns, -30);
    const gf::Executable exe = gf::compile(gf::parse("c(x: f32[i, j]) -> s = sum(x over [j])"), {.device = "cuda"});
    const DeviceArray in(x), out(numbers(rows, 0));
    const gf::Strides by_columns{1, rows};
    const auto expected =
        exe.run({{"x", gf::host_view(other.data(), {rows, columns}, by_columns)}}).to_vector<float>("s");
    const gf::CurrentDevice current(0);
    const gf::Stream stream(0, gf::StreamKind::independent);
    gf::test::UserGraph graph;
    gf::Prepared prepared =
        exe.prepare({{"x", gf::device_view(in.pointer(), {rows, columns}, by_columns)}}, {{"s", out.view()}});
    gf::test::UserGraph::begin(stream);
    prepared.enqueue(stream);
    graph.end(stream);
    prepared.rebind("x", gf::device_view(in.pointer(), {rows, columns})); // the graph keeps its strides
    in.set(other);
    graph.launch(stream);
    stream.wait();
    EXPECT_EQ(gf::test::to_host(out.view()), expected);
    graph.destroy();
}

TEST_F(StridedCapture, of_host_arrays_is_refused_with_strides_as_without) {
    const auto x = numbers(100, 1);
    const gf::Executable exe = gf::compile(gf::parse("c(x: f32[i]) -> s = sum(x)"), {.device = "cuda"});
    const gf::CurrentDevice current(0);
    const gf::Stream stream(0, gf::StreamKind::independent);
    gf::Prepared prepared = exe.prepare({{"x", gf::host_view(x.data(), {50}, {2})}});
    gf::test::UserGraph graph;
    gf::test::UserGraph::begin(stream);
    gf::test::expect_refused<gf::InvalidBinding>([&] { prepared.enqueue(stream); },
                                                 {"host arrays", "bind device arrays"});
    graph.end(stream);
    graph.destroy();
    EXPECT_EQ(prepared.run().get<float>("s"), exe.run({{"x", gf::view(x.data(), {50}, {2})}}).get<float>("s"));
}

} // namespace
