// Generated kernels compiled by the host's compiler and loaded into this process.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "emulator.hpp"

namespace gf::emulator {

/// The compiler that the tests were built with, if it is still there, else c++ on the PATH, else "".
std::string host_compiler();

/// All that decides what becomes of a kernel text: the compiler, how it is called, and what it is given besides the
/// text.
std::string compiler_identity();

/// What a compiler made of kernel texts: the bytes of a shared object, or why there is none.
struct HostImage {
    std::string bytes; ///< "" if they do not compile
    std::string log;   ///< lines of text number i are named "kernel_i:line"
};

/// Compiles the texts, each with its entry point gridfold_sweep, in one translation unit; `flags` are added to the
/// compiler's (sanitizers, say). Costs a third of a second, and tens of milliseconds a kernel.
HostImage compile_on_host(std::span<const std::string> sources, const std::string& flags = {});

/// A shared object of kernels, loaded.
class HostModule {
public:
    /// Throws std::runtime_error for what compile_on_host() did not make.
    explicit HostModule(const std::string& image);
    /// Compiles and loads. Throws std::runtime_error with what the compiler said.
    explicit HostModule(std::span<const std::string> sources, const std::string& flags = {});
    HostModule(const HostModule&) = delete;
    HostModule& operator=(const HostModule&) = delete;
    ~HostModule();

    Entry entry(std::size_t kernel) const { return kernels_[kernel].entry; }
    std::span<const Parameter> parameters(std::size_t kernel) const { return kernels_[kernel].parameters; }

private:
    void* library_ = nullptr;
    std::span<const Kernel> kernels_; // in the library
};

} // namespace gf::emulator
