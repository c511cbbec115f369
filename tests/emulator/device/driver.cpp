// The driver's entry points (core/src/driver/driver.def has them all), and those that only a user of CUDA calls, for
// captures.
#include <algorithm>
#include <cstring>
#include <elf.h>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "driver/driver.hpp"
#include "graph.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

using gf::driver::Address;
using gf::driver::KernelNodeParams;
using gf::driver::LaunchConfig;
using namespace gf::emulator;

// What CUDA's opaque handles point to here.
struct CUctx_st {};
struct CUstream_st : Stream {
    Graph* captured = nullptr; // being captured
    const Node* last = nullptr;
    int mode = 0;           // of the capture …
    std::thread::id thread; // … which this thread began …
    bool invalid = false;   // … and somebody asked for what it forbids
};
struct CUevent_st : Event {};
struct CUfunc_st {
    std::shared_ptr<const HostModule> module;
};
struct CUmod_st {
    CUfunc_st function;
};
struct CUgraph_st : Graph {};
struct CUgraphExec_st : Exec {
    using Exec::Exec;
};

namespace {

constexpr int success = 0;
constexpr int capability_major = 9, multiprocessors = 4;
constexpr std::size_t total_memory = std::size_t{1} << 34;
constexpr std::size_t most_arguments = 4096;
constexpr int capture_global = 0, capture_status_invalidated = 2;

CUctx_st the_context;
thread_local std::vector<CUctx_st*> contexts; // current last
thread_local int capture_mode = 0;            // of this thread: global
std::vector<CUstream_st*> capturing;

Device& device() { return Device::the(); }
Control& control() { return device().control; }
std::lock_guard<std::recursive_mutex> locked() { return std::lock_guard(device().mutex); }

/// The outcome of a call that can fail: before it does anything.
int gate() { return in_destroy() ? not_permitted : device().gate(); }
/// … and needs a current context.
int gate_in_context() {
    const int code = gate();
    return code != success ? code : contexts.empty() ? no_context : success;
}
/// `refusal`, if one of the captures under way forbids the call: that ends it.
template <class Forbids> int unless_captured(int refusal, Forbids&& forbids) {
    const auto lock = locked();
    int outcome = success;
    for (CUstream_st* stream : capturing)
        if (forbids(*stream)) stream->invalid = true, outcome = refusal;
    return outcome;
}
/// … and is unsafe while a stream is captured, unless that, or this thread, does without the check.
int gate_unsafe() {
    if (const int code = gate_in_context(); code != success) return code;
    return unless_captured(capture_unsupported, [](const CUstream_st& stream) {
        const bool own = stream.thread == std::this_thread::get_id();
        return stream.mode != gf::driver::capture_relaxed && capture_mode != gf::driver::capture_relaxed &&
               (own || (stream.mode == capture_global && capture_mode == capture_global));
    });
}
/// … and asks something of a stream that must not be captured; nor may one that the default stream waits for.
int gate_of(const CUstream_st* stream) {
    if (const int code = stream == nullptr ? gate_in_context() : gate(); code != success) return code;
    if (stream == nullptr)
        return unless_captured(capture_implicit, [](const CUstream_st& captured) { return captured.blocking; });
    return unless_captured(capture_unsupported, [&](const CUstream_st& captured) { return &captured == stream; });
}

template <class Object> int keep(Object** to, Object* made) {
    const auto lock = locked();
    ++control().objects;
    return *to = made, success;
}
/// Destroys whatever else happens: the outcome is told all the same.
template <class Object> int destroy(Object* object) {
    if (in_destroy()) return not_permitted;
    const int code = gate();
    delete object;
    const auto lock = locked();
    --control().objects;
    return code;
}

void* pointer(Address address) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); }
Address address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

/// The arguments are taken now, whatever happens to where they are.
int to_call(CUfunc_st* function, unsigned blocks, unsigned threads, void** parameters, KernelCall& call) {
    if (function == nullptr || blocks == 0 || threads == 0 || threads % 32 != 0 || threads > 1024) return invalid_value;
    call = {function->module, blocks, threads, {}};
    std::size_t bytes = 0;
    for (std::size_t i = 0; const Parameter& parameter : function->module->parameters(0)) {
        if (parameter.bytes > sizeof(std::uint64_t)) return invalid_value;
        bytes += parameter.bytes;
        std::memcpy(&call.values.emplace_back(), parameters[i++], parameter.bytes);
    }
    return bytes > most_arguments ? invalid_value : success;
}

void count_wait() {
    const auto lock = locked();
    ++control().waits;
}

/// CUDA waits for the device before it frees memory, and whoever could not wait itself relies on it. Elsewhere nobody
/// shall: what is freed too early is found.
void wait_where_a_call_failed() {
    const auto failed = [] {
        const auto lock = locked();
        return control().fail_at >= 0 && control().calls > control().fail_at;
    };
    if (failed()) device().queue.wait_for_all();
}

/// Frees unless it is asked where that is not allowed. A call that fails otherwise tells of an earlier one.
int release(void* memory, Where where) {
    if (in_destroy()) return not_permitted;
    wait_where_a_call_failed();
    const int failed = gate_unsafe();
    if (failed == no_context || failed == capture_unsupported) return failed;
    const int code = device().release(memory, where);
    return code != success ? code : failed;
}

/// `stream` is not among those being captured any more.
CUstream_st* end_capture(CUstream_st* stream) {
    std::erase(capturing, stream);
    return stream;
}

// Nodes and user objects are what their handles point to, by another name.
Node* of_handle(CUgraphNode_st* node) { return reinterpret_cast<Node*>(node); }
UserObject* of_handle(CUuserObject_st* object) { return reinterpret_cast<UserObject*>(object); }

bool is_one(unsigned y, unsigned z) { return y == 1 && z == 1; }

} // namespace

EXPORT Control* gridfold_emulated_device() {
    control().reset = [] {
        contexts.clear();
        capture_mode = capture_global;
        while (!capturing.empty()) delete std::exchange(end_capture(capturing.back())->captured, nullptr);
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
             : attribute == gf::driver::multiprocessor_count ? ::multiprocessors
                                                             : 0;
    return gate();
}
EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = total_memory, gate(); }
EXPORT int cuDevicePrimaryCtxRetain(CUctx_st** context, int) { return *context = &the_context, gate(); }
EXPORT int cuCtxGetCurrent(CUctx_st** context) {
    return *context = contexts.empty() ? nullptr : contexts.back(), gate();
}
EXPORT int cuCtxPushCurrent_v2(CUctx_st* context) {
    const int code = gate();
    if (code == success) contexts.push_back(context);
    return code;
}
EXPORT int cuCtxPopCurrent_v2(CUctx_st** context) {
    if (const int code = gate_in_context(); code != success) return code;
    *context = contexts.back();
    contexts.pop_back();
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
    if (device().find(from, bytes) != nullptr) { // page-locked: read when the stream gets there
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
    if (device().find(to, bytes) != nullptr) { // page-locked: written when the stream gets there
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

EXPORT int cuStreamCreate(CUstream_st** stream, unsigned flags) {
    if (const int code = gate_in_context(); code != success) return code;
    auto* made = new CUstream_st;
    made->blocking = flags != gf::driver::stream_non_blocking;
    return keep(stream, made);
}
EXPORT int cuStreamDestroy_v2(CUstream_st* stream) { return destroy(stream); }
EXPORT int cuStreamSynchronize(CUstream_st* stream) {
    if (const int code = gate_of(stream); code != success) return code;
    count_wait();
    // The default stream is done when what is asked of it now is.
    device().queue.wait_for(stream == nullptr ? device().queue.push(nullptr, [] {}) : device().queue.last_of(*stream));
    return device().lost();
}
EXPORT int cuStreamWaitEvent(CUstream_st* stream, CUevent_st* event, unsigned) {
    if (const int code = gate_of(stream); code != success) return code;
    const auto lock = locked();
    if (event->recorded != 0)
        device().queue.push(
            stream, [] {}, event->recorded);
    return success;
}
EXPORT int cuStreamIsCapturing(CUstream_st* stream, int* status) {
    const int code = gate();
    const auto lock = locked();
    if (stream == nullptr && std::ranges::any_of(capturing, [](const CUstream_st* s) { return s->blocking; }))
        return capture_implicit;
    *status = stream == nullptr || stream->captured == nullptr ? gf::driver::capture_none
              : stream->invalid                                ? capture_status_invalidated
                                                               : gf::driver::capture_active;
    return code;
}
EXPORT int cuStreamGetCaptureInfo_v2(CUstream_st* stream, int* status, gf::driver::Id*, CUgraph_st** graph,
                                     CUgraphNode_st* const**, std::size_t*) {
    const auto lock = locked();
    *graph = stream->invalid ? nullptr : static_cast<CUgraph_st*>(stream->captured);
    return cuStreamIsCapturing(stream, status);
}
EXPORT int cuThreadExchangeStreamCaptureMode(int* mode) {
    const int code = gate();
    if (code == success) std::swap(capture_mode, *mode);
    return code;
}
EXPORT int cuStreamBeginCapture_v2(CUstream_st* stream, int mode) {
    const auto lock = locked();
    capturing.push_back(stream);
    stream->captured = new CUgraph_st;
    stream->last = nullptr;
    stream->mode = mode;
    stream->thread = std::this_thread::get_id();
    stream->invalid = false;
    return success;
}
EXPORT int cuStreamEndCapture(CUstream_st* stream, CUgraph_st** graph) {
    const auto lock = locked();
    auto* const captured = static_cast<CUgraph_st*>(std::exchange(end_capture(stream)->captured, nullptr));
    if (!stream->invalid) return keep(graph, captured);
    delete captured;
    return *graph = nullptr, capture_invalidated;
}

EXPORT int cuEventCreate(CUevent_st** event, unsigned) {
    if (const int code = gate_in_context(); code != success) return code;
    return keep(event, new CUevent_st);
}
EXPORT int cuEventDestroy_v2(CUevent_st* event) { return destroy(event); }
EXPORT int cuEventRecord(CUevent_st* event, CUstream_st* stream) {
    if (const int code = gate_of(stream); code != success) return code;
    const auto lock = locked();
    event->recorded = device().queue.push(stream, [] {});
    return success;
}
EXPORT int cuEventQuery(CUevent_st* event) {
    if (const int code = gate_unsafe(); code != success) return code;
    return device().queue.is_done(event->recorded) ? device().lost() : gf::driver::not_ready;
}
EXPORT int cuEventSynchronize(CUevent_st* event) {
    if (const int code = gate_unsafe(); code != success) return code;
    count_wait();
    device().queue.wait_for(event->recorded);
    return device().lost();
}

EXPORT int cuModuleLoadData(CUmod_st** module, const void* image) {
    if (const int code = gate_unsafe(); code != success) return code;
    const auto* elf = static_cast<const Elf64_Ehdr*>(image);
    if (std::memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0) return invalid_image;
    const std::size_t bytes = elf->e_shoff + std::size_t{elf->e_shnum} * elf->e_shentsize; // its last part
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
EXPORT int cuFuncGetAttribute(int* value, int attribute, CUfunc_st*) {
    return *value = attribute == gf::driver::function_registers ? 32 : 0, gate();
}
EXPORT int cuLaunchKernelEx(const LaunchConfig* config, CUfunc_st* function, void** parameters, void**) {
    CUstream_st* const stream = config->stream;
    const int code = stream != nullptr && stream->captured != nullptr ? gate() : gate_of(stream);
    if (code != success) return code;
    KernelCall call;
    if (!is_one(config->grid_y, config->grid_z) || !is_one(config->block_y, config->block_z) ||
        config->shared_bytes != 0)
        return invalid_value;
    // That kernels may overlap is allowed, not asked for: here none does.
    for (unsigned i = 0; i < config->attribute_count; ++i)
        if (config->attributes[i].id != gf::driver::launch_overlapping) return invalid_value;
    if (const int wrong = to_call(function, config->grid_x, config->block_x, parameters, call); wrong != success)
        return wrong;
    const auto lock = locked();
    if (stream == nullptr || stream->captured == nullptr) {
        device().queue.push(stream, [call] { device().execute(call); });
    } else if (stream->invalid) {
        return capture_invalidated;
    } else {
        auto node = std::make_unique<Node>(Node{std::move(call), {}});
        if (stream->last != nullptr) node->after.push_back(stream->last);
        stream->last = node.get();
        stream->captured->nodes.push_back(std::move(node));
    }
    return success;
}

EXPORT int cuGraphCreate(CUgraph_st** graph, unsigned) {
    if (const int code = gate(); code != success) return code;
    return keep(graph, new CUgraph_st);
}
EXPORT int cuGraphDestroy(CUgraph_st* graph) { return destroy(graph); }
EXPORT int cuGraphAddKernelNode_v2(CUgraphNode_st** made, CUgraph_st* graph, CUgraphNode_st* const* dependencies,
                                   std::size_t count, const KernelNodeParams* p) {
    if (const int code = gate(); code != success) return code;
    auto node = std::make_unique<Node>();
    if (const int wrong = to_call(p->function, p->grid_x, p->block_x, p->parameters, node->call); wrong != success)
        return wrong;
    for (std::size_t i = 0; i < count; ++i) node->after.push_back(of_handle(dependencies[i]));
    *made = reinterpret_cast<CUgraphNode_st*>(node.get());
    graph->nodes.push_back(std::move(node));
    return success;
}
EXPORT int cuGraphAddDependencies_v2(CUgraph_st* graph, CUgraphNode_st* const* from, CUgraphNode_st* const* to,
                                     const gf::driver::EdgeData* edges, std::size_t count) {
    if (const int code = gate(); code != success) return code;
    const auto find = [&](CUgraphNode_st* handle) {
        const auto found =
            std::ranges::find(graph->nodes, of_handle(handle), [](const auto& node) { return node.get(); });
        return found == graph->nodes.end() ? nullptr : found->get();
    };
    for (std::size_t i = 0; i < count; ++i) {
        Node* const before = find(from[i]);
        Node* const after = find(to[i]);
        const bool programmatic = edges[i].type == gf::driver::edge_programmatic;
        if (before == nullptr || after == nullptr || edges[i].to_port != 0 ||
            edges[i].from_port != (programmatic ? gf::driver::port_programmatic : 0))
            return invalid_value;
        after->after.push_back(before); // that kernels may overlap is allowed, not asked for: here none does
        const auto lock = locked();
        control().overlaps += programmatic;
    }
    return success;
}
EXPORT int cuGraphInstantiateWithFlags(CUgraphExec_st** exec, CUgraph_st* graph, unsigned long long) {
    if (const int code = gate(); code != success) return code;
    const auto lock = locked();
    ++control().instantiations;
    return keep(exec, new CUgraphExec_st(*graph));
}
EXPORT int cuGraphExecKernelNodeSetParams_v2(CUgraphExec_st* exec, CUgraphNode_st* node, const KernelNodeParams* p) {
    if (const int code = gate(); code != success) return code;
    KernelCall call;
    if (const int wrong = to_call(p->function, p->grid_x, p->block_x, p->parameters, call); wrong != success)
        return wrong;
    const auto lock = locked();
    ++control().updates;
    return exec->update(of_handle(node), std::move(call));
}
EXPORT int cuGraphLaunch(CUgraphExec_st* exec, CUstream_st* stream) {
    if (const int code = gate_of(stream); code != success) return code;
    return exec->launch(stream), success;
}
EXPORT int cuGraphExecDestroy(CUgraphExec_st* exec) { return destroy(exec); }
EXPORT int cuUserObjectCreate(CUuserObject_st** object, void* held, void (*release)(void*), unsigned references,
                              unsigned) {
    if (const int code = gate(); code != success) return code;
    return keep(object, reinterpret_cast<CUuserObject_st*>(new UserObject{held, release, references}));
}
EXPORT int cuUserObjectRelease(CUuserObject_st* object, unsigned count) {
    UserObject::release(of_handle(object), count);
    return gate();
}
EXPORT int cuGraphRetainUserObject(CUgraph_st* graph, CUuserObject_st* object, unsigned count, unsigned flags) {
    if (const int code = gate(); code != success) return code;
    const auto lock = locked();
    if (flags != gf::driver::user_object_move) of_handle(object)->references += count;
    for (unsigned i = 0; i < count; ++i) graph->owned.objects.push_back(of_handle(object));
    return success;
}
