// Accesses to memory that is not there, by a thread of a grid: the fibre that made one goes on in a function that
// reports it, instead of the process ending.
#pragma once

namespace gf::emulator {

/// While it lives, a SIGSEGV or SIGBUS of the host's thread that made it, for which `is_ours()` holds, makes the code
/// that caused it go on in `report(address)`, on another stack. `report` must not return. Others end the process as
/// ever. One at a time in a process.
class FaultHandler {
public:
    FaultHandler(bool (*is_ours)(), void (*report)(const void* address));
    FaultHandler(const FaultHandler&) = delete;
    FaultHandler& operator=(const FaultHandler&) = delete;
    ~FaultHandler();
};

} // namespace gf::emulator
