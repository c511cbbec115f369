// Whole programs on an emulated device that fails: at each of its calls, once or for good, in a kernel, or from the
// start. The outcome is a typed error or the CPU's right answer; objects stay usable, nothing leaks, nothing hangs.
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <gridfold/core/capture.hpp>
#include <gridfold/gridfold.hpp>

#include "fusion/failing_device.hpp"

// A map whose kernel reads the first page of memory, which nobody has. (Compilers drop a read of a null address.)
GRIDFOLD_MAP(at_page_0, 1, number, "what is at address a", a + *reinterpret_cast<const volatile T*>(u64(a)))

namespace gf {
namespace {

using test::attempt;
using ::testing::HasSubstr;

constexpr const char* text = "z(x: f32[n], k: f32) let m = mean(x); -> z = (x - m) * k, m = m, top = max(x)";

std::vector<float> ramp(std::size_t n) {
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % 64);
    return x;
}

void expect_right(const Results& results, const std::vector<float>& x, float k) {
    const Results right = compile(parse(text), {.device = "cpu"}).run({{"x", x}, {"k", k}});
    EXPECT_EQ(results.get<float>("m"), right.get<float>("m"));
    EXPECT_EQ(results.get<float>("top"), right.get<float>("top"));
    EXPECT_TRUE(std::ranges::equal(results.span<float>("z"), right.span<float>("z")));
}

class DeviceFaults : public test::FailingDevice {
protected:
    void SetUp() override {
        FailingDevice::SetUp();
        if (IsSkipped()) return;
        compile(parse(text), {.device = "cuda"}); // so that kernels are in the cache
        restart(-1, 0);
    }

    const std::vector<float> x = ramp(5000), y = ramp(300);
};

TEST_F(DeviceFaults, any_one_call_that_fails_is_an_error_after_which_all_goes_on) {
    for (const int code : {2, 209, 999})
        for (long n = 0;; ++n) {
            restart(n, code);
            int caught = 0;
            std::optional<Executable> exe;
            std::optional<Prepared> prepared;
            // The library looks for a device once: if that call fails, CUDA stays unusable in this process.
            try {
                caught += attempt([&] { exe = compile(parse(text), {.device = "cuda"}); }).has_value();
            } catch (const DeviceError& error) {
                EXPECT_THAT(error.what(), HasSubstr("cuda:0 was asked for, but CUDA cannot be used"));
                expect_right(compile(parse(text), {.device = "auto"}).run({{"x", x}, {"k", 2.0F}}), x, 2);
                continue;
            }
            caught += attempt([&] { prepared = exe->prepare({{"x", x}, {"k", 2.0F}}); }).has_value();
            caught += attempt([&] { expect_right(prepared->run(), x, 2); }).has_value();
            caught += attempt([&] { prepared->rebind("x", y); }).has_value();
            caught += attempt([&] { expect_right(prepared->run(), y, 2); }).has_value();
            caught += attempt([&] { prepared->rebind("k", 3.0F); }).has_value();
            caught += attempt([&] { prepared->enqueue({}); }).has_value();
            caught += attempt([&] { expect_right(prepared->results(), y, 3); }).has_value();
            caught += attempt([&] { expect_right(exe->run({{"x", x}, {"k", 5.0F}}), x, 5); }).has_value();
            EXPECT_LE(caught, 1) << "call " << n;
            prepared.reset();
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

TEST_F(DeviceFaults, a_device_that_is_lost_at_any_call_is_an_error_and_no_hang_and_the_cpu_goes_on) {
    const Executable on_cpu = compile(parse(text), {.device = "cpu"});
    for (long n = 0;; ++n) {
        restart(n, driver::illegal_address, true);
        bool lost = false;
        long in_use = 0; // calls before the objects were destroyed
        try {
            const Executable exe = compile(parse(text), {.device = "cuda"});
            Prepared prepared = exe.prepare({{"x", x}, {"k", 2.0F}});
            try {
                for (int i = 0; i < 3; ++i) expect_right(prepared.run(), x, 2);
            } catch (const DeviceError&) {
                lost = true;
                EXPECT_THROW(prepared.run(), DeviceError);
                EXPECT_THROW(exe.run({{"x", x}, {"k", 2.0F}}), DeviceError);
            }
            in_use = device->calls;
        } catch (const DeviceError&) {
            lost = true;
        }
        expect_right(on_cpu.run({{"x", x}, {"k", 2.0F}}), x, 2);
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

TEST_F(DeviceFaults, a_kernel_that_faults_loses_the_device_for_its_executables_and_no_others) {
    const Executable exe = compile(parse("f(x: i32[n]) -> s = sum(at_page_0(x))"), {.device = "cuda"});
    const std::vector<std::int32_t> numbers{1, 2, 3};
    EXPECT_THAT([&] { exe.run({{"x", numbers}}); }, ::testing::ThrowsMessage<DeviceError>(HasSubstr("code 700")));
    EXPECT_THAT(device->finding, HasSubstr("where it has no memory"));
    EXPECT_THAT([&] { exe.run({{"x", numbers}}); }, ::testing::ThrowsMessage<DeviceError>(HasSubstr("lost")));
    expect_right(compile(parse(text), {.device = "cpu"}).run({{"x", x}, {"k", 2.0F}}), x, 2);
    device->reset(); // the device recovers, which CUDA's cannot; another executable works
    expect_right(compile(parse(text), {.device = "cuda"}).run({{"x", x}, {"k", 2.0F}}), x, 2);
}

TEST_F(DeviceFaults, results_that_never_reach_the_host_are_an_error_and_no_hang) {
    const Executable exe = compile(parse("f(x: i32[n]) -> s = sum(x)"), {.device = "cuda"});
    const std::vector<std::int32_t> numbers{1, 2, 3};
    device->loses_words = true;
    EXPECT_THAT([&] { exe.run({{"x", numbers}}); }, ::testing::ThrowsMessage<InternalError>(HasSubstr("sum(x)")));
    device->loses_words = false;
    EXPECT_EQ(exe.run({{"x", numbers}}).get<std::int64_t>("s"), 6);
}

TEST_F(DeviceFaults, a_cached_kernel_is_not_compiled_again) {
    const long compilations = device->compilations;
    const Executable exe = compile(parse(text), {.device = "cuda"});
    EXPECT_EQ(device->compilations, compilations);
    expect_right(exe.run({{"x", x}, {"k", 2.0F}}), x, 2);
}

} // namespace
} // namespace gf
