// The state of the emulated device: its memory, its work, and its loss.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "control.hpp"
#include "guarded_memory.hpp"
#include "host_module.hpp"
#include "queue.hpp"

namespace gf::emulator {

// CUresult values that the emulated driver returns.
inline constexpr int invalid_value = 1, out_of_memory = 2, no_context = 201, invalid_image = 200, not_found = 500,
                     illegal_address = 700, launch_failed = 719, not_permitted = 800, capture_unsupported = 900,
                     capture_invalidated = 901, capture_implicit = 906;

enum class Where : std::uint8_t { device, page_locked };

struct Allocation {
    GuardedMemory memory;
    Where where;
};

/// One kernel with its arguments.
struct KernelCall {
    std::weak_ptr<const HostModule> module; ///< expired if it was unloaded in the meantime
    std::uint32_t blocks = 0, threads = 0;
    std::vector<std::uint64_t> values; ///< the parameters' values; none is larger
    bool cooperative = false;          ///< its blocks wait for each other
};

class Device {
public:
    static Device& the();

    Control control = first_control();
    Queue queue;

    /// Counts a call that can fail, and returns its outcome.
    int gate();
    /// Resets everything except allocated memory and living objects.
    void reset();
    /// Loses the device: every later call fails. `finding`: the emulator's finding, if that is the cause.
    void lose(int code, const std::string& finding = {});
    int lost() const { return lost_; }
    /// The emulator's finding if it lost the device, else "".
    const std::string& finding() const { return finding_; }

    // Memory. The functions do not throw; 0 is success.
    int allocate(void** address, std::size_t bytes, Where where);
    int release(void* address, Where where);
    /// The allocation that contains these bytes; null if none does.
    const Allocation* find(const void* address, std::size_t bytes = 1) const;

    /// Launches a kernel, in the queue's thread. Does nothing on a lost device.
    void execute(const KernelCall& call);
    /// `held`: those of the two addresses that are the device's allocations; they must not have been freed since.
    void copy(void* to, const void* from, std::size_t bytes, std::initializer_list<const void*> held);
    void fill(void* to, unsigned char byte, std::size_t bytes);

    mutable std::recursive_mutex mutex; ///< guards all members except atomics and the queue

private:
    static Control first_control();

    std::map<const std::byte*, Allocation> allocations_; // by address
    std::deque<GuardedMemory> freed_;                    // the latest ones, closed: later accesses fault
    std::atomic<int> lost_{0};
    std::string finding_;
    std::uint64_t launches_ = 0;
};

} // namespace gf::emulator
