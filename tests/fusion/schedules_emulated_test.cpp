// The schedules that the CUDA runner chooses on the emulated device, when arrays are bound.
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fusion/failing_device.hpp"
#include "fusion/runner_fixture.hpp"

namespace gf {
namespace {

using namespace test;

/// x · y over device memory from element `first` on.
Bound products(const DeviceNumbers& x, const DeviceNumbers& y, std::size_t first) {
    Bound both = bindings(x);
    both.extents = {static_cast<std::int64_t>(x.size() - first)};
    both.arrays = {{x.data() + first, Memory::device}, {y.data() + first, Memory::device}};
    return both;
}
std::int64_t sum_of_products(const DeviceNumbers& x, const DeviceNumbers& y, std::size_t first) {
    return std::inner_product(x.data() + first, x.data() + x.size(), y.data() + first, std::int64_t{0});
}

TEST_F(RunnerCuda, the_first_unaligned_arrays_get_another_kernel_which_then_stays) {
    const auto dot = build("s(x: i32[n], y: i32[n]) -> total = sum(x * y)");
    const DeviceNumbers x(numbers(9001)), y(numbers(9001, 3));
    auto runner = dot->runner();
    long graphs = 0;
    for (const auto& [first, new_graphs] : {std::pair<std::size_t, long>{0, 1}, {4, 0}, {1, 1}, {2, 0}, {0, 0}}) {
        runner->bind(products(x, y, first));
        EXPECT_EQ(device->instantiations, graphs += new_graphs) << "from element " << first;
        EXPECT_EQ(sum(*runner), sum_of_products(x, y, first)) << "from element " << first;
    }
    const std::size_t loads = device->local_bytes_asked;
    auto another = dot->runner();
    another->bind(products(x, y, 3));
    EXPECT_EQ(sum(*another), sum_of_products(x, y, 3));
    EXPECT_EQ(device->local_bytes_asked, loads) << "runners of a build share its kernels";
}

TEST_F(RunnerCuda, kernels_for_unaligned_arrays_stay_sweep_by_sweep) {
    const auto two = build("s(x: i32[n], y: i32[m]) -> a = sum(x * i32(index(n))), b = sum(y * i32(index(m)))");
    const DeviceNumbers x(numbers(5001)), y(numbers(7001));
    const auto bound_from = [&](std::size_t of_x, std::size_t of_y) {
        return Bound{{5000, 7000}, {{x.data() + of_x, Memory::device}, {y.data() + of_y, Memory::device}}, {}, {}};
    };
    auto runner = two->runner();
    for (int time = 0; time < 3; ++time) {
        runner->bind(bound_from(1, 0));
        runner->bind(bound_from(0, 1));
        EXPECT_EQ(device->instantiations, 2) << time;
    }
    std::vector<ScalarResult> results(2);
    runner->run(results, {});
    std::int64_t a = 0, b = 0;
    for (std::int64_t i = 0; i < 5000; ++i) a += x.data()[i] * i;
    for (std::int64_t i = 0; i < 7000; ++i) b += y.data()[i + 1] * i;
    EXPECT_EQ(static_cast<std::int64_t>(results[0].bits), a);
    EXPECT_EQ(static_cast<std::int64_t>(results[1].bits), b);
}

TEST_F(RunnerCuda, arrays_with_strides_get_another_kernel_as_long_as_they_are_bound) {
    const auto dot = build("s(x: i32[n], y: i32[n]) -> total = sum(x * y)");
    const DeviceNumbers x(numbers(30'001)), y(numbers(30'001, 3));
    constexpr std::int64_t n = 9'001;
    const auto strided = [&](std::int64_t of_x, std::int64_t of_y) {
        Bound both{{n}, {{x.data(), Memory::device}, {y.data(), Memory::device}}, {}, {}};
        if (of_x != 1 || of_y != 1)
            both.strides = {of_x != 1 ? Strides{of_x} : Strides(), of_y != 1 ? Strides{of_y} : Strides()};
        return both;
    };
    auto runner = dot->runner();
    long graphs = 0;
    for (const auto& [of_x, of_y, new_graphs] :
         {std::array<long, 3>{1, 1, 1}, {2, 1, 1}, {3, 1, 0}, {3, 2, 1}, {1, 3, 1}, {1, 2, 0}, {1, 1, 1}, {2, 1, 1}}) {
        runner->bind(strided(of_x, of_y));
        EXPECT_EQ(device->instantiations, graphs += new_graphs) << of_x << ", " << of_y;
        std::int64_t expected = 0;
        for (std::int64_t i = 0; i < n; ++i)
            expected += static_cast<std::int32_t>(static_cast<std::uint32_t>(x.data()[i * of_x]) *
                                                  static_cast<std::uint32_t>(y.data()[i * of_y]));
        EXPECT_EQ(sum(*runner), expected) << of_x << ", " << of_y;
    }
    const std::size_t loads = device->local_bytes_asked;
    auto another = dot->runner();
    another->bind(strided(5 - 2, 1));
    EXPECT_EQ(device->local_bytes_asked, loads) << "runners of a build share its kernels";
}

// The host reads its own arrays in order, whatever their strides.
TEST_F(RunnerCuda, host_arrays_with_strides_are_read_by_the_kernel_for_contiguous_ones) {
    auto runner = sum_runner();
    auto x = numbers(9'001), y = numbers(12'000'000); // more than a chunk
    runner->bind(bindings(x));
    EXPECT_EQ(sum(*runner), total_of(x));
    device->work_late(true); // a chunk is copied only when it is waited for
    const std::int64_t n = 3'000'000;
    runner->bind({{n}, {{y.data() + y.size() - 1, Memory::host}}, {}, {}, 1, {Strides{-4}}});
    std::int64_t expected = 0;
    for (std::int64_t i = 0; i < n; ++i) expected += y[y.size() - 1 - static_cast<std::size_t>(4 * i)];
    EXPECT_EQ(sum(*runner), expected);
    EXPECT_EQ(device->instantiations, 1);
}

// The passes count strides for every array, so that a kernel's parameters hold them.
TEST_F(RunnerCuda, as_many_arrays_as_a_sweep_reads_may_have_strides) {
    constexpr int arrays = 42; // 9 parameters each, of 384
    std::string inputs, terms;
    for (int a = 0; a < arrays; ++a) {
        inputs += fmt::format("{}x{}: i32[a, b, c, d, e, f, g, h]", a == 0 ? "" : ", ", a);
        terms += fmt::format("{}x{}", a == 0 ? "" : " + ", a);
    }
    const auto built = build(fmt::format("s({}) -> total = sum({})", inputs, terms).c_str());
    const DeviceNumbers x(numbers(256));
    Bound bound{
        std::vector<std::int64_t>(8, 2), std::vector<BoundArray>(arrays, {x.data() + 255, Memory::device}), {}, {}};
    bound.strides.assign(arrays, Strides{-128, -64, -32, -16, -8, -4, -1, -2});
    auto runner = built->runner();
    runner->bind(bound);
    EXPECT_EQ(sum(*runner), arrays * total_of(x));
}

TEST_F(RunnerCuda, a_failure_while_the_kernel_for_strides_is_loaded_leaves_the_old_bindings) {
    const DeviceNumbers x(numbers(20'002));
    for (long n = 0;; ++n) {
        const auto sums_anew = build("s(x: i32[n]) -> total = sum(x)");
        auto runner = sums_anew->runner();
        Bound every_second{{10'000}, {{x.data(), Memory::device}}, {}, {}};
        runner->bind(every_second);
        const std::int64_t before = sum(*runner);
        every_second.strides = {Strides{2}};
        const auto [failed, calls] = with_failing_call(*device, n, [&] { runner->bind(every_second); });
        EXPECT_EQ(sum(*runner), failed ? before : 2 * before - 10'000) << "call " << n;
        if (n >= calls) break; // a call that only releases fails without an error
    }
}

TEST_F(RunnerCuda, rows_change_their_course_with_their_length) {
    const auto rows = build("s(x: i32[i, k]) -> total = sum(i32(x * 3) over [k])");
    const DeviceNumbers x(numbers(40'000)), totals(std::vector<std::int32_t>(2 * 1000)); // as i64
    auto runner = rows->runner();
    long graphs = 0;
    for (const auto& [count, length] : {std::pair<std::int64_t, std::int64_t>{500, 64},
                                        {3, 5001}, // the second row is not aligned
                                        {1000, 40},
                                        {2, 8192}}) {
        runner->bind({{count, length}, {{x.data(), Memory::device}, {totals.data(), Memory::device}}, {}, {}});
        EXPECT_EQ(device->instantiations, ++graphs) << count << " rows";
        runner->run({}, {});
        for (std::int64_t row = 0; row < count; ++row)
            ASSERT_EQ(reinterpret_cast<const std::int64_t*>(totals.data())[row],
                      3 * total_of(std::span(x.data() + row * length, static_cast<std::size_t>(length))))
                << "row " << row << " of " << count;
    }
}

TEST_F(RunnerCuda, rows_of_many_problems_take_the_course_of_the_longest) {
    const auto rows = build("s(x: i32[i, k]) -> total = sum(i32(x * 7) over [k])");
    const DeviceNumbers x(numbers(32'000)), totals(std::vector<std::int32_t>(2 * 603)); // as i64
    const std::pair<std::int64_t, std::int64_t> shapes[] = {{300, 64}, {3, 900}, {300, 10}};
    Bound problems;
    problems.count = std::size(shapes);
    std::int64_t first = 0;
    for (const auto& [count, length] : shapes) {
        problems.extents.insert(problems.extents.end(), {count, length});
        problems.arrays.push_back({x.data(), Memory::device});
        problems.arrays.push_back({totals.data() + 2 * first, Memory::device});
        first += count;
    }
    auto runner = rows->many_runner();
    runner->bind(problems);
    runner->run({}, {});
    const auto* total = reinterpret_cast<const std::int64_t*>(totals.data());
    for (const auto& [count, length] : shapes)
        for (std::int64_t row = 0; row < count; ++row)
            ASSERT_EQ(*total++, 7 * total_of(std::span(x.data() + row * length, static_cast<std::size_t>(length))))
                << "row " << row << " of " << length;
}

TEST_F(RunnerCuda, an_array_without_elements_is_aligned) {
    const auto dot = build("s(x: i32[n], y: i32[n]) -> total = sum(x * y)");
    const DeviceNumbers x(numbers(9)), y(numbers(9));
    auto runner = dot->runner();
    runner->bind(products(x, y, 0));
    Bound none = products(x, y, 1);
    none.extents = {0};
    runner->bind(none);
    EXPECT_EQ(sum(*runner), 0);
    EXPECT_EQ(device->instantiations, 1);
}

TEST_F(RunnerCuda, an_array_that_shifts_needs_no_other_kernel_when_it_is_not_aligned) {
    auto runner = sum_runner();
    const DeviceNumbers x(numbers(9001));
    for (const std::size_t first : {0, 1}) {
        runner->bind({{static_cast<std::int64_t>(x.size() - first)}, {{x.data() + first, Memory::device}}, {}, {}});
        EXPECT_EQ(sum(*runner), total_of(std::span<const std::int32_t>(x).subspan(first)));
    }
    EXPECT_EQ(device->instantiations, 1);
}

TEST_F(RunnerCuda, a_failure_while_the_kernel_for_unaligned_arrays_is_loaded_leaves_the_old_bindings) {
    const DeviceNumbers x(numbers(9001)), y(numbers(9001, 3));
    for (long n = 0;; ++n) {
        const auto dot = build("s(x: i32[n], y: i32[n]) -> total = sum(x * y)");
        auto runner = dot->runner();
        runner->bind(products(x, y, 0));
        const auto [failed, calls] = with_failing_call(*device, n, [&] { runner->bind(products(x, y, 1)); });
        EXPECT_EQ(sum(*runner), sum_of_products(x, y, failed ? 0 : 1)) << "call " << n;
        if (n >= calls) break; // a call that only releases fails without an error
    }
}

TEST_F(RunnerCuda, many_problems_change_their_schedule_with_the_size_of_their_grid) {
    auto x = numbers(40), y = numbers(14'000, 5); // seven slabs, in four blocks
    const auto some = [&](std::size_t count) {
        Bound bound_problems{
            std::vector<std::int64_t>(count, 40), std::vector<BoundArray>(count, bound(x)), {}, {}, count};
        bound_problems.extents[1] = 14'000;
        bound_problems.arrays[1] = bound(y);
        return bound_problems;
    };
    const auto expect_sums = [&](Runner& runner, std::size_t count) {
        std::vector<ScalarResult> results(count);
        runner.run(results, {});
        for (std::size_t p = 0; p < count; ++p)
            ASSERT_EQ(static_cast<std::int64_t>(results[p].bits), 3 * total_of(p == 1 ? y : x)) << p << " of " << count;
    };
    const auto tripled = build("s(x: i32[n]) -> total = sum(x * 3)");
    auto runner = tripled->many_runner();
    long graphs = 0;
    for (const auto& [count, new_graphs] : {std::pair<std::size_t, long>{2, 1}, {3, 0}, {1200, 1}, {1201, 0}, {3, 1}}) {
        runner->bind(some(count));
        EXPECT_EQ(device->instantiations, graphs += new_graphs) << count << " problems";
        expect_sums(*runner, count);
    }
    // A failure while the other schedule's kernel is loaded or bound leaves the old one in use.
    for (long n = 0;; ++n) {
        const auto again = build("s(x: i32[n]) -> total = sum(x * 3)");
        auto other = again->many_runner();
        other->bind(some(2));
        const auto [failed, calls] = test::with_failing_call(*device, n, [&] { other->bind(some(1200)); });
        expect_sums(*other, failed ? 2 : 1200);
        if (n >= calls) break; // a call that only releases fails without an error
    }
}

TEST_F(RunnerCuda, a_kernel_of_one_problem_that_spills_is_compiled_for_one_resident_block) {
    device->local_bytes = {32, 0, 0, 0};
    device->local_bytes_asked = 0;
    auto x = numbers(100);
    auto runner = build("s(x: i32[n]) -> total = sum(x * 5)")->runner();
    EXPECT_EQ(device->local_bytes_asked, 2u);
    device->local_bytes = {};
    runner->bind(bindings(x));
    EXPECT_EQ(sum(*runner), 5 * total_of(x));
}

TEST_F(RunnerCuda, kernels_that_spill_are_compiled_for_fewer_resident_blocks) {
    auto x = numbers(100);
    const Bound two{{100, 100}, {bound(x), bound(x)}, {}, {}, 2};
    struct Case {
        std::array<int, 4> local_bytes; ///< of the kernels, in the order in which they are loaded
        std::size_t loads;
    };
    int factor = 7;
    for (const Case& one : {Case{{0, 0, 0, 0}, 1}, Case{{32, 0, 0, 0}, 3}, // four resident blocks spill, three do not
                            Case{{32, 0, 16, 16}, 4},     // as one resident block does not, it is taken
                            Case{{32, 32, 32, 32}, 2}}) { // an array: one resident block has it, too
        const auto product = build(fmt::format("s(x: i32[n]) -> total = sum(x * {})", ++factor).c_str());
        auto runner = product->many_runner();
        device->local_bytes = one.local_bytes;
        device->local_bytes_asked = 0;
        runner->bind(two);
        EXPECT_EQ(device->local_bytes_asked, one.loads);
        std::vector<ScalarResult> results(2);
        runner->run(results, {});
        EXPECT_EQ(static_cast<std::int64_t>(results[1].bits), factor * total_of(x));
    }
    device->local_bytes = {};
}

} // namespace
} // namespace gf
