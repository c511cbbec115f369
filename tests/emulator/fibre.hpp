// Fibres: call stacks that hand over to one another on one thread of the host. On x86-64 a switch is a dozen
// instructions (System V calling convention); elsewhere it is ucontext's.
#pragma once

#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace gf::emulator {

/// Ends what AddressSanitizer knows of memory that was a stack.
void forget_stack(std::byte* stack, std::size_t bytes);

/// A suspended call stack. Switching to it resumes it.
class Fibre {
public:
    /// The thread that runs already.
    Fibre() = default;
    /// A stack that will call `start`, which must never return. The memory stays the caller's.
    Fibre(std::byte* stack, std::size_t bytes, void (*start)());

    /// Suspends `from`, which is running, and resumes `to`. `last`: `from` is never resumed.
    static void switch_to(Fibre& from, Fibre& to, bool last = false);
    /// To be called first thing in `start`: the switch that entered it ends here.
    static void entered(Fibre& from);

private:
#if defined(__x86_64__)
    void* stack_pointer_ = nullptr;
#else
    ucontext_t context_{};
#endif
    // For AddressSanitizer, which follows stacks.
    [[maybe_unused]] const void* bottom_ = nullptr;
    [[maybe_unused]] std::size_t bytes_ = 0;
    [[maybe_unused]] void* shadow_ = nullptr;
};

} // namespace gf::emulator
