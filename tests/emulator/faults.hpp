// Accesses to unmapped memory by a thread of a grid: its fibre continues in a function that reports the access, instead
// of the process ending.
#pragma once

namespace gf::emulator {

/// While it lives, a SIGSEGV or SIGBUS of the host thread that created it makes the faulting code continue in
/// `report(address)` on another stack, if `is_ours()`. `report` must not return. Other signals end the process. One at
/// a time in a process.
class FaultHandler {
public:
    FaultHandler(bool (*is_ours)(), void (*report)(const void* address));
    FaultHandler(const FaultHandler&) = delete;
    FaultHandler& operator=(const FaultHandler&) = delete;
    ~FaultHandler();
};

} // namespace gf::emulator
