// The state of the emulated device: its memory, what was made on it, and whether it is lost.
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

// CUresult values that the emulated driver gives.
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
    std::weak_ptr<const HostModule> module; ///< gone if it was unloaded in the meantime
    std::uint32_t blocks = 0, threads = 0;
    std::vector<std::uint64_t> values; ///< of the parameters, none of which is larger
};

class Device {
public:
    static Device& the();

    Control control = first_control();
    Queue queue;

    /// The outcome of a call that can fail: counts it.
    int gate();
    /// As new, but for the memory and the objects that live.
    void reset();
    /// Nothing works from now on. `finding`: what the emulator found, if it was that.
    void lose(int code, const std::string& finding = {});
    int lost() const { return lost_; }
    /// What the emulator found, if that lost it; "" else.
    const std::string& finding() const { return finding_; }

    // Memory. All throw nothing; 0 is success.
    int allocate(void** address, std::size_t bytes, Where where);
    int release(void* address, Where where);
    /// The allocation that holds these bytes; null if none does.
    const Allocation* find(const void* address, std::size_t bytes = 1) const;

    /// Launches; for the queue's thread. Does nothing on a lost device.
    void execute(const KernelCall& call);
    /// `held`: which of both sides the device knows; they must not have been freed since.
    void copy(void* to, const void* from, std::size_t bytes, std::initializer_list<const void*> held);
    void fill(void* to, unsigned char byte, std::size_t bytes);

    mutable std::recursive_mutex mutex; ///< of all that is not atomic and not the queue's

private:
    static Control first_control();

    std::map<const std::byte*, Allocation> allocations_; // by address
    std::deque<GuardedMemory> freed_;                    // the last ones, closed: who still uses them is found
    std::atomic<int> lost_{0};
    std::string finding_;
    std::uint64_t launches_ = 0;
};

} // namespace gf::emulator
