#include <gridfold/core/buffer.hpp>

#include <cstdint>
#include <new>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>

#include "driver/release.hpp"

namespace gf {

void detail::release_device_memory(int device, void* address) noexcept {
    driver::release_on(device,
                       [&](const driver::Table& cu) { return cu.mem_free(reinterpret_cast<std::uintptr_t>(address)); });
}

void detail::release_pinned_memory(int device, void* address) noexcept {
    driver::release_on(device, [&](const driver::Table& cu) { return cu.mem_free_host(address); });
}

void detail::release_host_memory(int, void* address) noexcept {
    ::operator delete(address, std::align_val_t{HostBuffer::alignment});
}

DeviceBuffer::DeviceBuffer(int device, std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    const CurrentDevice current(device);
    driver::Address address = 0;
    driver::check(driver::table().mem_alloc(&address, bytes));
    memory_ = {device, reinterpret_cast<void*>(static_cast<std::uintptr_t>(address))};
}

PinnedBuffer::PinnedBuffer(int device, std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    const CurrentDevice current(device);
    const driver::Table& cu = driver::table();
    void* address = nullptr;
    driver::check(cu.mem_host_alloc(&address, bytes, driver::host_portable | driver::host_mapped));
    memory_ = {device, address};
    driver::Address mapped = 0;
    driver::check(cu.mem_host_get_device_pointer(&mapped, address, 0));
    device_address_ = reinterpret_cast<void*>(static_cast<std::uintptr_t>(mapped));
}

HostBuffer::HostBuffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    memory_ = {0, ::operator new(bytes, std::align_val_t{alignment}, std::nothrow)};
    if (address() == nullptr)
        throw OutOfMemory(fmt::format("the host has no {} bytes of memory in one piece: run over smaller arrays, or in "
                                      "parts",
                                      bytes),
                          bytes);
}

} // namespace gf
