// What Results share: the values of a run by output, and the memory of the arrays that the caller did not bind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gridfold/core/buffer.hpp>
#include <gridfold/fusion/executable.hpp>
#include <gridfold/fusion/plan.hpp>

namespace gf {

namespace detail {

/// The memory of one array result that the caller did not bind.
class ResultMemory {
public:
    /// In the memory of device `ordinal`, or of the host. Throws DeviceError, OutOfMemory.
    ResultMemory(Memory memory, int ordinal, std::size_t bytes) : memory_(memory), bytes_(bytes) {
        if (memory == Memory::device)
            device_ = DeviceBuffer(ordinal, bytes);
        else
            host_ = HostBuffer(bytes);
    }
    bool serves(Memory memory, std::size_t bytes) const { return memory_ == memory && bytes_ == bytes; }
    /// Is this address of its bytes?
    bool holds(const void* p) const {
        const auto first = reinterpret_cast<std::uintptr_t>(address()), at = reinterpret_cast<std::uintptr_t>(p);
        return at >= first && at < first + bytes_;
    }
    void* address() const { return memory_ == Memory::device ? device_.address() : host_.address(); }

private:
    Memory memory_;
    std::size_t bytes_;
    HostBuffer host_;
    DeviceBuffer device_;
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
