// CUDA devices, queries about pointers, and making a device current. On machines without CUDA, queries say why.
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

/// One CUDA device. `ordinal` is the driver's number, after CUDA_VISIBLE_DEVICES.
struct Device {
    int ordinal = 0;
    std::string name;
    int capability_major = 0;
    int capability_minor = 0;
    std::size_t memory_bytes = 0;
    int multiprocessors = 0;
    int shared_bytes = 0;      ///< the most shared memory of a thread block
    int threads = 0;           ///< resident on a multiprocessor
    bool has_clusters = false; ///< launches clusters of thread blocks
    bool has_cooperative_launches = false;
};

/// The devices; none if CUDA cannot be used. The first call loads and initialises the driver. Thread-safe.
std::vector<Device> devices();

/// Why CUDA cannot be used (no driver, an old driver, no device, a forked child), or "" if it can. Thread-safe.
std::string cuda_unavailable_reason();

/// The memory that a pointer points to. Managed memory counts as device memory; the host can access it, too.
struct PointerInfo {
    Memory memory = Memory::host; ///< never Memory::unknown
    bool managed = false;
    bool pinned = false; ///< host memory that CUDA has page-locked: copied without staging
    int device = -1;     ///< of device memory
};

/// Asks the driver for the memory of pointers, if the process has loaded the driver; otherwise every pointer is a host
/// pointer. Pointers that the driver does not know are host memory, without an error.
class PointerQuery {
public:
    /// Looks for the driver, which takes 0.1 us while none is loaded: share one query between the pointers of a call.
    PointerQuery();
    PointerInfo operator()(const void* pointer) const;

private:
    const driver::Table* cu_;
};
/// A PointerQuery for one pointer.
inline PointerInfo pointer_info(const void* pointer) { return PointerQuery()(pointer); }

/// While it lives, this thread may allocate, free and wait on streams of its own during the capture of any other
/// stream. Without it CUDA refuses such calls and invalidates the capture.
class CaptureRelaxed {
public:
    CaptureRelaxed();
    CaptureRelaxed(const CaptureRelaxed&) = delete;
    CaptureRelaxed& operator=(const CaptureRelaxed&) = delete;
    ~CaptureRelaxed();

private:
    int mode_;
};

/// Makes a device's primary context current in this thread while it lives, with CaptureRelaxed; then restores the
/// previous context. Costs a few thread-local reads if the context is current already.
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

/// True if the call failed because the device or the process's context on it is lost for good (an illegal address,
/// say).
bool is_device_lost(const DeviceError& error) noexcept;

} // namespace gf
