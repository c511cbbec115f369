// A driver table of plain functions for tests without a device: it can be probed, and has one device and one context.
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include "driver/driver.hpp"

namespace gf::testing {

/// The fake driver's answers, which tests change. Reset by FakeDriver.
struct FakeAnswers {
    int init = 0;
    int version = 13000;
    int devices = 1;
    int alloc = 0;
    CUctx_st* current = nullptr; ///< the thread's context
    int pushes = 0, frees = 0;
    int free = 0;         ///< the result of freeing
    int capture_mode = 0; ///< the thread's; 0 is CUDA's strictest, under which nothing may be freed
};
inline FakeAnswers answers;

inline CUctx_st* const fake_context = reinterpret_cast<CUctx_st*>(0x1000);

inline driver::Table fake_table() {
    driver::Table t;
    t.init.function = [](unsigned) { return answers.init; };
    t.driver_get_version.function = [](int* version) { return *version = answers.version, 0; };
    t.get_error_name.function = [](int code, const char** name) {
        return *name = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OTHER", 0;
    };
    t.get_error_string.function = [](int, const char** text) { return *text = "words", 0; };
    t.device_get_count.function = [](int* count) { return *count = answers.devices, 0; };
    t.device_get.function = [](int* device, int ordinal) { return *device = ordinal, 0; };
    t.device_get_name.function = [](char* name, int bytes, int) {
        std::strncpy(name, "Fake", static_cast<std::size_t>(bytes));
        return 0;
    };
    t.device_total_mem.function = [](std::size_t* bytes, int) { return *bytes = 1 << 20, 0; };
    t.device_get_attribute.function = [](int* value, int attribute, int) {
        return *value = attribute == driver::multiprocessor_count ? 4
                        : attribute == driver::capability_major   ? 9
                                                                  : 0,
               0;
    };
    t.primary_retain.function = [](CUctx_st** context, int) { return *context = fake_context, 0; };
    t.ctx_get_current.function = [](CUctx_st** context) { return *context = answers.current, 0; };
    t.ctx_push_current.function = [](CUctx_st* context) { return ++answers.pushes, answers.current = context, 0; };
    t.ctx_pop_current.function = [](CUctx_st** context) {
        return *context = answers.current, answers.current = nullptr, 0;
    };
    t.thread_exchange_capture_mode.function = [](int* mode) { return std::swap(*mode, answers.capture_mode), 0; };
    constexpr int capture_unsafe = 900; // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    t.mem_alloc.function = [](driver::Address* address, std::size_t) {
        return *address = 0x2000, answers.capture_mode == 0 ? capture_unsafe : answers.alloc;
    };
    t.mem_free.function = [](driver::Address) {
        return ++answers.frees, answers.capture_mode == 0 ? capture_unsafe : answers.free;
    };
    return t;
}

/// Puts the fake driver in use while it lives.
struct FakeDriver {
    explicit FakeDriver(const FakeAnswers& given = {}) {
        answers = given;
        const driver::Table table = fake_table();
        driver::install(&table);
    }
    FakeDriver(const FakeDriver&) = delete;
    FakeDriver& operator=(const FakeDriver&) = delete;
    ~FakeDriver() { driver::install(nullptr); }
};

} // namespace gf::testing
