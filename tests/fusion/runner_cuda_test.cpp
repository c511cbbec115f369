// The CUDA runner over a fake device (fake_device.hpp): what it updates, stages, waits for and captures, and what is left
// when any one of its driver calls fails. Two hand-made kernels follow the protocol of emit_cuda.hpp.
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <gridfold/core/capture.hpp>
#include <gridfold/core/error.hpp>

#include "cuda/host_words.hpp"
#include "cuda/loaded_plan.hpp"
#include "fusion/fake_device.hpp"

namespace gf {
namespace {

using testing::fake;
using testing::FakeKernel;
using ::testing::HasSubstr;

template <class T> T* as(std::uint64_t address) { return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address)); }

/// total = sum of x: {x, elements, scalars, workspace, host}
const FakeKernel sum_kernel{5, [](unsigned, const std::vector<std::uint64_t>& v) {
                                const auto* x = as<std::int32_t>(v[0]);
                                const auto total = static_cast<std::uint64_t>(
                                    std::accumulate(x, x + static_cast<std::int64_t>(v[1]), std::int64_t{0}));
                                auto* scalars = as<std::uint64_t>(v[2]);
                                scalars[0] = total;
                                scalars[1] = 0;
                                std::uint64_t& launches = *as<std::uint64_t>(v[3]);
                                launches = launches == 0xffffffffu ? 1 : launches + 1;
                                if (v[4] == 0 || fake.never_finish_words) return;
                                auto* host = as<std::uint64_t>(v[4]);
                                host[0] = launches << 32 | (total & 0xffffffffu);
                                host[1] = launches << 32 | total >> 32;
                                host[2] = launches << 32;
                            }};

/// out = x + total: {x, out, elements, scalars}
const FakeKernel shift_kernel{4, [](unsigned, const std::vector<std::uint64_t>& v) {
                                  for (std::uint64_t i = 0; i < v[2]; ++i)
                                      as<std::int32_t>(v[1])[i] = static_cast<std::int32_t>(
                                          as<std::uint32_t>(v[0])[i] +
                                          static_cast<std::uint32_t>(*as<std::uint64_t>(v[3])));
                              }};

cuda::LoadedKernel loaded_kernel(const FakeKernel& kernel, std::vector<cuda::KernelParameter> parameters,
                                 bool finishes) {
    cuda::LoadedKernel loaded;
    loaded.emitted.parameters = std::move(parameters);
    loaded.emitted.threads = 512;
    loaded.emitted.words = finishes ? 2 : 0;
    loaded.emitted.finishes = finishes;
    loaded.kernel.function = reinterpret_cast<CUfunc_st*>(const_cast<FakeKernel*>(&kernel));
    return loaded;
}

/// s(x: i32[n]) -> total = sum(x); with `shifts` also -> out = x + total.
std::shared_ptr<const cuda::LoadedPlan> make_plan(bool shifts) {
    using Kind = cuda::ParameterKind;
    auto plan = std::make_shared<Plan>();
    plan->dims.push_back({"n", {}, false, {}});
    plan->arrays.push_back({"x", DType::i32, {0}, ArrayRole::input});
    plan->scalars.push_back({DType::i64});
    plan->outputs.push_back({"total", 0, -1});
    Sweep sum;
    sum.dims = {0};
    sum.yields.push_back({0, 0});
    plan->sweeps.push_back(sum);
    auto loaded = std::make_shared<cuda::LoadedPlan>();
    loaded->kernels.push_back(loaded_kernel(
        sum_kernel, {{Kind::array, 0}, {Kind::elements}, {Kind::scalars}, {Kind::workspace}, {Kind::host}}, true));
    if (shifts) {
        plan->arrays.push_back({"out", DType::i32, {0}, ArrayRole::output});
        plan->outputs.push_back({"out", -1, 1});
        Sweep shift;
        shift.dims = {0};
        shift.after = {0};
        plan->sweeps.push_back(shift);
        loaded->kernels.push_back(loaded_kernel(
            shift_kernel, {{Kind::array, 0}, {Kind::array, 1}, {Kind::elements}, {Kind::scalars}}, false));
    }
    loaded->plan = plan;
    return loaded;
}

std::vector<std::int32_t> numbers(std::size_t n, std::int32_t first = 1) {
    std::vector<std::int32_t> x(n);
    std::iota(x.begin(), x.end(), first);
    return x;
}
std::int64_t total_of(const std::vector<std::int32_t>& x) {
    return std::accumulate(x.begin(), x.end(), std::int64_t{0});
}

/// The fake device's memory is the host's: bound as device memory, a vector is used in place.
Bound bound(const std::vector<std::vector<std::int32_t>*>& arrays, Memory memory) {
    Bound b;
    b.extents = {static_cast<std::int64_t>(arrays[0]->size())};
    for (auto* array : arrays) b.arrays.push_back({array->data(), memory});
    return b;
}

std::int64_t run(Runner& runner) {
    ScalarResult result;
    runner.run({&result, 1}, {});
    return static_cast<std::int64_t>(result.bits);
}

class RunnerCuda : public ::testing::Test {
protected:
    ~RunnerCuda() override {
        release_retired();
        EXPECT_TRUE(fake.memory.empty()) << fake.memory.size() << " allocations leaked";
        EXPECT_EQ(fake.objects, 0);
    }
    testing::FakeDevice device;
};

TEST_F(RunnerCuda, a_scalar_is_read_from_its_tagged_words_without_waiting_on_events) {
    auto runner = cuda::make_runner(make_plan(false));
    auto x = numbers(1000);
    runner->bind(bound({&x}, Memory::device));
    fake.waits = 0;
    for (int i = 0; i < 3; ++i) {
        x[0] = i;
        EXPECT_EQ(run(*runner), total_of(x));
    }
    EXPECT_EQ(fake.waits, 0);
    fake.waits = 0;
    runner.reset();
    EXPECT_EQ(fake.waits, 1) << "the destructor waits for the launch under way";
}

TEST_F(RunnerCuda, equal_bindings_cost_nothing_and_others_an_update_in_place) {
    auto runner = cuda::make_runner(make_plan(true));
    auto x = numbers(100), y = numbers(200, 7), out = numbers(200);
    runner->bind(bound({&x, &out}, Memory::device));
    EXPECT_EQ(run(*runner), total_of(x));
    const long calls = fake.calls;
    runner->bind(bound({&x, &out}, Memory::device));
    EXPECT_EQ(fake.calls, calls);
    runner->bind(bound({&y, &out}, Memory::device));
    EXPECT_EQ(fake.updates, 2);
    EXPECT_EQ(run(*runner), total_of(y));
    EXPECT_EQ(out[199], y[199] + total_of(y));
    EXPECT_EQ(fake.instantiations, 1);
}

TEST_F(RunnerCuda, launching_allocates_nothing) {
    auto runner = cuda::make_runner(make_plan(true));
    auto x = numbers(100), out = numbers(100);
    runner->bind(bound({&x, &out}, Memory::host));
    const int allocations = fake.allocations, objects = fake.objects;
    for (int i = 0; i < 10; ++i) run(*runner);
    EXPECT_EQ(fake.allocations, allocations);
    EXPECT_EQ(fake.objects, objects);
}

TEST_F(RunnerCuda, host_arrays_go_through_chunks_both_ways) {
    auto runner = cuda::make_runner(make_plan(true));
    for (const std::size_t n : {std::size_t{1}, std::size_t{1} << 20, (std::size_t{5} << 20) + 3, std::size_t{10}}) {
        auto x = numbers(n, -5), out = numbers(n, 0), expected = x;
        const auto total = static_cast<std::int32_t>(total_of(x)); // wraps, as the kernel's does
        for (auto& e : expected)
            e = static_cast<std::int32_t>(static_cast<std::uint32_t>(e) + static_cast<std::uint32_t>(total));
        runner->bind(bound({&x, &out}, Memory::host));
        EXPECT_EQ(run(*runner), total_of(x));
        EXPECT_EQ(out, expected) << n;
    }
}

TEST_F(RunnerCuda, no_elements_is_a_launch_like_any_other) {
    auto runner = cuda::make_runner(make_plan(true));
    std::vector<std::int32_t> x, out;
    for (const Memory memory : {Memory::host, Memory::device}) {
        runner->bind(bound({&x, &out}, memory));
        EXPECT_EQ(run(*runner), 0);
    }
}

TEST_F(RunnerCuda, a_kernel_that_ends_without_its_words_is_an_error_and_no_hang) {
    auto runner = cuda::make_runner(make_plan(false));
    auto x = numbers(10);
    runner->bind(bound({&x}, Memory::device));
    fake.never_finish_words = true;
    EXPECT_THROW(run(*runner), InternalError);
}

TEST_F(RunnerCuda, a_lost_device_poisons_its_build_and_says_why) {
    const auto plan = make_plan(false);
    auto runner = cuda::make_runner(plan), other = cuda::make_runner(plan),
         unrelated = cuda::make_runner(make_plan(false));
    auto x = numbers(10);
    for (auto* r : {runner.get(), other.get(), unrelated.get()}) r->bind(bound({&x}, Memory::device));
    fake.sticky = driver::illegal_address;
    EXPECT_THROW(run(*runner), DeviceError);
    fake.sticky = 0; // so that what fails now fails by what was remembered
    EXPECT_THAT([&] { run(*other); }, ::testing::ThrowsMessage<DeviceError>(HasSubstr("lost to an earlier error")));
    EXPECT_EQ(run(*unrelated), total_of(x));
}

TEST_F(RunnerCuda, a_captured_run_works_on_memory_that_the_graph_owns) {
    auto x = numbers(50), out = numbers(50);
    ScalarResult result;
    {
        auto runner = cuda::make_runner(make_plan(true));
        runner->bind(bound({&x, &out}, Memory::device));
        fake.capturing = true;
        EXPECT_THROW(runner->run({&result, 1}, StreamView(nullptr)), InvalidGraph);
        runner->enqueue(StreamView(nullptr));
        fake.capturing = false;
        EXPECT_THROW(runner->wait({&result, 1}), DeviceError) << "it has not run";
        ASSERT_EQ(fake.captured.size(), 2u);
        x[0] = 1000;
        for (const auto& node : fake.captured) node.run();
        runner->wait({&result, 1});
        EXPECT_EQ(static_cast<std::int64_t>(result.bits), total_of(x));
        EXPECT_EQ(run(*runner), total_of(x));
    }
    ASSERT_EQ(fake.user_objects.size(), 1u);
    EXPECT_FALSE(fake.memory.empty());
    for (const auto& node : fake.captured) node.run(); // into memory that lives
    EXPECT_EQ(out[49], x[49] + total_of(x));
    testing::fake_let_go(0);
    EXPECT_FALSE(fake.memory.empty()) << "CUDA lets go where nothing may be freed";
    release_retired();
    EXPECT_TRUE(fake.memory.empty());
}

TEST_F(RunnerCuda, host_arrays_are_not_captured) {
    auto runner = cuda::make_runner(make_plan(false));
    auto x = numbers(10);
    runner->bind(bound({&x}, Memory::host));
    fake.capturing = true;
    EXPECT_THROW(runner->enqueue(StreamView(nullptr)), InvalidGraph);
    EXPECT_TRUE(fake.captured.empty());
    fake.capturing = false;
    EXPECT_EQ(run(*runner), total_of(x));
}

// Whatever call fails, with whatever code: a typed error, nothing leaked, and the runner, where there is one, right afterwards.
TEST_F(RunnerCuda, any_one_failing_call_is_an_error_and_leaves_a_usable_runner) {
    for (const Memory memory : {Memory::device, Memory::host})
        for (long n = 0;; ++n) {
            auto x = numbers(100), y = numbers(5000, 3), out = numbers(5000, 0);
            fake.calls = 0;
            fake.fail_at = n;
            bool failed = false;
            std::unique_ptr<Runner> runner;
            const auto attempt = [&](auto&& step) {
                try {
                    step();
                } catch (const DeviceError& error) {
                    failed = true;
                    EXPECT_EQ(error.code(), fake.fail_with);
                    step(); // again: only one call fails
                }
            };
            attempt([&] { runner = cuda::make_runner(make_plan(true)); });
            attempt([&] { runner->bind(bound({&x, &out}, memory)); });
            attempt([&] { EXPECT_EQ(run(*runner), total_of(x)) << "call " << n; });
            attempt([&] { runner->bind(bound({&y, &out}, memory)); });
            attempt([&] { EXPECT_EQ(run(*runner), total_of(y)) << "call " << n; });
            EXPECT_EQ(out[4999], y[4999] + total_of(y)) << "call " << n;
            fake.fail_at = -1;
            runner.reset();
            ASSERT_TRUE(fake.memory.empty()) << "call " << n;
            ASSERT_EQ(fake.objects, 0) << "call " << n;
            if (!failed) {
                EXPECT_GT(n, 20);
                break;
            }
        }
}

TEST_F(RunnerCuda, a_failed_bind_leaves_the_old_bindings) {
    for (long n = 0;; ++n) {
        auto x = numbers(100), y = numbers(5000, 3), out = numbers(5000, 0);
        auto runner = cuda::make_runner(make_plan(true));
        runner->bind(bound({&x, &out}, Memory::host));
        fake.calls = 0;
        fake.fail_at = n;
        try {
            runner->bind(bound({&y, &out}, Memory::host));
            EXPECT_GT(n, 3);
            fake.fail_at = -1;
            break;
        } catch (const DeviceError&) {
            fake.fail_at = -1;
            EXPECT_EQ(run(*runner), total_of(x)) << "call " << n;
        }
    }
}

TEST_F(RunnerCuda, a_capture_that_fails_anywhere_leaks_nothing_and_leaves_the_runner) {
    for (long n = 0;; ++n) {
        auto x = numbers(100), out = numbers(100);
        auto runner = cuda::make_runner(make_plan(true));
        runner->bind(bound({&x, &out}, Memory::device));
        fake.user_objects.clear();
        fake.captured.clear();
        fake.capturing = true;
        fake.calls = 0;
        fake.fail_at = n;
        bool failed = false;
        try {
            runner->enqueue(StreamView(nullptr));
        } catch (const DeviceError&) {
            failed = true;
        }
        fake.capturing = false;
        fake.fail_at = -1;
        EXPECT_EQ(run(*runner), total_of(x)) << "call " << n;
        runner.reset();
        for (std::size_t i = 0; i < fake.user_objects.size(); ++i) testing::fake_let_go(i);
        release_retired();
        ASSERT_TRUE(fake.memory.empty()) << "call " << n;
        ASSERT_EQ(fake.objects, 0) << "call " << n;
        if (!failed) {
            EXPECT_GT(n, 8);
            break;
        }
    }
}

TEST(HostWords, tags_run_from_1_and_skip_0_when_they_start_over) {
    EXPECT_EQ(cuda::tag_of(1), 1u);
    EXPECT_EQ(cuda::tag_of(0xffffffffu), 0xffffffffu);
    EXPECT_EQ(cuda::tag_of(0x100000000u), 1u);
}

} // namespace
} // namespace gf
