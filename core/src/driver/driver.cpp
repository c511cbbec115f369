#include "driver/driver.hpp"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <fmt/format.h>

namespace gf::driver {
namespace {

/// A probe and the contexts that the process retains for it.
struct State {
    Probe probe;
    std::unique_ptr<std::atomic<CUctx_st*>[]> contexts;
};

std::atomic<const State*> in_use{nullptr};
std::atomic<bool> forked{false};
std::mutex loading;

constexpr const char* after_fork =
    "CUDA cannot be used in a child of fork() whose parent used it: start the child with exec, or use the cpu backend";

/// Puts a probe in use. Earlier probes are never destroyed: owners in a test may still point to their tables.
const State* put_in_use(Probe probe) {
    static auto& all = *new std::deque<State>; // never destroyed: destructors of static objects use it
    static const int registered = pthread_atfork(nullptr, nullptr, [] { forked = true; });
    static_cast<void>(registered);
    const std::size_t count = probe.devices.size();
    all.push_back({std::move(probe), std::make_unique<std::atomic<CUctx_st*>[]>(count)});
    in_use.store(&all.back(), std::memory_order_release);
    return &all.back();
}

const State& state() {
    if (const State* s = in_use.load(std::memory_order_acquire)) return *s;
    const std::lock_guard lock(loading);
    if (const State* s = in_use.load(std::memory_order_acquire)) return *s;
    return *put_in_use(probe_library("libcuda.so.1"));
}

const char* words(const Table& table, int code, bool name) {
    const char* text = nullptr;
    const auto& ask = name ? table.get_error_name : table.get_error_string;
    if (ask.function == nullptr || ask(code, &text).code != success || text == nullptr) return "unknown error";
    return text;
}

std::string describe(const Table& table, Outcome outcome) {
    return fmt::format("{}: {} ({}, code {})", outcome.call, words(table, outcome.code, false),
                       words(table, outcome.code, true), outcome.code);
}

/// A device's facts; `failed` is the first query that failed.
Device query_device(const Table& cu, int ordinal, Outcome& failed) {
    Device d;
    d.ordinal = ordinal;
    int device = 0, has_clusters = 0, has_cooperative_launches = 0;
    char name[256] = {};
    const auto ok = [&](Outcome outcome) {
        if (failed.code == success) failed = outcome;
        return failed.code == success;
    };
    if (ok(cu.device_get(&device, ordinal)) && ok(cu.device_get_name(name, sizeof name - 1, device)) &&
        ok(cu.device_total_mem(&d.memory_bytes, device)) &&
        ok(cu.device_get_attribute(&d.capability_major, capability_major, device)) &&
        ok(cu.device_get_attribute(&d.capability_minor, capability_minor, device)) &&
        ok(cu.device_get_attribute(&d.shared_bytes, most_shared_bytes, device)) &&
        ok(cu.device_get_attribute(&has_clusters, cluster_launch, device)) &&
        ok(cu.device_get_attribute(&has_cooperative_launches, cooperative_launch, device)) &&
        ok(cu.device_get_attribute(&d.threads, most_threads, device)))
        ok(cu.device_get_attribute(&d.multiprocessors, multiprocessor_count, device));
    d.has_clusters = has_clusters != 0;
    d.has_cooperative_launches = has_cooperative_launches != 0;
    d.name = name;
    return d;
}

} // namespace

Probe probe_table(const Table& table) {
    Probe probe;
    probe.table = table;
    if (const Outcome o = table.init(0); o.code != success) {
        probe.reason = o.code == no_device ? "the CUDA driver sees no device (CUDA_VISIBLE_DEVICES can hide them)"
                                           : fmt::format("the CUDA driver does not start: {}", describe(table, o));
        return probe;
    }
    if (const Outcome o = table.driver_get_version(&probe.version); o.code != success) {
        probe.reason = describe(table, o);
        return probe;
    }
    if (probe.version < oldest_driver) {
        probe.reason =
            fmt::format("the CUDA driver is too old: it supports CUDA {}.{}, and {}.{} is needed", probe.version / 1000,
                        probe.version % 1000 / 10, oldest_driver / 1000, oldest_driver % 1000 / 10);
        return probe;
    }
    int count = 0;
    Outcome failed = table.device_get_count(&count);
    for (int i = 0; i < count && failed.code == success; ++i) probe.devices.push_back(query_device(table, i, failed));
    if (failed.code != success) {
        probe.reason = describe(table, failed);
        probe.devices.clear();
    } else if (count == 0) {
        probe.reason = "the CUDA driver sees no device (CUDA_VISIBLE_DEVICES can hide them)";
    } else {
        probe.usable = true;
    }
    return probe;
}

Probe probe_library(const char* library) {
    Probe probe;
    // Never closed: the driver cannot be unloaded, and owners of its objects may live until the process ends.
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        probe.reason = fmt::format("no CUDA driver: {}", dlerror());
        return probe;
    }
    const char* missing = nullptr;
    const auto load = [&](auto& entry, bool is_needed = true) {
        void* symbol = dlsym(handle, entry.symbol);
        if (symbol == nullptr && missing == nullptr && is_needed) missing = entry.symbol;
        std::memcpy(&entry.function, &symbol, sizeof symbol); // POSIX's conversion of an object to a function pointer
    };
#define DRIVER(member, symbol, parameters) load(probe.table.member);
#define NEWER_DRIVER(member, symbol, parameters) load(probe.table.member, false);
#include "driver/driver.def"
#undef DRIVER
    if (missing != nullptr) {
        probe.reason = fmt::format("the CUDA driver is too old: it has no {} (CUDA {}.{} is needed)", missing,
                                   oldest_driver / 1000, oldest_driver % 1000 / 10);
        return probe;
    }
    return probe_table(probe.table);
}

const Table& table() {
    const State& s = state();
    if (forked.load(std::memory_order_relaxed)) throw DeviceError(after_fork);
    if (!s.probe.usable) throw DeviceError(fmt::format("CUDA cannot be used: {}", s.probe.reason));
    return s.probe.table;
}

const Table* table_or_null() noexcept {
    const State* s = in_use.load(std::memory_order_acquire);
    return s != nullptr && s->probe.usable && !forked.load(std::memory_order_relaxed) ? &s->probe.table : nullptr;
}

namespace {

/// The number of objects that the process has loaded so far, including those unloaded since. Empty if the C library
/// does not count them.
std::optional<unsigned long long> objects_loaded() {
    std::optional<unsigned long long> count;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t bytes, void* to) {
            if (bytes >= offsetof(dl_phdr_info, dlpi_adds) + sizeof info->dlpi_adds)
                *static_cast<std::optional<unsigned long long>*>(to) = info->dlpi_adds;
            return 1; // every object reports the same count
        },
        &count);
    return count;
}

/// True if the process has loaded libcuda.so.1, with RTLD_LOCAL or RTLD_GLOBAL.
bool is_loaded() {
    static std::atomic<unsigned long long> absent_at{~0ull}; // objects_loaded() when the library was last found absent
    const auto count = objects_loaded(); // read before dlopen: an object loaded in between causes another look
    if (count && *count == absent_at.load(std::memory_order_relaxed)) return false;
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) {
        if (count) absent_at.store(*count, std::memory_order_relaxed);
        return false;
    }
    dlclose(library);
    return true;
}

} // namespace

const Table* table_if_loaded() {
    if (in_use.load(std::memory_order_acquire) == nullptr && is_loaded()) state();
    return table_or_null();
}

void install(const Table* table) {
    const std::lock_guard lock(loading);
    if (table != nullptr)
        put_in_use(probe_table(*table));
    else
        in_use.store(nullptr, std::memory_order_release);
}

int loaded_version() noexcept {
    const State* s = in_use.load(std::memory_order_acquire);
    return s != nullptr ? s->probe.version : 0;
}

CUctx_st* primary_context(int ordinal) {
    const Table& cu = table();
    const State& s = state();
    if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= s.probe.devices.size())
        throw DeviceError(
            fmt::format("there is no CUDA device {}: this process sees {}, numbered from 0; choose one of them",
                        ordinal, s.probe.devices.size()));
    std::atomic<CUctx_st*>& kept = s.contexts[static_cast<std::size_t>(ordinal)];
    if (CUctx_st* context = kept.load(std::memory_order_acquire)) return context;
    const std::lock_guard lock(loading);
    if (CUctx_st* context = kept.load(std::memory_order_acquire)) return context;
    int device = 0;
    CUctx_st* context = nullptr;
    check(cu.device_get(&device, ordinal));
    check(cu.primary_retain(&context, device));
    kept.store(context, std::memory_order_release);
    return context;
}

namespace {

std::string message(Outcome outcome, Here here) {
    const char* slash = std::strrchr(here.file, '/');
    return fmt::format("{} [{}:{}]", describe(state().probe.table, outcome), slash != nullptr ? slash + 1 : here.file,
                       here.line);
}

} // namespace

void check(Outcome outcome, Here here) {
    if (outcome.code != success) throw DeviceError(message(outcome, here), outcome.call, outcome.code);
}

bool check_ready(Outcome outcome, Here here) {
    if (outcome.code == not_ready) return false;
    check(outcome, here);
    return true;
}

void report(Outcome outcome, Here here) noexcept {
    if (outcome.code == success || outcome.code == deinitialized || outcome.code == context_is_destroyed) return;
    static std::atomic<bool> reported{false};
    if (reported.exchange(true)) return;
    try {
        std::fprintf(stderr, "gridfold: releasing a CUDA resource failed: %s (later ones are not reported)\n",
                     message(outcome, here).c_str());
    } catch (...) { // no memory for the message
    }
}

} // namespace gf::driver

namespace gf {

std::vector<Device> devices() {
    if (driver::forked.load()) return {};
    const driver::Probe& probe = driver::state().probe;
    return probe.usable ? probe.devices : std::vector<Device>{};
}

std::string cuda_unavailable_reason() {
    const driver::Probe& probe = driver::state().probe;
    return driver::forked.load() ? driver::after_fork : probe.reason;
}

} // namespace gf
