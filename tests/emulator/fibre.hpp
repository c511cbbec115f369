// Fibres: call stacks that switch to one another on one host thread. On x86-64 a switch is a dozen instructions (System
// V calling convention); on other processors it is ucontext's.
#pragma once

#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace gf::emulator {

/// Clears AddressSanitizer's marks of memory that was a stack.
void forget_stack(std::byte* stack, std::size_t bytes);

/// A suspended call stack. Switching to it resumes it.
class Fibre {
public:
    /// The stack of the running thread.
    Fibre() = default;
    /// A stack that will call `start`, which must never return. The caller owns the memory.
    Fibre(std::byte* stack, std::size_t bytes, void (*start)());

    /// Suspends `from`, which is running, and resumes `to`. `last`: `from` is never resumed.
    static void switch_to(Fibre& from, Fibre& to, bool last = false);
    /// `start` must call it first: it completes the switch that entered the fibre.
    static void entered(Fibre& from);

private:
#if defined(__x86_64__)
    void* stack_pointer_ = nullptr;
#else
    ucontext_t context_{};
#endif
    // For AddressSanitizer, which tracks stacks.
    [[maybe_unused]] const void* bottom_ = nullptr;
    [[maybe_unused]] std::size_t bytes_ = 0;
    [[maybe_unused]] void* shadow_ = nullptr;
};

} // namespace gf::emulator
