// The fixture of tests that are built once for each backend: GRIDFOLD_TEST_DEVICE is "cpu" or "cuda".
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <gridfold/core/device.hpp>
#include <gridfold/gridfold.hpp>

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
    static constexpr const char* device = GRIDFOLD_TEST_DEVICE;
};

} // namespace gf::test
