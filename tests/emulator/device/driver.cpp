// The driver's entry points for the device, contexts, memory and modules. core/src/driver/driver.def lists all that
// gridfold calls; streams are in stream_calls.cpp, graphs in graph_calls.cpp.
#include <algorithm>
#include <cstring>
#include <elf.h>
#include <string>
#include <utility>
#include <vector>

#include "calls.hpp"

using gf::driver::Address;
using namespace gf::emulator;

namespace {

constexpr int capability_major = 9;
constexpr std::size_t total_memory = std::size_t{1} << 34;

CUctx_st the_context;

void* pointer(Address address) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); }
Address address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

/// Waits for the device if a call has failed: CUDA does so before it frees memory, and callers that could not wait rely
/// on it. Otherwise it does not wait, so that memory that is freed too early is found.
void wait_where_a_call_failed() {
    const auto failed = [] {
        const auto lock = locked();
        return control().fail_at >= 0 && control().calls > control().fail_at;
    };
    if (failed()) device().queue.wait_for_all();
}

/// Frees the memory except where the call is not allowed. Any other failed outcome is that of an earlier call.
int release(void* memory, Where where) {
    if (in_destroy()) return not_permitted;
    wait_where_a_call_failed();
    const int failed = gate_unsafe();
    if (failed == no_context || failed == capture_unsupported) return failed;
    const int code = device().release(memory, where);
    return code != success ? code : failed;
}

} // namespace

EXPORT Control* gridfold_emulated_device() {
    control().reset = [] {
        this_thread() = {};
        while (!capturing().empty()) delete std::exchange(end_capture(capturing().back())->captured, nullptr);
        device().reset();
    };
    control().work_late = [](bool late) { device().queue.begin_late(late); };
    return &control();
}

EXPORT int cuInit(unsigned) { return gate(); }
EXPORT int cuDriverGetVersion(int* version) { return *version = 13000, gate(); }
EXPORT int cuGetErrorName(int code, const char** name) {
    return *name = code == out_of_memory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_EMULATED", success;
}
EXPORT int cuGetErrorString(int code, const char** text) {
    const bool found = code == device().lost() && !device().finding().empty();
    return *text = found ? device().finding().c_str() : "the emulated device failed", success;
}

EXPORT int cuDeviceGetCount(int* count) { return *count = 1, gate(); }
EXPORT int cuDeviceGet(int* number, int ordinal) { return *number = ordinal, gate(); }
EXPORT int cuDeviceGetName(char* name, int bytes, int) {
    std::strncpy(name, "Emulated device", static_cast<std::size_t>(bytes));
    return gate();
}
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
    *value = attribute == gf::driver::capability_major       ? ::capability_major
             : attribute == gf::driver::multiprocessor_count ? multiprocessors
             : attribute == gf::driver::most_shared_bytes    ? int(most_shared_bytes)
             : attribute == gf::driver::most_threads         ? 2048
             : attribute == gf::driver::cluster_launch       ? 1
             : attribute == gf::driver::cooperative_launch   ? 1
                                                             : 0;
    return gate();
}
EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = total_memory, gate(); }
EXPORT int cuDevicePrimaryCtxRetain(CUctx_st** context, int) { return *context = &the_context, gate(); }
EXPORT int cuCtxGetCurrent(CUctx_st** context) {
    return *context = this_thread().contexts.empty() ? nullptr : this_thread().contexts.back(), gate();
}
EXPORT int cuCtxPushCurrent_v2(CUctx_st* context) {
    const int code = gate();
    if (code == success) this_thread().contexts.push_back(context);
    return code;
}
EXPORT int cuCtxPopCurrent_v2(CUctx_st** context) {
    if (const int code = gate_in_context(); code != success) return code;
    *context = this_thread().contexts.back();
    this_thread().contexts.pop_back();
    return success;
}

EXPORT int cuMemAlloc_v2(Address* made, std::size_t bytes) {
    if (const int code = gate_unsafe(); code != success) return code;
    void* memory = nullptr;
    const int code = device().allocate(&memory, bytes, Where::device);
    return *made = address(memory), code;
}
EXPORT int cuMemFree_v2(Address memory) { return release(pointer(memory), Where::device); }
EXPORT int cuMemHostAlloc(void** made, std::size_t bytes, unsigned) {
    if (const int code = gate_unsafe(); code != success) return code;
    return device().allocate(made, bytes, Where::page_locked);
}
EXPORT int cuMemFreeHost(void* memory) { return release(memory, Where::page_locked); }
EXPORT int cuMemHostGetDevicePointer_v2(Address* made, void* host, unsigned) {
    const Allocation* found = device().find(host);
    *made = address(host);
    return found == nullptr || found->where != Where::page_locked ? invalid_value : gate();
}
EXPORT int cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, CUstream_st* stream) {
    if (const int code = gate_of(stream); code != success) return code;
    if (device().find(pointer(to), bytes) == nullptr) return invalid_value;
    if (device().find(from, bytes) != nullptr) { // page-locked: read in stream order
        device().queue.push(stream, [=] { device().copy(pointer(to), from, bytes, {pointer(to), from}); });
    } else {
        const auto* first = static_cast<const std::byte*>(from);
        device().queue.push(stream, [=, copy = std::vector(first, first + bytes)] {
            device().copy(pointer(to), copy.data(), bytes, {pointer(to)});
        });
    }
    return success;
}
EXPORT int cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, CUstream_st* stream) {
    if (const int code = gate_of(stream); code != success) return code;
    if (device().find(pointer(from), bytes) == nullptr) return invalid_value;
    if (device().find(to, bytes) != nullptr) { // page-locked: written in stream order
        device().queue.push(stream, [=] { device().copy(to, pointer(from), bytes, {to, pointer(from)}); });
    } else {
        device().queue.wait_for(
            device().queue.push(stream, [=] { device().copy(to, pointer(from), bytes, {pointer(from)}); }));
    }
    return device().lost();
}
EXPORT int cuMemsetD8Async(Address to, unsigned char byte, std::size_t bytes, CUstream_st* stream) {
    if (const int code = gate_of(stream); code != success) return code;
    if (device().find(pointer(to), bytes) == nullptr) return invalid_value;
    device().queue.push(stream, [=] { device().fill(pointer(to), byte, bytes); });
    return success;
}
EXPORT int cuPointerGetAttribute(void* value, int attribute, Address asked) {
    const Allocation* found = device().find(pointer(asked));
    if (found == nullptr) return invalid_value;
    const bool on_device = found->where == Where::device;
    unsigned answer = 0;
    if (attribute == gf::driver::pointer_memory_type)
        answer = on_device ? gf::driver::memory_type_device : gf::driver::memory_type_host;
    std::memcpy(value, &answer, sizeof answer);
    return gate();
}
EXPORT int cuModuleLoadData(CUmod_st** module, const void* image) {
    if (const int code = gate_unsafe(); code != success) return code;
    const auto* elf = static_cast<const Elf64_Ehdr*>(image);
    if (std::memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0) return invalid_image;
    const std::size_t bytes = elf->e_shoff + std::size_t{elf->e_shnum} * elf->e_shentsize; // sections come last
    try {
        const std::string object(static_cast<const char*>(image), bytes);
        return keep(module, new CUmod_st{{std::make_shared<const HostModule>(object)}});
    } catch (const std::exception&) {
        return invalid_image;
    }
}
EXPORT int cuModuleUnload(CUmod_st* module) { return destroy(module); }
EXPORT int cuModuleGetFunction(CUfunc_st** function, CUmod_st* module, const char* name) {
    *function = &module->function;
    return std::strcmp(name, "gridfold_sweep") == 0 ? gate() : not_found;
}
EXPORT int cuFuncSetAttribute(CUfunc_st*, int attribute, int value) {
    const bool is_valid =
        attribute == gf::driver::function_large_clusters ||
        (attribute == gf::driver::function_shared_bytes && value >= 0 && unsigned(value) <= most_shared_bytes);
    return is_valid ? gate() : invalid_value;
}
EXPORT int cuOccupancyMaxActiveClusters(int* count, CUfunc_st*, const gf::driver::LaunchConfig* config) {
    if (config->grid_x > 16) return gf::driver::invalid_cluster_size;
    return *count = int(config->grid_x) <= control().most_cluster, gate();
}
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* count, CUfunc_st*, int, std::size_t) {
    const auto lock = locked();
    return *count = control().resident_blocks, gate();
}
EXPORT int cuFuncGetAttribute(int* value, int attribute, CUfunc_st*) {
    Control& c = control();
    if (attribute == gf::driver::function_registers)
        *value = 64;
    else
        *value = c.local_bytes[std::min(c.local_bytes_asked++, c.local_bytes.size() - 1)];
    return gate();
}
