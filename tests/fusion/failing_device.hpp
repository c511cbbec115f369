// Tests of whole programs on an emulated device with injected failures.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <gridfold/core/capture.hpp>
#include <gridfold/core/error.hpp>

#include "emulator/device/emulated.hpp"

namespace gf::test {

class FailingDevice : public emulator::OnEmulatedDevice {
protected:
    void TearDown() override {
        release_retired();
        OnEmulatedDevice::TearDown();
    }
    /// Resets the device and the library's probe of it; call number `n` will fail.
    void restart(long n, int code, bool for_good = false) {
        device->reset();
        driver::install(nullptr);
        device->fail_at = n;
        device->fail_with = code;
        device->fails_for_good = for_good;
    }
    /// Checks that nothing has leaked and that the emulator found no error. `n`: the call that failed.
    void expect_nothing_left(long n) {
        ASSERT_EQ(leaked_memory(), 0) << "call " << n;
        ASSERT_EQ(leaked_objects(), 0) << "call " << n;
        ASSERT_STREQ(device->finding, "") << "call " << n;
    }
};

/// The outcome of a step with one failing call.
struct Failing {
    bool failed;
    long calls; ///< calls of the device in the step
};
/// Runs a step in which only call number `n` of the device fails.
template <class Device, class Step> Failing with_failing_call(Device& device, long n, Step&& step) {
    device.calls = 0;
    device.fail_at = n;
    bool failed = false;
    try {
        step();
    } catch (const DeviceError&) {
        failed = true;
    }
    device.fail_at = -1;
    return {failed, std::exchange(device.calls, 0)};
}

/// Runs a step, and again if it throws: only one call fails, so the second try must succeed. Returns the exception's
/// message, or nothing.
template <class Step> std::optional<std::string> attempt(Step&& step) {
    try {
        step();
        return {};
    } catch (const DeviceError& error) {
        step();
        return error.what();
    }
}

} // namespace gf::test
