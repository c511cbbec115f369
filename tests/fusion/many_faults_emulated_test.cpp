// Many problems on an emulated device that fails: at each of its calls, once or for good, in a capture or in a kernel.
// The outcome is a typed error; a second try works, and nothing leaks.
#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <gridfold/core/capture.hpp>
#include <gridfold/fusion/plan.hpp>
#include <gridfold/gridfold.hpp>

#include "fusion/device_array.hpp"
#include "fusion/failing_device.hpp"
#include "fusion/user_graph.hpp"

// A map whose kernel reads the first page of memory, which nobody has. (Compilers drop a read of a null address.)
GRIDFOLD_MAP(at_page_0_of_many, 1, number, "what is at address a",
                   a + *reinterpret_cast<const volatile T*>(u64(a)))

namespace gf {
namespace {

using test::attempt;
using test::DeviceArray;
using test::UserGraph;
using ::testing::HasSubstr;

constexpr const char* text = "z(x: f32[n], k: f32) let m = mean(x); -> z = (x - m) * k, m = m, top = max(x)";
std::vector<float> ramp(std::size_t n, std::size_t period) {
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % period);
    return x;
}

constexpr int out_of_memory = 2;

class ManyFaults : public test::FailingDevice {
protected:
    void SetUp() override {
        FailingDevice::SetUp();
        if (IsSkipped()) return;
        (void)compile(parse(text), {.device = "cuda"}).run_many(first); // so that kernels are in the cache
        restart(-1, out_of_memory);
    }
    void expect_right(const std::vector<Results>& results, const std::vector<Bindings>& problems) const {
        ASSERT_EQ(results.size(), problems.size());
        for (std::size_t i = 0; i < problems.size(); ++i) {
            const Results right = on_cpu.run(problems[i]);
            EXPECT_EQ(results[i].get<float>("m"), right.get<float>("m")) << "problem " << i;
            EXPECT_EQ(results[i].get<float>("top"), right.get<float>("top")) << "problem " << i;
            EXPECT_TRUE(std::ranges::equal(results[i].span<float>("z"), right.span<float>("z"))) << "problem " << i;
        }
    }

    const Executable on_cpu = compile(parse(text), {.device = "cpu"});
    const std::vector<float> x = ramp(3000, 64), y = ramp(300, 7);
    const std::vector<Bindings> first{{{"x", y}, {"k", 2}}, {{"x", x}, {"k", 3}}},
        second{{{"x", x}, {"k", -1}}, {{"x", y}, {"k", 5}}, {{"x", x}, {"k", 7}}};
};

TEST_F(ManyFaults, any_one_call_that_fails_is_an_error_after_which_all_goes_on) {
    for (long n = 0;; ++n) {
        restart(n, out_of_memory);
        const ::testing::ScopedTrace here(__FILE__, __LINE__, fmt::format("call {}", n));
        int caught = 0;
        std::optional<Executable> exe;
        std::optional<PreparedMany> prepared;
        try {
            caught += attempt([&] { exe = compile(parse(text), {.device = "cuda"}); }).has_value();
        } catch (const DeviceError&) {
            continue; // the call that looks for a device failed: CUDA stays unusable
        }
        caught += attempt([&] { prepared = exe->prepare_many(first); }).has_value();
        caught += attempt([&] { expect_right(prepared->run(), first); }).has_value();
        caught += attempt([&] { prepared->enqueue({}); }).has_value();
        caught += attempt([&] { expect_right(prepared->results(), first); }).has_value();
        caught += attempt([&] { expect_right(exe->run_many(second), second); }).has_value();
        caught += attempt([&] { expect_right(exe->run_many(first), first); }).has_value();
        caught += attempt([&] { prepared->enqueue({}); }).has_value();
        EXPECT_LE(caught, 1) << "call " << n;
        prepared.reset(); // while it runs
        exe.reset();
        release_retired();
        const bool done = device->calls <= n;
        ASSERT_NO_FATAL_FAILURE(expect_nothing_left(n));
        if (done) {
            EXPECT_GT(n, 100);
            break;
        }
    }
}

// Work that a failed run has enqueued may still be running, in another stream than the next run's.
TEST_F(ManyFaults, a_run_that_fails_anywhere_does_not_reach_into_the_next) {
    const Executable exe = compile(parse(text), {.device = "cuda"});
    const CurrentDevice current(0);
    const Stream one(0, StreamKind::independent), other(0, StreamKind::independent);
    std::vector<float> long_one = ramp(17'000, 64), short_one = y; // several blocks, and one
    const std::vector<Bindings> problems{
        {{"x", short_one}, {"k", 2}}, {{"x", long_one}, {"k", 3}}, {{"x", x}, {"k", 5}}};
    PreparedMany many = exe.prepare_many(problems);
    device->work_late(true);
    int failures = 0;
    for (long n = 0;; ++n) {
        long_one[5] = short_one[5] = 1;
        const auto [failed, calls] = test::with_failing_call(*device, n, [&] { (void)many.run(one); });
        failures += failed ? 1 : 0;
        long_one[5] = short_one[5] = static_cast<float>(100 + n);
        expect_right(many.run(other), problems);
        ASSERT_FALSE(HasFailure()) << "call " << n;
        if (n >= calls) {
            EXPECT_FALSE(failed);
            EXPECT_GT(failures, 10);
            break;
        }
    }
}

TEST_F(ManyFaults, a_device_that_is_lost_at_any_call_is_an_error_and_no_hang) {
    for (long n = 0;; ++n) {
        restart(n, driver::illegal_address, true);
        bool lost = false;
        long in_use = 0; // calls before the objects were destroyed
        try {
            const Executable exe = compile(parse(text), {.device = "cuda"});
            PreparedMany prepared = exe.prepare_many(first);
            try {
                for (int i = 0; i < 2; ++i) expect_right(prepared.run(), first);
                prepared.enqueue({});
                expect_right(prepared.results(), first);
            } catch (const DeviceError&) {
                lost = true;
                EXPECT_THROW((void)prepared.run(), DeviceError);
                EXPECT_THROW(prepared.enqueue({}), DeviceError);
                EXPECT_THROW((void)exe.run_many(first), DeviceError);
            }
            in_use = device->calls;
        } catch (const DeviceError&) {
            lost = true;
        }
        expect_right(on_cpu.run_many(first), first);
        ASSERT_EQ(leaked_memory(), 0) << "call " << n;
        ASSERT_EQ(leaked_objects(), 0) << "call " << n;
        if (device->calls <= n) {
            EXPECT_FALSE(lost);
            EXPECT_GT(n, 80);
            break;
        }
        // The last two calls restore the thread's context after all results have arrived: reported, not thrown.
        EXPECT_TRUE(lost || n >= in_use - 2) << "call " << n;
    }
}

TEST_F(ManyFaults, a_capture_that_fails_anywhere_leaks_nothing_and_leaves_the_problems) {
    const Executable exe = compile(parse(text), {.device = "cuda"});
    const CurrentDevice current(0);
    const Stream stream(0, StreamKind::independent);
    const DeviceArray there(x), out(x);
    const std::vector<Bindings> problems{{{"x", there.view()}, {"k", 2}}}, outputs{{{"z", out.view()}}};
    const float top = on_cpu.run({{"x", x}, {"k", 2}}).get<float>("top");
    (void)exe.prepare_many(problems); // loads the kernels
    const long memory = device->memory, objects = device->objects;
    int failures = 0;
    for (long n = 0;; ++n) {
        std::optional<PreparedMany> many = exe.prepare_many(problems, outputs);
        UserGraph graph;
        UserGraph::begin(stream);
        const auto [failed, calls] = test::with_failing_call(*device, n, [&] { many->enqueue(stream); });
        graph.end(stream);
        graph.destroy();
        failures += failed ? 1 : 0;
        if (failed) {
            EXPECT_THROW((void)many->results(), InvalidResult) << "call " << n;
        }
        EXPECT_EQ(many->run()[0].get<float>("top"), top) << "call " << n;
        many.reset();
        release_retired();
        ASSERT_EQ(device->memory, memory) << "call " << n;
        ASSERT_EQ(device->objects, objects) << "call " << n;
        if (n >= calls) {
            EXPECT_FALSE(failed);
            EXPECT_GT(failures, 10);
            break;
        }
    }
}

TEST_F(ManyFaults, a_kernel_that_faults_loses_the_device_for_its_executables_and_no_others) {
    const Executable exe = compile(parse("f(x: f32[n]) -> s = sum(at_page_0_of_many(x))"), {.device = "cuda"});
    const std::vector<Bindings> problems{{{"x", y}}, {{"x", y}}};
    EXPECT_THAT([&] { (void)exe.run_many(problems); }, ::testing::ThrowsMessage<DeviceError>(HasSubstr("code 700")));
    EXPECT_THAT(device->finding, HasSubstr("where it has no memory"));
    EXPECT_THAT([&] { (void)exe.run_many(problems); }, ::testing::ThrowsMessage<DeviceError>(HasSubstr("lost")));
    EXPECT_THAT([&] { (void)exe.run(problems[0]); }, ::testing::ThrowsMessage<DeviceError>(HasSubstr("lost")));
    device->reset(); // the device recovers, which CUDA's cannot; another executable works
    expect_right(compile(parse(text), {.device = "cuda"}).run_many(first), first);
}

TEST_F(ManyFaults, running_again_allocates_nothing_and_launches_each_sweep_once) {
    const Executable exe = compile(parse(text), {.device = "cuda"});
    PreparedMany many = exe.prepare_many(second);
    (void)many.run();
    const long allocations = device->allocations, objects = device->objects, launches = device->launches;
    for (int i = 0; i < 5; ++i) expect_right(many.run(), second);
    EXPECT_EQ(device->allocations, allocations);
    EXPECT_EQ(device->objects, objects);
    EXPECT_EQ(device->launches, launches + 5 * static_cast<long>(exe.plan().sweeps.size()));
}

} // namespace
} // namespace gf
