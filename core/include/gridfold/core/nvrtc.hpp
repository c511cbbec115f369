// NVIDIA's run-time compiler, loaded when the first kernel must be compiled: libnvrtc.so.13, then .12, then the
// toolkit's folder ($CUDA_HOME, $CUDA_PATH, /usr/local/cuda); none newer than the driver. The environment variable
// GRIDFOLD_NVRTC names another library, or "none".
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace gf::nvrtc {

/// A compiler: its version, and the file it was loaded from as that file is now.
struct Identity {
    int major = 0;
    int minor = 0;
    std::string path;
    std::uint64_t file_bytes = 0;
    std::int64_t file_time = 0; ///< of its last change, in nanoseconds
    friend bool operator==(const Identity&, const Identity&) = default;
};

/// The compiler. Loads it (about 5 ms). Throws DeviceError where there is none.
const Identity& identity();
/// Why there is no compiler, or "" where there is one. Loads it.
std::string unavailable_reason();
/// Would the compiler that gave `made_by` compile the same now? Loads none if that one is still there, unchanged; if no
/// compiler can be loaded, yes.
bool is_current(const Identity& made_by);

/// What a device of this compute capability runs: "sm_90", or "compute_90" (PTX) where this compiler does not know the
/// device's family yet. Loads the compiler.
std::string target_for(int capability_major, int capability_minor);

struct Compiled {
    std::string image; ///< a cubin for "sm_…", PTX for "compute_…"
    std::string log;   ///< warnings
};

/// Compiles header-free text. Throws CompileError, its log quoting the lines that the compiler names; DeviceError where
/// there is no compiler. Thread-safe, and parallel.
Compiled compile(const std::string& text, const std::string& target, std::span<const std::string> options);

} // namespace gf::nvrtc
