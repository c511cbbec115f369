// The fixture of tests that run on each device.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <gridfold/core/device.hpp>
#include <gridfold/gridfold.hpp>

#include "device/device_under_test.hpp"

namespace gf::test {

/// Skips its tests where the device is a GPU and there is none.
class OnDevice : public testing::Test {
protected:
    void SetUp() override {
        if (std::string_view(device) == "cpu") return;
        if (const std::string reason = cuda_unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    }
    static Executable compile(const std::string& text, bool fuse = true) {
        return gf::compile(parse(text), {.device = device, .fuse = fuse, .threads = 2});
    }
    static constexpr const char* const& device = device_under_test;
};

} // namespace gf::test
