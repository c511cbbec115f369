// The shared state of Results: the scalars of one run, and a problem's arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/memory_resource.hpp>
#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/executable.hpp>
#include <gridfold/fusion/plan.hpp>

namespace gf {

namespace detail {

/// The memory of one array result that the caller did not bind.
class ResultMemory {
public:
    /// Allocates on device `ordinal` or on the host, from the caller's resource if there is one. Throws DeviceError,
    /// OutOfMemory, and the resource's exceptions.
    ResultMemory(Memory memory, int ordinal, std::size_t bytes, const MemoryResources& resources);
    ResultMemory(const ResultMemory&) = delete;
    ResultMemory& operator=(const ResultMemory&) = delete;
    ~ResultMemory();
    bool serves(Memory memory, std::size_t bytes) const { return memory_ == memory && bytes_ == bytes; }
    /// True if the address is inside this memory.
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

/// The scalars of all problems of one run. The next run reuses the memory if no Results of this run are left.
struct Results::Run {
    explicit Run(std::shared_ptr<const Plan> of) : plan(std::move(of)) {}

    std::shared_ptr<const Plan> plan;
    std::vector<ScalarResult> scalars; ///< problem by problem, by Plan::scalars
    std::uint64_t number = 1;          ///< the number of the run that filled it, from 1

    /// The lists that entries() returned, by problem; none before the first call.
    struct Listed {
        std::uint64_t number = 0; ///< the number of the run whose results it has
        std::vector<Entry> entries;
    };
    mutable std::mutex mutex; ///< guards `listed`
    mutable std::vector<Listed> listed;
};

/// The array results of one problem.
struct Results::Arrays {
    struct One {
        View view;
        std::shared_ptr<detail::ResultMemory> memory; ///< null for an array that the caller bound
    };
    std::vector<One> values;   ///< by Plan::outputs; scalars have none
    std::vector<One> validity; ///< by Plan::outputs: Output::validity
};

} // namespace gf
