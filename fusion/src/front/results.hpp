// What Results share: the values of a run by output, and the memory of the arrays that the caller did not bind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/memory_resource.hpp>
#include <gridfold/fusion/executable.hpp>
#include <gridfold/fusion/plan.hpp>

namespace gf {

namespace detail {

/// The memory of one array result that the caller did not bind.
class ResultMemory {
public:
    /// In the memory of device `ordinal`, or of the host, from the caller's resource if there is one. Throws
    /// DeviceError, OutOfMemory, and what the resource throws.
    ResultMemory(Memory memory, int ordinal, std::size_t bytes, const MemoryResources& resources);
    ResultMemory(const ResultMemory&) = delete;
    ResultMemory& operator=(const ResultMemory&) = delete;
    ~ResultMemory();
    bool serves(Memory memory, std::size_t bytes) const { return memory_ == memory && bytes_ == bytes; }
    /// Is this address of its bytes?
    bool holds(const void* p) const {
        const auto first = reinterpret_cast<std::uintptr_t>(address()), at = reinterpret_cast<std::uintptr_t>(p);
        return at >= first && at < first + bytes_;
    }
    void* address() const { return address_; }

private:
    Memory memory_;
    int ordinal_;
    std::size_t bytes_;
    MemoryResources resources_;
    HostBuffer host_;     ///< without a resource
    DeviceBuffer device_; ///< without a resource
    void* address_ = nullptr;
};

} // namespace detail

struct Results::State {
    std::vector<Entry> entries; ///< by Plan::outputs
    /// By Plan::outputs; null for scalars and for arrays that the caller bound.
    std::vector<std::shared_ptr<detail::ResultMemory>> memory;
};

namespace detail {

/// A State for a plan's outputs, without values and memory.
std::shared_ptr<Results::State> make_state(const Plan& plan);

} // namespace detail
} // namespace gf
