// Move-only owners of uninitialised memory: device memory, page-locked host memory, and ordinary host memory.
#pragma once

#include <cstddef>

#include <gridfold/core/handle.hpp>
#include <gridfold/core/view.hpp>

namespace gf {

namespace detail {
void release_device_memory(int device, void* address) noexcept;
void release_pinned_memory(int device, void* address) noexcept;
void release_host_memory(int device, void* address) noexcept;
} // namespace detail

/// Device memory. Zero bytes are a null address. Throws DeviceError if the device has too little memory.
class DeviceBuffer {
public:
    DeviceBuffer() = default;
    DeviceBuffer(int device, std::size_t bytes);

    void* address() const noexcept { return memory_.get(); }
    std::size_t bytes() const noexcept { return address() != nullptr ? bytes_ : 0; }
    /// An array that begins at address().
    View view(DType type, const Extents& extents) const { return {address(), type, extents, Memory::device, true}; }

private:
    Handle<void, detail::release_device_memory> memory_;
    std::size_t bytes_ = 0;
};

/// Page-locked host memory, mapped into the address space of every device (portable).
class PinnedBuffer {
public:
    PinnedBuffer() = default;
    /// Allocated through `device`'s context; `device_address()` is valid on it.
    PinnedBuffer(int device, std::size_t bytes);

    void* address() const noexcept { return memory_.get(); }
    void* device_address() const noexcept { return device_address_; }
    std::size_t bytes() const noexcept { return address() != nullptr ? bytes_ : 0; }
    View view(DType type, const Extents& extents) const { return {address(), type, extents, Memory::host, true}; }

private:
    Handle<void, detail::release_pinned_memory> memory_;
    void* device_address_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Host memory, aligned to 64 bytes. Zero bytes are a null address. Throws OutOfMemory if the host has too little.
class HostBuffer {
public:
    static constexpr std::size_t alignment = 64;
    HostBuffer() = default;
    explicit HostBuffer(std::size_t bytes);

    void* address() const noexcept { return memory_.get(); }
    std::size_t bytes() const noexcept { return address() != nullptr ? bytes_ : 0; }
    View view(DType type, const Extents& extents) const { return {address(), type, extents, Memory::host, true}; }

private:
    Handle<void, detail::release_host_memory> memory_;
    std::size_t bytes_ = 0;
};

} // namespace gf
