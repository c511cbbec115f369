// Another schedule is needed, and there is no compiler: the loaded kernels serve. The tests run in child processes,
// because a process looks for its compiler once.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fault/child.hpp"
#include "fusion/runner_fixture.hpp"

namespace gf {
namespace {

using namespace test;

class NoCompiler : public RunnerCuda {
protected:
    void SetUp() override {
        RunnerCuda::SetUp();
        std::string name = (std::filesystem::temp_directory_path() / "gridfold_no_compiler_XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder = name;
        setenv("GRIDFOLD_CACHE_DIR", (folder / "cache").c_str(), 1);
    }
    void TearDown() override {
        RunnerCuda::TearDown();
        std::error_code ignored;
        std::filesystem::remove_all(folder, ignored);
    }
    std::filesystem::path folder;
};

constexpr const char* dot = "s(x: i32[n], y: i32[n]) -> total = sum(x * y)";

TEST_F(NoCompiler, unaligned_arrays_are_read_by_the_kernel_for_aligned_ones) {
    fault::expect_in_child([&] { return build(dot) != nullptr; }); // fills the disk cache
    fault::expect_in_child([&] {
        setenv("GRIDFOLD_NVRTC", "none", 1);
        const auto built = build(dot);
        const DeviceNumbers x(numbers(300'001)), y(numbers(300'001, 3)); // 74 blocks
        auto runner = built->runner();
        for (const std::size_t first : {0, 1, 2}) {
            runner->bind(
                {{300'000 - 1}, {{x.data() + first, Memory::device}, {y.data() + first, Memory::device}}, {}, {}});
            const std::int64_t expected =
                std::inner_product(x.data() + first, x.data() + first + 299'999, y.data() + first, std::int64_t{0},
                                   std::plus<>(), [](std::int32_t a, std::int32_t b) {
                                       return std::int64_t{std::int32_t(std::uint32_t(a) * std::uint32_t(b))};
                                   });
            if (sum(*runner) != expected) return false;
        }
        return device->instantiations == 1;
    });
}

TEST_F(NoCompiler, long_rows_are_refused_where_the_only_kernel_is_for_short_ones) {
    constexpr const char* rows = "s(x: i32[i, k]) -> total = sum(x over [k])";
    const auto bind_rows = [](Runner& runner, std::vector<std::int32_t>& x, std::vector<std::int64_t>& totals,
                              std::int64_t count, std::int64_t length) {
        const BoundArray array = bound(x), results{totals.data(), Memory::host};
        runner.bind({{count, length, count, length}, {array, results, array, results}, {}, {}, 2});
    };
    fault::expect_in_child([&] { // fills the disk cache
        auto x = numbers(6000);
        std::vector<std::int64_t> totals(100);
        auto runner = build(rows)->many_runner();
        bind_rows(*runner, x, totals, 100, 60);
        return true;
    });
    fault::expect_in_child([&] {
        setenv("GRIDFOLD_NVRTC", "none", 1);
        auto x = numbers(6000);
        std::vector<std::int64_t> totals(100);
        auto runner = build(rows)->many_runner();
        bind_rows(*runner, x, totals, 100, 60);
        try {
            bind_rows(*runner, x, totals, 2, 3000);
        } catch (const DeviceError& error) {
            return std::string(error.what()).find("GRIDFOLD_NVRTC=none") != std::string::npos;
        }
        return false;
    });
}

/// Half of the elements of x times the first of y.
Bound every_second(const DeviceNumbers& x, const DeviceNumbers& y) {
    return {{4'000}, {{x.data(), Memory::device}, {y.data(), Memory::device}}, {}, {}, 1, {Strides{2}, Strides()}};
}

TEST_F(NoCompiler, arrays_with_strides_are_refused_if_their_kernel_was_never_compiled) {
    fault::expect_in_child([&] { return build(dot) != nullptr; });
    fault::expect_in_child([&] {
        setenv("GRIDFOLD_NVRTC", "none", 1);
        const auto built = build(dot);
        const DeviceNumbers x(Numbers(8'000, 3)), y(Numbers(8'000, 5));
        auto runner = built->runner();
        runner->bind({{8'000}, {{x.data(), Memory::device}, {y.data(), Memory::device}}, {}, {}});
        try {
            runner->bind(every_second(x, y));
        } catch (const DeviceError& error) {
            return std::string(error.what()).find("GRIDFOLD_NVRTC=none") != std::string::npos &&
                   sum(*runner) == 8'000 * 15;
        }
        return false;
    });
}

TEST_F(NoCompiler, arrays_with_strides_are_read_by_a_kernel_that_was_compiled) {
    fault::expect_in_child([&] {
        const DeviceNumbers x(numbers(8'000)), y(numbers(8'000));
        build(dot)->runner()->bind(every_second(x, y));
        return true;
    });
    fault::expect_in_child([&] {
        setenv("GRIDFOLD_NVRTC", "none", 1);
        const auto built = build(dot);
        const DeviceNumbers x(numbers(8'000)), y(Numbers(8'000, 5));
        auto runner = built->runner();
        for (const std::size_t first : {0, 1}) { // the second is not aligned, and has strides
            Bound half = every_second(x, y);
            half.extents = {3'999};
            half.arrays[0].address = x.data() + first;
            half.arrays[1].address = y.data() + first;
            std::int64_t expected = 0;
            for (std::size_t i = 0; i < 3'999; ++i) expected += std::int64_t{5} * x.data()[first + 2 * i];
            runner->bind(half);
            if (sum(*runner) != expected) return false;
        }
        return true;
    });
}

TEST_F(NoCompiler, a_chain_runs_as_the_sweeps_that_were_compiled) {
    constexpr const char* chain = "s(x: i32[i, k]) -> y = x - max(x over [k])";
    fault::expect_in_child([&] { return build(chain) != nullptr; });
    fault::expect_in_child([&] {
        setenv("GRIDFOLD_NVRTC", "none", 1);
        auto x = numbers(600);
        std::vector<std::int32_t> y(600);
        auto runner = build(chain)->runner();
        for (const std::int64_t length : {60, 100}) {
            runner->bind({{600 / length, length}, {bound(x), {y.data(), Memory::host}, {}}, {}, {}});
            runner->run({}, {});
            for (std::size_t row = 0; row < 600; row += std::size_t(length)) {
                const auto first = x.begin() + std::ptrdiff_t(row);
                const std::int32_t most = *std::max_element(first, first + length);
                for (std::size_t i = row; i < row + std::size_t(length); ++i)
                    if (y[i] != x[i] - most) return false;
            }
        }
        return true;
    });
}

TEST_F(NoCompiler, many_problems_that_were_never_compiled_are_refused) {
    fault::expect_in_child([&] { return build(dot) != nullptr; });
    fault::expect_in_child([&] {
        setenv("GRIDFOLD_NVRTC", "none", 1);
        const auto built = build(dot);
        auto x = numbers(100);
        auto runner = built->many_runner();
        try {
            runner->bind({{100, 100}, {bound(x), bound(x), bound(x), bound(x)}, {}, {}, 2});
        } catch (const DeviceError& error) {
            return std::string(error.what()).find("GRIDFOLD_NVRTC=none") != std::string::npos;
        }
        return false;
    });
}

} // namespace
} // namespace gf
