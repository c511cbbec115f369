// NVIDIA's run-time compiler, loaded when the first kernel must be compiled: libnvrtc.so.13, then .12, then the
// toolkit's folder ($CUDA_HOME, $CUDA_PATH, /usr/local/cuda). One that is newer than the driver is skipped. The
// environment variable GRIDFOLD_NVRTC names another library, or "none".
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <gridfold/core/error.hpp>

namespace gf::nvrtc {

/// A compiler: its version, and the path, size and time of the file that it was loaded from.
struct Identity {
    int major = 0;
    int minor = 0;
    std::string path;
    std::uint64_t file_bytes = 0;
    std::int64_t file_time = 0; ///< the time of its last change, in nanoseconds
    friend bool operator==(const Identity&, const Identity&) = default;
};

/// A kernel must be compiled, and there is no compiler.
class Unavailable : public DeviceError {
public:
    using DeviceError::DeviceError;
};

/// The compiler. Loads it (about 5 ms). Throws Unavailable if there is none.
const Identity& identity();
/// Why there is no compiler, or "" if there is one. Loads it.
std::string unavailable_reason();
/// True if the compiler in use would give the same image as `made_by`: it is the same file, unchanged, or has the same
/// version, or no compiler can be loaded. Loads a compiler if the file has changed or GRIDFOLD_NVRTC names one.
bool is_current(const Identity& made_by);

/// The compiler's target for a device of this compute capability: "sm_90", or "compute_90" (PTX) if this compiler is
/// older than the device's family. Loads the compiler.
std::string target_for(int capability_major, int capability_minor);

struct Compiled {
    std::string image; ///< a cubin for "sm_…", PTX for "compute_…"
    std::string log;   ///< warnings
};

/// Compiles text that includes no header. Throws CompileError, whose log quotes the lines that the compiler names;
/// Unavailable if there is no compiler. Thread-safe; calls run in parallel.
Compiled compile(const std::string& text, const std::string& target, std::span<const std::string> options);

} // namespace gf::nvrtc
