// The CUDA runner on the emulated device: its updates, allocations and waits, and its state after any driver call
// fails.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <gridfold/core/capture.hpp>
#include <gridfold/core/device.hpp>
#include <gridfold/core/error.hpp>
#include <gridfold/fusion/backend.hpp>

#include "cuda/host_words.hpp"
#include "fusion/failing_device.hpp"
#include "fusion/runner_fixture.hpp"
#include "fusion/user_graph.hpp"

namespace gf {
namespace {

using namespace plan;
using namespace test;

using ::testing::HasSubstr;

TEST_F(RunnerCuda, scalars_are_read_from_their_words_and_the_destructor_waits) {
    auto runner = sum_runner();
    const DeviceNumbers x(numbers(1000));
    runner->bind(bindings(x));
    for (int i = 0; i < 3; ++i) {
        x.data()[0] = i;
        EXPECT_EQ(sum(*runner), total_of(x));
    }
    runner->enqueue({});
    device->waits = 0;
    runner.reset();
    EXPECT_GE(device->waits, 1) << "for the launch under way";
    EXPECT_EQ(device->launches, 4);
}

TEST_F(RunnerCuda, equal_bindings_cost_nothing_and_others_an_update_in_place) {
    auto runner = shift_runner();
    const DeviceNumbers x(numbers(100)), y(numbers(200, 7)), out(numbers(200));
    runner->bind(bindings(x, out));
    EXPECT_EQ(sum(*runner), total_of(x));
    const long calls = device->calls;
    runner->bind(bindings(x, out));
    EXPECT_EQ(device->calls, calls);
    runner->bind(bindings(y, out));
    EXPECT_EQ(device->updates, 2);
    EXPECT_EQ(sum(*runner), total_of(y));
    EXPECT_EQ(out.data()[199], y.data()[199] + total_of(y));
    EXPECT_EQ(device->instantiations, 1);
}

TEST_F(RunnerCuda, sweeps_may_overlap_as_captured_ones_do_unless_they_read_much) {
    auto runner = shift_runner();
    const DeviceNumbers little(numbers(100)), much(Numbers((std::size_t{1} << 24) + 1)), out(Numbers(much.size()));
    runner->bind(bindings(little, out));
    EXPECT_EQ(device->overlaps, 1);
    runner->bind(bindings(much, out)); // 4 bytes more than 64 MiB
    EXPECT_EQ(device->instantiations, 2) << "edges cannot be changed in place";
    EXPECT_EQ(device->overlaps, 1);
    runner->bind(bindings(little, out));
    EXPECT_EQ(device->overlaps, 2);
    EXPECT_EQ(sum(*runner), total_of(little));
    EXPECT_EQ(out.data()[99], little.data()[99] + total_of(little));
}

TEST_F(RunnerCuda, launching_allocates_nothing) {
    auto runner = shift_runner();
    auto x = numbers(100), out = numbers(100);
    runner->bind(bindings(x, out));
    const long allocations = device->allocations, objects = device->objects;
    for (int i = 0; i < 10; ++i) sum(*runner);
    EXPECT_EQ(device->allocations, allocations);
    EXPECT_EQ(device->objects, objects);
}

TEST_F(RunnerCuda, host_arrays_go_through_chunks_both_ways) {
    auto runner = shift_runner();
    device->work_late(true); // a chunk is copied only when it is waited for
    for (const std::size_t n : {std::size_t{1}, (std::size_t{3} << 20) + 3, std::size_t{10}}) {
        auto x = numbers(n, -5), out = numbers(n, 0), expected = x;
        const auto total = static_cast<std::uint32_t>(total_of(x)); // wraps, as the kernel's does
        for (auto& e : expected) e = static_cast<std::int32_t>(static_cast<std::uint32_t>(e) + total);
        runner->bind(bindings(x, out));
        EXPECT_EQ(sum(*runner), total_of(x));
        EXPECT_EQ(out, expected) << n;
    }
}

TEST_F(RunnerCuda, an_array_is_read_by_the_strides_of_its_own_dims) {
    const auto permuted = build("p([i, j, k], x: i32[k, i, j]) -> out = x");
    auto runner = permuted->runner();
    const DeviceNumbers x(numbers(3 * 5 * 7)), out(Numbers(3 * 5 * 7));
    runner->bind({{3, 5, 7}, {bound(x), bound(out)}, {}, {}});
    runner->run({}, {});
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 5; ++j)
            for (int k = 0; k < 7; ++k) ASSERT_EQ(out.data()[(i * 5 + j) * 7 + k], x.data()[(k * 3 + i) * 5 + j]);
}

TEST_F(RunnerCuda, sweeps_count_their_launches_apart) {
    const auto both = build("t(x: i32[n]) let total = sum(x); -> total = total, above = count(i64(x) * 100 > total)");
    auto runner = both->runner();
    const DeviceNumbers x(numbers(20'000));
    runner->bind(bindings(x));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(run(*runner, 2), total_of(x));
}

TEST_F(RunnerCuda, runs_in_several_streams_come_one_after_the_other) {
    auto runner = sum_runner();
    auto x = numbers(5000);
    const CurrentDevice current(0);
    const Stream first(0, StreamKind::independent), second(0, StreamKind::independent);
    runner->bind(bindings(x));
    for (int i = 0; i < 20; ++i) {
        x[0] = i;
        runner->enqueue(first);
        x[0] = -i;
        runner->enqueue(second); // the two runs must not mix their inputs
        ScalarResult result;
        runner->wait({&result, 1});
        EXPECT_EQ(static_cast<std::int64_t>(result.bits), total_of(x)) << i;
    }
}

TEST_F(RunnerCuda, no_elements_is_a_launch_like_any_other) {
    auto runner = shift_runner();
    Numbers x, out;
    runner->bind(bindings(x, out));
    EXPECT_EQ(sum(*runner), 0);
    runner->bind({{0}, {{nullptr, Memory::device}, {nullptr, Memory::device}}, {}, {}});
    EXPECT_EQ(sum(*runner), 0);
}

TEST_F(RunnerCuda, a_kernel_that_ends_without_its_words_is_an_error_and_no_hang) {
    auto runner = sum_runner();
    const DeviceNumbers x(numbers(10));
    runner->bind(bindings(x));
    device->loses_words = true;
    EXPECT_THROW(sum(*runner), InternalError);
}

TEST_F(RunnerCuda, a_lost_device_poisons_its_build_and_says_why) {
    auto runner = sum_runner(), other = sum_runner();
    const auto unrelated_build = build("s(x: i32[n]) -> total = sum(x)");
    auto unrelated = unrelated_build->runner();
    const DeviceNumbers x(numbers(10));
    for (auto* r : {runner.get(), other.get(), unrelated.get()}) r->bind(bindings(x));
    device->fail_at = device->calls;
    device->fail_with = driver::illegal_address;
    device->fails_for_good = true;
    EXPECT_THROW(sum(*runner), DeviceError);
    device->reset(); // the device works again: later failures come from the remembered error
    EXPECT_THAT([&] { sum(*other); }, ::testing::ThrowsMessage<DeviceError>(HasSubstr("lost to an earlier error")));
    EXPECT_EQ(sum(*unrelated), total_of(x));
}

TEST_F(RunnerCuda, a_captured_run_works_on_memory_that_the_graph_owns) {
    const DeviceNumbers x(numbers(50)), out(numbers(50));
    std::vector<ScalarResult> result(2);
    const CurrentDevice current(0);
    const Stream stream(0, StreamKind::independent);
    UserGraph graph;
    {
        auto runner = shift_runner();
        runner->bind(bindings(x, out));
        UserGraph::begin(stream);
        EXPECT_THROW(runner->run(result, stream), InvalidResult);
        runner->enqueue(stream);
        graph.end(stream);
        EXPECT_THROW(runner->wait(result), DeviceError) << "it has not run";
        x.data()[0] = 1000;
        graph.launch(stream);
        stream.wait();
        runner->wait(result);
        EXPECT_EQ(static_cast<std::int64_t>(result[0].bits), total_of(x));
        EXPECT_EQ(sum(*runner), total_of(x));
    }
    x.data()[0] = 2000;
    graph.launch(stream); // its memory is still allocated
    stream.wait();
    EXPECT_EQ(out.data()[49], x.data()[49] + total_of(x));
    const long owned = leaked_memory();
    graph.destroy();
    EXPECT_EQ(leaked_memory(), owned) << "CUDA lets go where nothing may be freed";
    release_retired();
    EXPECT_LT(leaked_memory(), owned);
}

TEST_F(RunnerCuda, host_arrays_are_not_captured) {
    auto runner = sum_runner();
    auto x = numbers(10);
    runner->bind(bindings(x));
    const CurrentDevice current(0);
    const Stream stream(0, StreamKind::independent);
    UserGraph graph;
    UserGraph::begin(stream);
    EXPECT_THROW(runner->enqueue(stream), InvalidBinding);
    graph.end(stream);
    EXPECT_EQ(sum(*runner), total_of(x));
}

// After the failure of any call with any code: a typed error, no leak, and a runner that gives right results.
template <class X> class RunnerFailures : public RunnerCuda {};
using Kinds = ::testing::Types<DeviceNumbers, Numbers>;
TYPED_TEST_SUITE(RunnerFailures, Kinds);

TYPED_TEST(RunnerFailures, any_one_failing_call_is_an_error_and_leaves_a_usable_runner) {
    emulator::Control& control = *this->device;
    this->shift_runner();
    TypeParam x(numbers(100)), y(numbers(5000, 3)), out(numbers(5000, 0));
    const long memory = control.memory, objects = control.objects;
    for (long n = 0;; ++n) {
        control.reset(); // a context that could not be popped would be current from then on
        control.fail_at = n;
        bool failed = false;
        std::unique_ptr<Runner> runner;
        const auto attempt = [&](auto&& step) {
            try {
                step();
            } catch (const DeviceError& error) {
                failed = true;
                EXPECT_EQ(error.code(), control.fail_with) << "call " << n << ": " << error.what() << control.finding;
                step(); // again: only one call fails
            }
        };
        attempt([&] { runner = this->shift_runner(); });
        attempt([&] { runner->bind(bindings(x, out)); });
        attempt([&] { EXPECT_EQ(this->sum(*runner), total_of(x)) << "call " << n; });
        attempt([&] { runner->bind(bindings(y, out)); });
        attempt([&] { EXPECT_EQ(this->sum(*runner), total_of(y)) << "call " << n; });
        EXPECT_EQ(out.data()[4999], y.data()[4999] + total_of(y)) << "call " << n;
        runner.reset();
        control.fail_at = -1;
        ASSERT_EQ(control.memory, memory) << "call " << n;
        ASSERT_EQ(control.objects, objects) << "call " << n;
        if (!failed && n > control.calls) break;
    }
}

// Work that a failed run has enqueued may still be running, in another stream than the next run's.
TEST_F(RunnerCuda, a_run_that_fails_anywhere_does_not_reach_into_the_next) {
    // Two inputs use one page-locked chunk each; one input uses both chunks in turn.
    for (const bool two : {true, false}) {
        const auto products = build(two ? "p(x: i32[n], w: i32[n]) -> total = sum(x * w), out = x * w"
                                        : "p(x: i32[n]) -> total = sum(x * x), out = x * x");
        auto runner = products->runner();
        auto x = numbers(3000), w = numbers(3000, 7), out = x;
        const auto& factor = two ? w : x;
        Bound to{{3000}, {bound(x), bound(w), bound(out)}, {}, {}};
        if (!two) to.arrays.erase(to.arrays.begin() + 1);
        runner->bind(to);
        const CurrentDevice current(0);
        const Stream one(0, StreamKind::independent), other(0, StreamKind::independent);
        device->work_late(true);
        std::vector<ScalarResult> result(1);
        for (long n = 0;; ++n) {
            x[5] = w[6] = 1;
            const auto [failed, calls] = with_failing_call(*device, n, [&] { runner->run(result, one); });
            x[5] = w[6] = static_cast<std::int32_t>(100 + n);
            runner->run(result, other);
            ASSERT_EQ(static_cast<std::int64_t>(result[0].bits),
                      std::inner_product(x.begin(), x.end(), factor.begin(), std::int64_t{0}))
                << "call " << n << ", two: " << two;
            for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(out[i], x[i] * factor[i]) << "call " << n;
            if (n >= calls) {
                EXPECT_FALSE(failed);
                break;
            }
        }
    }
}

TEST_F(RunnerCuda, a_failed_bind_of_many_leaves_the_old_bindings) {
    shift_runner();
    for (const std::size_t n_later : {std::size_t{50}, std::size_t{5000}}) { // in the memory there is, and in more
        for (long n = 0;; ++n) {
            auto x = numbers(3000), y = numbers(n_later, 3), one = numbers(3000, 0), two = numbers(n_later, 0);
            auto runner = shifts->many_runner();
            const Bound before = bindings(x, one), after = bindings(y, two);
            runner->bind(before);
            const auto [failed, calls] = with_failing_call(*device, n, [&] { runner->bind(after); });
            EXPECT_EQ(sum(*runner), failed ? total_of(x) : total_of(y)) << "call " << n;
            if (failed) {
                EXPECT_EQ(one[2999], x[2999] + total_of(x)) << "call " << n;
            }
            if (n >= calls) break; // a call that only releases fails without an error
        }
    }
}

TEST_F(RunnerCuda, a_failed_bind_leaves_the_old_bindings) {
    for (long n = 0;; ++n) {
        auto x = numbers(100), y = numbers(5000, 3), out = numbers(5000, 0);
        auto runner = shift_runner();
        runner->bind(bindings(x, out));
        const auto [failed, calls] = with_failing_call(*device, n, [&] { runner->bind(bindings(y, out)); });
        EXPECT_EQ(sum(*runner), failed ? total_of(x) : total_of(y)) << "call " << n;
        if (n >= calls) break; // a call that only releases fails without an error
    }
}

TEST_F(RunnerCuda, a_capture_that_fails_anywhere_leaks_nothing_and_leaves_the_runner) {
    shift_runner();
    const DeviceNumbers x(numbers(100)), out(numbers(100));
    const CurrentDevice current(0);
    const Stream stream(0, StreamKind::independent);
    const long memory = device->memory, objects = device->objects;
    for (long n = 0;; ++n) {
        auto runner = shift_runner();
        runner->bind(bindings(x, out));
        UserGraph graph;
        UserGraph::begin(stream);
        const auto [failed, calls] = with_failing_call(*device, n, [&] { runner->enqueue(stream); });
        graph.end(stream);
        graph.destroy();
        EXPECT_EQ(sum(*runner), total_of(x)) << "call " << n;
        runner.reset();
        release_retired();
        ASSERT_EQ(device->memory, memory) << "call " << n;
        ASSERT_EQ(device->objects, objects) << "call " << n;
        if (n >= calls) {
            EXPECT_FALSE(failed);
            break;
        }
    }
}

TEST_F(RunnerCuda, a_scalar_is_there_when_all_of_its_words_are) {
    const cuda::HostWords words(0, 2);
    const plan::ScalarId zeroth(0), first(1);
    auto* const second = static_cast<std::uint64_t*>(words.device_address()) + 3;
    const std::uint64_t written[]{7ull << 32 | 5, 7ull << 32 | 6, 7ull << 32 | 1};
    for (const std::size_t order : {0, 1, 2}) {
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_FALSE(words.has(first, 7));
            second[(order + i) % 3] = written[(order + i) % 3];
        }
        EXPECT_TRUE(words.has(first, 7));
        EXPECT_FALSE(words.has(zeroth, 7));
        std::fill_n(second, 3, 0);
    }
    std::copy_n(written, 3, second);
    EXPECT_EQ(words.read(first).bits, 6ull << 32 | 5);
    EXPECT_TRUE(words.read(first).empty);
}

TEST(HostWords, tags_run_from_1_and_skip_0_when_they_start_over) {
    EXPECT_EQ(cuda::tag_of(1), 1u);
    EXPECT_EQ(cuda::tag_of(0xffffffffu), 0xffffffffu);
    EXPECT_EQ(cuda::tag_of(0x100000000u), 1u);
}

} // namespace
} // namespace gf
