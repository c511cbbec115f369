// Fibre switches; see fibre.hpp.
#include "fibre.hpp"

#include <cstdint>
#include <cstring>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1 // NOLINT(bugprone-reserved-identifier): gcc's name for it
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__)
// Saves the callee-saved registers on the running stack, and restores those of the other stack.
extern "C" void gridfold_switch_stacks(void** from, void* to);
asm(R"(
.text
.type gridfold_switch_stacks, @function
gridfold_switch_stacks:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size gridfold_switch_stacks, .-gridfold_switch_stacks
)");
#endif

namespace gf::emulator {

void forget_stack([[maybe_unused]] std::byte* stack, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(stack, bytes);
#endif
}

Fibre::Fibre(std::byte* stack, std::size_t bytes, void (*start)()) : bottom_(stack), bytes_(bytes) {
    forget_stack(stack, bytes); // marks of an earlier fibre
#if defined(__x86_64__)
    // Six registers, then the address for `ret`: at a function's entry the stack is 8 past a multiple of 16.
    auto** top = reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(stack + bytes) / 16 * 16);
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(start);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    stack_pointer_ = top;
#else
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack;
    context_.uc_stack.ss_size = bytes;
    makecontext(&context_, start, 0);
#endif
}

void Fibre::switch_to(Fibre& from, Fibre& to, [[maybe_unused]] bool last) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(last ? nullptr : &from.shadow_, to.bottom_, to.bytes_);
#endif
#if defined(__x86_64__)
    gridfold_switch_stacks(&from.stack_pointer_, to.stack_pointer_);
#else
    swapcontext(&from.context_, &to.context_);
#endif
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(from.shadow_, nullptr, nullptr);
#endif
}

void Fibre::entered([[maybe_unused]] Fibre& from) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &from.bottom_, &from.bytes_);
#endif
}

} // namespace gf::emulator
