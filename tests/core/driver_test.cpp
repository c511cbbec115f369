// The driver table without a device: why CUDA cannot be used, how calls are checked, how contexts are restored.
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/device.hpp>

#include "core/fake_driver.hpp"
#include "driver/driver.hpp"

namespace gf {
namespace {

using testing::answers;
using testing::FakeAnswers;
using testing::FakeDriver;
using ::testing::HasSubstr;

TEST(Driver, a_missing_library_is_a_reason_that_names_it) {
    const driver::Probe probe = driver::probe_library("libcuda_that_is_not_there.so.1");
    EXPECT_FALSE(probe.usable);
    EXPECT_THAT(probe.reason, HasSubstr("libcuda_that_is_not_there.so.1"));
    EXPECT_TRUE(probe.devices.empty());
}

TEST(Driver, a_library_without_the_entry_points_is_too_old) {
    EXPECT_THAT(driver::probe_library("libc.so.6").reason, HasSubstr("has no cuInit"));
}

TEST(Driver, the_toolkits_stub_is_a_reason_and_no_crash) {
    const char* stub = "/usr/local/cuda/lib64/stubs/libcuda.so";
    if (!std::filesystem::exists(stub)) GTEST_SKIP() << "no stub driver at " << stub;
    const driver::Probe probe = driver::probe_library(stub);
    EXPECT_FALSE(probe.usable);
    EXPECT_THAT(probe.reason, HasSubstr("cuInit"));
    EXPECT_THAT(probe.reason, HasSubstr("code 34"));
}

TEST(Driver, a_driver_that_is_too_old_says_both_versions) {
    const FakeDriver fake({.version = 11080});
    EXPECT_THAT(cuda_unavailable_reason(), HasSubstr("supports CUDA 11.8, and 12.0 is needed"));
    EXPECT_TRUE(devices().empty());
    EXPECT_THROW(driver::table(), DeviceError);
}

TEST(Driver, hidden_devices_are_a_reason_that_names_the_variable) {
    {
        const FakeDriver fake({.init = driver::no_device});
        EXPECT_THAT(cuda_unavailable_reason(), HasSubstr("CUDA_VISIBLE_DEVICES"));
    }
    const FakeDriver fake({.devices = 0});
    EXPECT_THAT(cuda_unavailable_reason(), HasSubstr("CUDA_VISIBLE_DEVICES"));
}

TEST(Driver, a_usable_driver_lists_its_devices_from_any_thread) {
    const FakeDriver fake({.devices = 2});
    EXPECT_EQ(cuda_unavailable_reason(), "");
    std::vector<std::vector<Device>> seen(8);
    {
        std::vector<std::thread> threads;
        for (auto& list : seen) threads.emplace_back([&list] { list = devices(); });
        for (std::thread& thread : threads) thread.join();
    }
    for (const auto& list : seen) {
        ASSERT_EQ(list.size(), 2u);
        EXPECT_EQ(list[1].ordinal, 1);
        EXPECT_EQ(list[1].name, "Fake");
        EXPECT_EQ(list[1].capability_major, 9);
        EXPECT_EQ(list[1].multiprocessors, 4);
    }
}

TEST(Driver, a_failed_call_carries_call_words_and_code) {
    const FakeDriver fake({.alloc = 2});
    try {
        const DeviceBuffer buffer(0, 16);
        FAIL() << "it must throw";
    } catch (const DeviceError& error) {
        EXPECT_EQ(error.call(), "cuMemAlloc_v2");
        EXPECT_EQ(error.code(), 2);
        EXPECT_THAT(error.what(), HasSubstr("words (CUDA_ERROR_OUT_OF_MEMORY, code 2)"));
        EXPECT_THAT(error.what(), HasSubstr("buffer.cpp:"));
        EXPECT_FALSE(is_device_lost(error));
    }
    EXPECT_EQ(answers.frees, 0) << "what was not allocated is not freed";
    EXPECT_TRUE(is_device_lost(DeviceError("", "", driver::illegal_address)));
}

TEST(Driver, a_device_that_is_not_there_is_named) {
    const FakeDriver fake;
    EXPECT_THAT([] { CurrentDevice current(1); },
                ::testing::ThrowsMessage<DeviceError>(HasSubstr("there is no CUDA device 1")));
}

TEST(Driver, the_callers_context_comes_back) {
    const FakeDriver fake;
    {
        const CurrentDevice current(0);
        EXPECT_EQ(answers.current, testing::fake_context);
        const CurrentDevice again(0);
        EXPECT_EQ(answers.pushes, 1) << "a context that is current is not pushed again";
    }
    EXPECT_EQ(answers.current, nullptr);
}

TEST(Driver, a_destructor_whose_call_fails_reports_once_and_does_not_throw) {
    const FakeDriver fake({.free = driver::launch_failed});
    ::testing::internal::CaptureStderr();
    { const DeviceBuffer buffer(0, 16); }
    { const DeviceBuffer buffer(0, 16); }
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(answers.frees, 2);
    EXPECT_THAT(said, HasSubstr("cuMemFree_v2"));
    EXPECT_EQ(said.find("cuMemFree_v2"), said.rfind("cuMemFree_v2"));
}

TEST(Driver, a_moved_buffer_is_freed_once) {
    const FakeDriver fake;
    {
        DeviceBuffer a(0, 16);
        DeviceBuffer b = std::move(a);
        a = std::move(b);
        EXPECT_EQ(a.bytes(), 16u);
        EXPECT_EQ(b.address(), nullptr); // NOLINT(bugprone-use-after-move): that it is empty is the point
    }
    EXPECT_EQ(answers.frees, 1);
}

TEST(Driver, buffers_come_and_go_while_somebody_captures) {
    const FakeDriver fake;
    { const DeviceBuffer buffer(0, 16); } // freeing would be reported on stderr, allocating throw
    EXPECT_EQ(answers.frees, 1);
    EXPECT_EQ(answers.capture_mode, 0) << "the thread's mode is as it was";
}

TEST(Driver, a_buffer_of_no_bytes_asks_for_nothing) {
    const FakeDriver fake({.alloc = 2});
    const DeviceBuffer buffer(0, 0);
    EXPECT_EQ(buffer.address(), nullptr);
}

TEST(Driver, a_forked_child_gets_a_reason_and_an_error) {
    const FakeDriver fake;
    ASSERT_EQ(cuda_unavailable_reason(), "");
    const pid_t child = fork();
    if (child == 0) {
        int wrong = 0;
        if (cuda_unavailable_reason().find("fork") == std::string::npos) wrong |= 1;
        if (!devices().empty()) wrong |= 2;
        try {
            CurrentDevice current(0);
            wrong |= 4;
        } catch (const DeviceError&) {}
        if (driver::table_or_null() != nullptr) wrong |= 8;
        _exit(wrong);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(cuda_unavailable_reason(), "") << "the parent is not touched";
}

TEST(Driver, a_host_buffer_is_aligned_and_moves) {
    HostBuffer a(100);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.address()) % HostBuffer::alignment, 0u);
    void* const address = a.address();
    const HostBuffer b = std::move(a);
    EXPECT_EQ(b.address(), address);
    EXPECT_EQ(HostBuffer(0).address(), nullptr);
}

TEST(Driver, a_host_pointer_is_host_memory_without_a_driver) {
    int x = 0;
    EXPECT_EQ(pointer_info(&x).memory, Memory::host);
    EXPECT_FALSE(pointer_info(&x).pinned);
}

} // namespace
} // namespace gf
