#include "faults.hpp"

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include <pthread.h>
#include <ucontext.h>

#include "fibre.hpp"

namespace gf::emulator {

namespace {

bool (*is_ours)() = nullptr;
void (*report)(const void* address) = nullptr;
const void* faulted_at = nullptr;
struct sigaction before_segv, before_bus;
stack_t stack_before;
pthread_t watched;
// The fault may be in the fibre's stack, so signals have their own.
alignas(16) std::array<std::byte, 64 * 1024> signal_stack, report_stack;

void go_on() { report(faulted_at); }

/// Makes the interrupted code continue in go_on(), like a call.
void redirect(void* context) {
    auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
    const auto top = reinterpret_cast<std::uintptr_t>(report_stack.data() + report_stack.size());
#if defined(__x86_64__)
    machine.gregs[REG_RSP] = static_cast<greg_t>(top - 8); // the alignment at a function's entry
    machine.gregs[REG_RIP] = static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(&go_on));
#elif defined(__aarch64__)
    machine.sp = top;
    machine.pc = reinterpret_cast<std::uintptr_t>(&go_on);
#else
#error "what the program counter is called here has to be added"
#endif
}

void handle(int signal, siginfo_t* info, void* context) {
    if (is_ours == nullptr || pthread_equal(pthread_self(), watched) == 0 || !is_ours()) {
        sigaction(signal, signal == SIGSEGV ? &before_segv : &before_bus, nullptr); // the access faults again
        return;
    }
    faulted_at = info->si_addr;
    forget_stack(report_stack.data(), report_stack.size()); // the last report's
    redirect(context);
}

} // namespace

FaultHandler::FaultHandler(bool (*ours)(), void (*reporting)(const void* address)) {
    is_ours = ours;
    report = reporting;
    const stack_t stack{signal_stack.data(), 0, signal_stack.size()};
    sigaltstack(&stack, &stack_before);
    watched = pthread_self();
    struct sigaction action {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &before_segv);
    sigaction(SIGBUS, &action, &before_bus);
}

FaultHandler::~FaultHandler() {
    sigaction(SIGSEGV, &before_segv, nullptr);
    sigaction(SIGBUS, &before_bus, nullptr);
    sigaltstack(&stack_before, nullptr);
    is_ours = nullptr;
}

} // namespace gf::emulator
