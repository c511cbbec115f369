// Tests of whole programs on an emulated device that fails when it is told to.
#pragma once

#include <optional>
#include <string>

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
