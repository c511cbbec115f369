// The fixture of tests on a CUDA device, a real one or the emulated one (tests/emulator/device).
#pragma once

#include <string>

#include <gtest/gtest.h>

#include <gridfold/core/device.hpp>

#include "emulator/device/emulated.hpp"

namespace gf::test {

/// Skips its tests where there is no device, and says why.
class OnCuda : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string reason = cuda_unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
        if (auto* const emulated = emulator::emulated_device()) emulated->reset(); // an earlier test may have lost it
    }
};

} // namespace gf::test
