// Generated kernels compiled by the host's compiler and loaded into this process.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "emulator.hpp"

namespace gf::emulator {

/// The compiler that the tests were built with, if it is still there, else c++ on the PATH, else "".
std::string host_compiler();

/// One shared object of many kernels. Compiling costs tens of milliseconds a kernel.
class HostModule {
public:
    /// Compiles the texts, each with its entry point gridfold_sweep, in one translation unit; `flags` are added to the
    /// compiler's (sanitizers, say). Throws std::runtime_error with what the compiler said.
    explicit HostModule(std::span<const std::string> sources, const std::string& flags = {});
    HostModule(const HostModule&) = delete;
    HostModule& operator=(const HostModule&) = delete;
    ~HostModule();

    Entry entry(std::size_t kernel) const { return entries_[kernel]; }

private:
    void* library_ = nullptr;
    std::vector<Entry> entries_;
};

} // namespace gf::emulator
