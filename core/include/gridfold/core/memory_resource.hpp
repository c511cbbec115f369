// Where a caller's allocator plugs in: memory for the arrays that gridfold returns.
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
    /// At least `bytes` (never 0), aligned to 16 bytes, usable by work that is ordered in `stream` after this call.
    /// What it throws, the run that asked throws.
    virtual void* allocate(std::size_t bytes, StreamView stream) = 0;
    /// Takes back what allocate() gave for as many bytes. Nothing of gridfold uses it any more.
    virtual void deallocate(void* address, std::size_t bytes, StreamView stream) noexcept = 0;

protected:
    DeviceMemoryResource() = default;
    DeviceMemoryResource(const DeviceMemoryResource&) = default;
    DeviceMemoryResource& operator=(const DeviceMemoryResource&) = default;
    ~DeviceMemoryResource() = default;
};

/// The allocators of one kind of memory each; null: gridfold's own.
struct MemoryResources {
    std::pmr::memory_resource* host = nullptr;
    DeviceMemoryResource* device = nullptr;
};

} // namespace gf
