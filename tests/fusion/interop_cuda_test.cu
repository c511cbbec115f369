// Arrays of CUDA's own libraries as bindings.
#include <array>
#include <cstdint>
#include <vector>

#include <cuda/std/span>
#include <gtest/gtest.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/sequence.h>

#include <gridfold/gridfold.hpp>

namespace {

gf::Graph twice_and_sum() {
    gf::Graph g;
    const gf::Value x = g.input<std::int32_t>("x", {g.dim("n")});
    g.output("y", x * 2);
    g.output("total", gf::sum(x));
    return g;
}

TEST(Interop, a_cuda_std_span_of_host_memory) {
    std::array<std::int32_t, 4> x{1, 2, 3, 4};
    const gf::Executable exe = gf::compile(twice_and_sum(), {.device = "cpu"});
    const gf::Results results = exe.run({{"x", cuda::std::span<const std::int32_t>(x.data(), x.size())}});
    EXPECT_EQ(results.get<std::int64_t>("total"), 10);
}

TEST(Interop, an_empty_device_vector_has_no_elements) {
    thrust::device_vector<std::int32_t> x;
    const gf::View view(x);
    EXPECT_EQ(view.memory, gf::Memory::device);
    EXPECT_EQ(view.extents, gf::Extents({0}));
    EXPECT_EQ(gf::compile(twice_and_sum(), {.device = "cpu"}).run({{"x", x}}).get<std::int64_t>("total"), 0);
}

TEST(Interop, device_vectors_as_input_and_output_in_thrusts_order) {
    if (const std::string reason = gf::cuda_unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    const gf::Executable exe = gf::compile(twice_and_sum(), {.device = "cuda"});
    thrust::device_vector<std::int32_t> x(100'000), y(x.size());
    thrust::sequence(x.begin(), x.end());
    const gf::Results results = exe.run({{"x", x}}, {{"y", y}});
    EXPECT_EQ(results.get<std::int64_t>("total"), 99'999LL * 100'000 / 2);
    const thrust::host_vector<std::int32_t> there = y;
    for (std::size_t i = 0; i < there.size(); ++i) ASSERT_EQ(there[i], 2 * static_cast<std::int32_t>(i));
}

} // namespace
