// The interface of a caller's allocator: memory for the arrays that gridfold returns.
#pragma once

#include <cstddef>
#include <memory_resource>

#include <gridfold/core/stream.hpp>

namespace gf {

/// Device memory from the caller's allocator (RMM, a framework's caching allocator): the device's counterpart of
/// std::pmr::memory_resource. Called from any thread that runs or drops results, with the device's primary context
/// current.
class DeviceMemoryResource {
public:
    /// At least `bytes` (never 0), aligned to 16 bytes, usable by work that is ordered in `stream` after this call. An
    /// exception propagates to the caller of the run.
    virtual void* allocate(std::size_t bytes, StreamView stream) = 0;
    /// Takes back memory that allocate(bytes, …) returned. gridfold does not use it any more.
    virtual void deallocate(void* address, std::size_t bytes, StreamView stream) noexcept = 0;

protected:
    DeviceMemoryResource() = default;
    DeviceMemoryResource(const DeviceMemoryResource&) = default;
    DeviceMemoryResource& operator=(const DeviceMemoryResource&) = default;
    ~DeviceMemoryResource() = default;
};

/// An allocator for each kind of memory; null: gridfold's own.
struct MemoryResources {
    std::pmr::memory_resource* host = nullptr;
    DeviceMemoryResource* device = nullptr;
};

} // namespace gf
