#include <gridfold/core/buffer.hpp>

#include <cstdint>
#include <new>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>

#include "driver/release.hpp"

namespace gf {

DeviceBuffer::DeviceBuffer(int device, std::size_t bytes) : bytes_(bytes), device_(device) {
    if (bytes == 0) return;
    const CurrentDevice current(device);
    driver::Address address = 0;
    driver::check(driver::table().mem_alloc(&address, bytes));
    address_ = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

DeviceBuffer::~DeviceBuffer() {
    if (address_ == nullptr) return;
    driver::release_on(
        device_, [&](const driver::Table& cu) { return cu.mem_free(reinterpret_cast<std::uintptr_t>(address_)); });
}

PinnedBuffer::PinnedBuffer(int device, std::size_t bytes) : bytes_(bytes), device_(device) {
    if (bytes == 0) return;
    const CurrentDevice current(device);
    const driver::Table& cu = driver::table();
    PinnedBuffer made; // frees what was allocated if the mapping fails
    made.device_ = device;
    driver::check(cu.mem_host_alloc(&made.address_, bytes, driver::host_portable | driver::host_mapped));
    driver::Address mapped = 0;
    driver::check(cu.mem_host_get_device_pointer(&mapped, made.address_, 0));
    device_address_ = reinterpret_cast<void*>(static_cast<std::uintptr_t>(mapped));
    address_ = std::exchange(made.address_, nullptr);
}

PinnedBuffer::~PinnedBuffer() {
    if (address_ == nullptr) return;
    driver::release_on(device_, [&](const driver::Table& cu) { return cu.mem_free_host(address_); });
}

HostBuffer::HostBuffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    address_ = ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
    if (address_ == nullptr)
        throw OutOfMemory(fmt::format("the host has no {} bytes of memory in one piece: run over smaller arrays, or in "
                                      "parts",
                                      bytes),
                          bytes);
}

HostBuffer::~HostBuffer() { ::operator delete(address_, std::align_val_t{alignment}); }

} // namespace gf
