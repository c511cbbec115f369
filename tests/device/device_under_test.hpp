// The device that a binary's tests run on, for tests that run on each: gridfold_tests_of_each_device() links cpu.cpp or
// cuda.cpp.
#pragma once

namespace gf::test {

extern const char* const device_under_test; // "cpu" or "cuda", as Options::device

} // namespace gf::test
