// Tests of whole programs on an emulated device that fails when it is told to.
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
    /// The device as new, to be looked for anew; call number `n` will fail.
    void restart(long n, int code, bool for_good = false) {
        device->reset();
        driver::install(nullptr);
        device->fail_at = n;
        device->fail_with = code;
        device->fails_for_good = for_good;
    }
    /// What was released is gone, and no kernel did what it must not. `n`: the call that failed.
    void expect_nothing_left(long n) {
        ASSERT_EQ(leaked_memory(), 0) << "call " << n;
        ASSERT_EQ(leaked_objects(), 0) << "call " << n;
        ASSERT_STREQ(device->finding, "") << "call " << n;
    }
};

/// The outcome of a step in which one call was to fail.
struct Failing {
    bool failed;
    long calls; ///< of the device, by the step
};
/// Does a step whose call number `n` of the device fails; those after it do not.
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

/// Does a step until it works: one call fails, so at the second try it must. What was caught, or nothing.
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
