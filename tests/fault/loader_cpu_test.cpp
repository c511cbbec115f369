// The number of dlopen calls for a CUDA driver that the process has not loaded. This binary has its own dlopen, which
// counts.
#include <atomic>
#include <cstring>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

namespace {
std::atomic<int> opened{0};
}

extern "C" void* dlopen(const char* file, int mode) {
    ++opened;
    void* const symbol = dlsym(RTLD_NEXT, "dlopen");
    void* (*next)(const char*, int) = nullptr;
    std::memcpy(&next, &symbol, sizeof next); // POSIX's conversion of an object to a function pointer
    return next(file, mode);
}

namespace gf {
namespace {

bool is_loaded(const char* library) {
    void* const handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    if (handle != nullptr) dlclose(handle);
    return handle != nullptr;
}

TEST(Loader, is_asked_for_a_driver_once_and_again_only_when_something_was_loaded) {
    if (is_loaded("libcuda.so.1")) GTEST_SKIP() << "the process has a driver loaded";
    const Executable exe = compile(parse("f(x: f32[n], y: f32[n]) -> s = sum(x * y)"), {.device = "cpu"});
    const std::vector<float> x{1, 2, 3}, y{4, 5, 6};
    const Bindings bindings{{"x", x}, {"y", y}};
    const std::vector<Bindings> problems(5, bindings);
    EXPECT_EQ(exe.run(bindings).get<float>("s"), 32);
    exe.run_many(problems); // OpenMP runtimes may load a library when their first threads start
    exe.run(bindings);
    const int before = opened;
    for (int i = 0; i < 3; ++i) exe.run(bindings);
    exe.run_many(problems);
    Prepared prepared = exe.prepare(bindings);
    prepared.rebind("x", y);
    EXPECT_EQ(opened, before);

    const char* const another = "libanl.so.1"; // a glibc library that this process does not use
    void* const library = is_loaded(another) ? nullptr : dlopen(another, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) GTEST_SKIP() << "no further library to load";
    const int loaded = opened;
    exe.run(bindings);
    EXPECT_EQ(opened, loaded + 1) << "it could have been the driver";
    exe.run(bindings);
    EXPECT_EQ(opened, loaded + 1);
    dlclose(library);
}

} // namespace
} // namespace gf
