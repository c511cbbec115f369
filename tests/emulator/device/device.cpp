#include "device.hpp"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <random>

#include <sys/mman.h>
#include <unistd.h>

namespace gf::emulator {

namespace {

constexpr std::size_t most_freed = 4096; // ranges that stay closed

/// True if the address is, or was, memory of this process.
bool is_mapped(std::uint64_t address) {
    static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return msync(reinterpret_cast<void*>(address / page * page), page, MS_ASYNC) == 0;
}

} // namespace

Control Device::first_control() {
    Control control;
    if (const char* const seed = std::getenv("GRIDFOLD_EMULATED_SEED")) control.seed = std::strtoull(seed, nullptr, 10);
    return control;
}

Device& Device::the() {
    static Device& device = *new Device; // never destroyed: the queue's thread outlives main
    return device;
}

void Device::reset() {
    Control fresh = first_control();
    queue.begin_anew(fresh.seed); // waits for work, which takes the mutex
    const std::lock_guard lock(mutex);
    fresh.memory = control.memory;
    fresh.objects = control.objects;
    fresh.reset = control.reset;
    fresh.work_late = control.work_late;
    control = fresh;
    lost_ = 0;
    finding_.clear();
    launches_ = 0;
}

int Device::gate() {
    const std::lock_guard lock(mutex);
    const long number = control.calls++;
    if (number == control.fail_at) {
        if (control.fails_for_good) lose(control.fail_with);
        return control.fail_with;
    }
    return lost_;
}

void Device::lose(int code, const std::string& finding) {
    const std::lock_guard lock(mutex);
    if (lost_ != 0) return;
    lost_ = code;
    finding_ = finding;
    control.finding = finding_.c_str();
}

int Device::allocate(void** address, std::size_t bytes, Where where) {
    if (bytes == 0) return invalid_value;
    const std::lock_guard lock(mutex);
    try {
        // Guards either end of an array, more often the end, which is overrun more often.
        const std::uint64_t number = control.seed + static_cast<std::uint64_t>(control.allocations);
        GuardedMemory memory(bytes, number % 4 == 0 ? Snug::at_begin : Snug::at_end);
        *address = memory.data();
        allocations_.insert_or_assign(static_cast<std::byte*>(*address), Allocation{std::move(memory), where});
    } catch (const std::bad_alloc&) {
        return out_of_memory;
    }
    ++control.allocations;
    ++control.memory;
    return 0;
}

int Device::release(void* address, Where where) {
    const std::lock_guard lock(mutex);
    const auto found = allocations_.find(static_cast<std::byte*>(address));
    if (found == allocations_.end() || found->second.where != where) return invalid_value;
    if (!found->second.memory.is_intact())
        lose(illegal_address, "emulated device: somebody wrote beside an allocation");
    found->second.memory.close();
    freed_.push_back(std::move(found->second.memory));
    if (freed_.size() > most_freed) freed_.pop_front();
    allocations_.erase(found);
    --control.memory;
    return 0;
}

const Allocation* Device::find(const void* address, std::size_t bytes) const {
    const std::lock_guard lock(mutex);
    const auto* first = static_cast<const std::byte*>(address);
    auto after = allocations_.upper_bound(first);
    if (after == allocations_.begin()) return nullptr;
    const Allocation& allocation = std::prev(after)->second;
    const auto offset = static_cast<std::size_t>(first - allocation.memory.data());
    const bool holds = offset < allocation.memory.size() && bytes <= allocation.memory.size() - offset;
    return holds ? &allocation : nullptr;
}

void Device::execute(const KernelCall& call) {
    if (lost_ != 0) return;
    const std::shared_ptr<const HostModule> module = call.module.lock();
    if (module == nullptr) return lose(launch_failed, "emulated device: a kernel of a module that was unloaded");
    std::vector<std::uint64_t> values = call.values;
    std::vector<void*> arguments;
    std::uint64_t seed = 0;
    {
        const std::lock_guard lock(mutex);
        for (std::size_t i = 0; i < values.size(); ++i) {
            arguments.push_back(&values[i]);
            // An argument may be one past the end of an array, if it is not read.
            const auto known = [&](std::uint64_t address) {
                return find(reinterpret_cast<const void*>(address)) != nullptr;
            };
            if (module->parameters(0)[i].is_pointer && !known(values[i]) && !known(values[i] - 1) &&
                is_mapped(values[i]))
                return lose(illegal_address,
                            "emulated device: a kernel was given an address of the host, or freed memory");
        }
        seed = control.seed * 1'000'003 + ++launches_;
        ++control.launches;
        control.cooperative_launches += call.cooperative;
        lose_system_stores(control.loses_words);
    }
    std::mt19937_64 random(seed);
    try {
        launch(module->entry(0), arguments.data(), call.blocks, call.threads,
               all_orders[random() % std::size(all_orders)], random());
    } catch (const std::exception& error) {
        lose(illegal_address, error.what());
    }
}

void Device::copy(void* to, const void* from, std::size_t bytes, std::initializer_list<const void*> held) {
    if (lost_ != 0) return;
    const std::lock_guard lock(mutex);
    for (const void* address : held)
        if (find(address, bytes) == nullptr)
            return lose(illegal_address, "emulated device: a copy of memory that was freed");
    std::memcpy(to, from, bytes);
}

void Device::fill(void* to, unsigned char byte, std::size_t bytes) {
    if (lost_ != 0) return;
    const std::lock_guard lock(mutex);
    if (find(to, bytes) == nullptr) return lose(illegal_address, "emulated device: memory was filled that was freed");
    std::memset(to, byte, bytes);
}

} // namespace gf::emulator
