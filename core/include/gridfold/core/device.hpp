// The CUDA devices of this machine, and being current on one. Works, and says why not, on machines without CUDA.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <gridfold/core/error.hpp>
#include <gridfold/core/view.hpp>

namespace gf {

namespace driver {
struct Table;
}

/// One CUDA device, numbered as the driver numbers them (CUDA_VISIBLE_DEVICES included).
struct Device {
    int ordinal = 0;
    std::string name;
    int capability_major = 0;
    int capability_minor = 0;
    std::size_t memory_bytes = 0;
    int multiprocessors = 0;
};

/// The devices; none where CUDA cannot be used. The first call loads and initialises the driver. Thread-safe.
std::vector<Device> devices();

/// Why CUDA cannot be used (no driver, one too old, no device, a forked child), or "" where it can. Thread-safe.
std::string cuda_unavailable_reason();

/// Where a pointer points. Managed memory counts as device memory, and is marked: the host reaches it too.
struct PointerInfo {
    Memory memory = Memory::host; ///< never Memory::unknown
    bool managed = false;
    bool pinned = false; ///< host memory that CUDA has page-locked: it is copied without staging
    int device = -1;     ///< of device memory
};

/// Asks the driver where pointers point. Uses it only if the process has it loaded already: without a driver every
/// pointer is a host pointer. Never throws for a pointer that the driver does not know: that is host memory.
class PointerQuery {
public:
    /// Looks for the driver: some 0.1 us while the process has none, so that the many pointers of one call share a
    /// query.
    PointerQuery();
    PointerInfo operator()(const void* pointer) const;

private:
    const driver::Table* cu_;
};
/// A query for one pointer.
inline PointerInfo pointer_info(const void* pointer) { return PointerQuery()(pointer); }

/// While it lives, this thread may allocate, free and wait on streams of its own although somebody's stream is being
/// captured: CUDA would else refuse the call, and end the capture.
class CaptureRelaxed {
public:
    CaptureRelaxed();
    CaptureRelaxed(const CaptureRelaxed&) = delete;
    CaptureRelaxed& operator=(const CaptureRelaxed&) = delete;
    ~CaptureRelaxed();

private:
    int mode_;
};

/// Makes a device's primary context current in this thread while it lives, unharmed by captures under way, then
/// restores what was. Costs some thread-local reads where the context is current already.
class CurrentDevice {
public:
    explicit CurrentDevice(int ordinal);
    CurrentDevice(const CurrentDevice&) = delete;
    CurrentDevice& operator=(const CurrentDevice&) = delete;
    ~CurrentDevice();

private:
    CaptureRelaxed relaxed_;
    bool pushed_ = false;
};

/// Did the call fail because the device, or the process's context on it, is lost for good? (An illegal address, say.)
bool is_device_lost(const DeviceError& error) noexcept;

} // namespace gf
