// Generated kernels compiled by the host's compiler and loaded into this process.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "emulator.hpp"

namespace gf::emulator {

/// The compiler that the tests were built with, if it exists, else c++ on the PATH, else "".
std::string host_compiler();

/// Everything besides the kernel text that determines an image: the compiler, its command, and the headers it reads.
std::string compiler_identity();

/// The result of compiling kernel texts: the bytes of a shared object, or the compiler's errors.
struct HostImage {
    std::string bytes; ///< "" if they do not compile
    std::string log;   ///< names lines of text number i "kernel_i:line"
};

/// Compiles the texts, each with its entry point gridfold_sweep, in one translation unit; `flags` are added to the
/// compiler's (sanitizers, say). Takes a third of a second, and tens of milliseconds a kernel.
HostImage compile_on_host(std::span<const std::string> sources, const std::string& flags = {});

/// A shared object of kernels, loaded.
class HostModule {
public:
    /// `image` is HostImage::bytes. Throws std::runtime_error for anything else.
    explicit HostModule(const std::string& image);
    /// Compiles and loads. Throws std::runtime_error with the compiler's errors.
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
