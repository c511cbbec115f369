// The processor's floating-point mode, on which results depend.
#pragma once

#include <cstdint>

namespace gf::cpu {

/// While it lives, this thread rounds to nearest and keeps denormals (programs built with -ffast-math flush them). Then
/// restores the caller's mode.
class FloatingMode {
public:
#if defined(__x86_64__)
    FloatingMode() : saved_(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(0x1f80); }
    ~FloatingMode() { __builtin_ia32_ldmxcsr(saved_); }

private:
    unsigned saved_;
#elif defined(__aarch64__)
    FloatingMode() {
        asm volatile("mrs %0, fpcr" : "=r"(saved_));
        asm volatile("msr fpcr, %0" : : "r"(std::uint64_t{0}));
    }
    ~FloatingMode() { asm volatile("msr fpcr, %0" : : "r"(saved_)); }

private:
    std::uint64_t saved_ = 0;
#else
    FloatingMode() {}
    ~FloatingMode() {}

private:
#endif
    FloatingMode(const FloatingMode&) = delete;
    FloatingMode& operator=(const FloatingMode&) = delete;
};

} // namespace gf::cpu
