// Owners of memory: on a device, page-locked on the host, and ordinary host memory. Move-only; all uninitialised.
#pragma once

#include <cstddef>
#include <utility>

#include <gridfold/core/view.hpp>

namespace gf {

/// Device memory. Zero bytes are a null address. Throws DeviceError where the device has no room.
class DeviceBuffer {
public:
    DeviceBuffer() = default;
    DeviceBuffer(int device, std::size_t bytes);
    DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
    DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
        DeviceBuffer(std::move(other)).swap(*this);
        return *this;
    }
    ~DeviceBuffer();

    void* address() const noexcept { return address_; }
    std::size_t bytes() const noexcept { return bytes_; }
    int device() const noexcept { return device_; }
    /// The first elements of it as an array.
    View view(DType type, const Extents& extents) const { return {address_, type, extents, Memory::device, true}; }

private:
    void swap(DeviceBuffer& other) noexcept {
        std::swap(address_, other.address_);
        std::swap(bytes_, other.bytes_);
        std::swap(device_, other.device_);
    }
    void* address_ = nullptr;
    std::size_t bytes_ = 0;
    int device_ = 0;
};

/// Page-locked host memory, mapped into the address space of every device (portable).
class PinnedBuffer {
public:
    PinnedBuffer() = default;
    /// Allocated through `device`'s context; `device_address()` is valid on it.
    PinnedBuffer(int device, std::size_t bytes);
    PinnedBuffer(PinnedBuffer&& other) noexcept { swap(other); }
    PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
        PinnedBuffer(std::move(other)).swap(*this);
        return *this;
    }
    ~PinnedBuffer();

    void* address() const noexcept { return address_; }
    void* device_address() const noexcept { return device_address_; }
    std::size_t bytes() const noexcept { return bytes_; }
    View view(DType type, const Extents& extents) const { return {address_, type, extents, Memory::host, true}; }

private:
    void swap(PinnedBuffer& other) noexcept {
        std::swap(address_, other.address_);
        std::swap(device_address_, other.device_address_);
        std::swap(bytes_, other.bytes_);
        std::swap(device_, other.device_);
    }
    void* address_ = nullptr;
    void* device_address_ = nullptr;
    std::size_t bytes_ = 0;
    int device_ = 0;
};

/// Host memory, aligned to 64 bytes. Zero bytes are a null address. Throws OutOfMemory where there is not so much.
class HostBuffer {
public:
    static constexpr std::size_t alignment = 64;
    HostBuffer() = default;
    explicit HostBuffer(std::size_t bytes);
    HostBuffer(HostBuffer&& other) noexcept { swap(other); }
    HostBuffer& operator=(HostBuffer&& other) noexcept {
        HostBuffer(std::move(other)).swap(*this);
        return *this;
    }
    ~HostBuffer();

    void* address() const noexcept { return address_; }
    std::size_t bytes() const noexcept { return bytes_; }
    View view(DType type, const Extents& extents) const { return {address_, type, extents, Memory::host, true}; }

private:
    void swap(HostBuffer& other) noexcept {
        std::swap(address_, other.address_);
        std::swap(bytes_, other.bytes_);
    }
    void* address_ = nullptr;
    std::size_t bytes_ = 0;
};

} // namespace gf
