// For tests that control the emulated device. They are started with it in LD_LIBRARY_PATH (gridfold_emulated_test()).
#pragma once

#include <cstring>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "driver/driver.hpp"
#include "emulator/device/control.hpp"

namespace gf::emulator {

/// The device's Control; null if another driver is loaded, or none.
inline Control* emulated_device() {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void* symbol = driver == nullptr ? nullptr : dlsym(driver, control_symbol);
    if (symbol == nullptr) return nullptr;
    ControlFunction control = nullptr;
    std::memcpy(&control, &symbol, sizeof control); // POSIX's conversion of an object to a function pointer
    return control();
}

/// Resets the device before each test, and checks after it that nothing is left on it.
class OnEmulatedDevice : public testing::Test {
protected:
    void SetUp() override {
        if (device == nullptr) GTEST_SKIP() << "the driver here is not the emulated device's";
        device->reset();
        driver::install(nullptr); // so that it is probed anew
        memory_before = device->memory;
        objects_before = device->objects;
    }
    void TearDown() override {
        if (device == nullptr) return;
        EXPECT_EQ(leaked_memory(), 0) << "allocations";
        EXPECT_EQ(leaked_objects(), 0) << "objects";
    }
    long leaked_memory() const { return device->memory - memory_before; }
    long leaked_objects() const { return device->objects - objects_before; }

    Control* device = emulated_device();
    long memory_before = 0, objects_before = 0;
};

} // namespace gf::emulator
