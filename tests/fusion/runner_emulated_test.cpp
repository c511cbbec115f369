// The CUDA runner on the emulated device: its updates, allocations and waits, and its state after any driver call
// fails.
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/capture.hpp>
#include <gridfold/core/device.hpp>
#include <gridfold/core/error.hpp>
#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>

#include "cuda/host_words.hpp"
#include "emulator/device/emulated.hpp"
#include "fusion/failing_device.hpp"
#include "fusion/user_graph.hpp"

namespace gf {
namespace {

using namespace plan;

using test::UserGraph;
using ::testing::HasSubstr;

using Numbers = std::vector<std::int32_t>;

Numbers numbers(std::size_t n, std::int32_t first = 1) {
    Numbers x(n);
    std::iota(x.begin(), x.end(), first);
    return x;
}
std::int64_t total_of(std::span<const std::int32_t> x) { return std::accumulate(x.begin(), x.end(), std::int64_t{0}); }

/// Device memory, which the host can read on the emulated device.
class DeviceNumbers {
public:
    explicit DeviceNumbers(const Numbers& x) : buffer_(0, x.size() * sizeof(std::int32_t)), size_(x.size()) {
        std::copy(x.begin(), x.end(), data());
    }
    std::int32_t* data() const { return static_cast<std::int32_t*>(buffer_.address()); }
    std::size_t size() const { return size_; }
    operator std::span<const std::int32_t>() const { return {data(), size_}; }

private:
    DeviceBuffer buffer_;
    std::size_t size_;
};

BoundArray bound(const DeviceNumbers& x) { return {x.data(), Memory::device}; }
BoundArray bound(Numbers& x) { return {x.data(), Memory::host}; }

/// Bindings of extent x.size(), and an array output if given.
template <class X> Bound bindings(X& x) { return {{static_cast<std::int64_t>(x.size())}, {bound(x)}, {}, {}}; }
template <class X> Bound bindings(X& x, X& out) {
    return {{static_cast<std::int64_t>(x.size())}, {bound(x), bound(out)}, {}, {}};
}
std::int64_t run(Runner& runner, int scalars) {
    std::vector<ScalarResult> results(static_cast<std::size_t>(scalars));
    runner.run(results, {});
    return static_cast<std::int64_t>(results[0].bits);
}

class RunnerCuda : public emulator::OnEmulatedDevice {
protected:
    void TearDown() override {
        sums.reset();
        shifts.reset();
        release_retired();
        OnEmulatedDevice::TearDown();
    }
    static std::shared_ptr<const Build> build(const char* text) {
        return build_cuda(std::make_shared<const Plan>(fuse(parse(text))), 0, {});
    }
    std::unique_ptr<Runner> sum_runner() {
        if (!sums) sums = build("s(x: i32[n]) -> total = sum(x)");
        return sums->runner();
    }
    /// Two sweeps: the sum, and a map that uses it.
    std::unique_ptr<Runner> shift_runner() {
        if (!shifts) shifts = build("s(x: i32[n]) let total = sum(x); -> total = total, out = x + i32(total)");
        return shifts->runner();
    }
    static std::int64_t sum(Runner& runner) { return run(runner, 1); }

    std::shared_ptr<const Build> sums, shifts;
};

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
            const auto [failed, calls] = test::with_failing_call(*device, n, [&] { runner->run(result, one); });
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
            const auto [failed, calls] = test::with_failing_call(*device, n, [&] { runner->bind(after); });
            EXPECT_EQ(sum(*runner), failed ? total_of(x) : total_of(y)) << "call " << n;
            if (failed) {
                EXPECT_EQ(one[2999], x[2999] + total_of(x)) << "call " << n;
            }
            if (n >= calls) break; // a call that only releases fails without an error
        }
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

TEST_F(RunnerCuda, a_failed_bind_leaves_the_old_bindings) {
    for (long n = 0;; ++n) {
        auto x = numbers(100), y = numbers(5000, 3), out = numbers(5000, 0);
        auto runner = shift_runner();
        runner->bind(bindings(x, out));
        const auto [failed, calls] = test::with_failing_call(*device, n, [&] { runner->bind(bindings(y, out)); });
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
        const auto [failed, calls] = test::with_failing_call(*device, n, [&] { runner->enqueue(stream); });
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
