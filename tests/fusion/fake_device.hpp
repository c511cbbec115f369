// A device of plain host memory behind the driver table: copies at once, executes launches by calling a C++ function, and can
// fail its N-th call. Enough to run the runner of the CUDA backend, with hand-made kernels, anywhere.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driver/driver.hpp"

namespace gf::testing {

/// What a CUfunction points to here.
struct FakeKernel {
    std::size_t parameters = 0;
    std::function<void(unsigned blocks, const std::vector<std::uint64_t>& values)> body;
};

struct FakeNode {
    const FakeKernel* kernel;
    unsigned blocks;
    std::vector<std::uint64_t> values;
    void run() const { kernel->body(blocks, values); }
};

struct FakeDeviceState {
    std::map<void*, std::size_t> memory; ///< device and page-locked allocations that live
    int objects = 0;                     ///< streams, events, graphs and instantiated graphs that live
    long calls = 0;                      ///< that may fail
    long fail_at = -1;                   ///< the number of the call that fails; −1 = none
    int fail_with = 2;
    int sticky = 0;                  ///< from now on every call gives this
    bool never_finish_words = false; ///< kernels run, but what they tell the host is lost
    int updates = 0, instantiations = 0, allocations = 0, waits = 0;
    bool capturing = false;
    std::vector<FakeNode> captured;
    std::vector<std::pair<void*, void (*)(void*)>> user_objects;
};
inline FakeDeviceState fake;

/// The outcome of a call that can fail.
inline int gate() {
    if (fake.sticky != 0) return fake.sticky;
    return fake.calls++ == fake.fail_at ? fake.fail_with : 0;
}

inline FakeNode to_node(CUfunc_st* function, unsigned blocks, void** parameters) {
    const auto* kernel = reinterpret_cast<const FakeKernel*>(function);
    FakeNode node{kernel, blocks, {}};
    for (std::size_t i = 0; i < kernel->parameters; ++i)
        node.values.push_back(*static_cast<std::uint64_t*>(parameters[i]));
    return node;
}

template <class Handle> int make_object(Handle** handle) {
    if (const int code = gate()) return code;
    ++fake.objects;
    *handle = reinterpret_cast<Handle*>(new char);
    return 0;
}
template <class Handle> int drop_object(Handle* handle) {
    --fake.objects;
    delete reinterpret_cast<char*>(handle);
    return 0;
}
inline int make_memory(void** address, std::size_t bytes) {
    if (const int code = gate()) return code;
    *address = std::malloc(bytes);
    std::memset(*address, 0xcd, bytes);
    fake.memory[*address] = bytes;
    ++fake.allocations;
    return 0;
}
inline int drop_memory(void* address) {
    if (fake.memory.erase(address) == 0) return 1;
    std::free(address);
    return 0;
}
inline void* to_pointer(driver::Address address) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

/// What CUDA does when the last owner of a user object is gone.
inline void fake_let_go(std::size_t object) {
    const auto [pointer, destroy] = std::exchange(fake.user_objects[object], {nullptr, nullptr});
    if (pointer != nullptr) destroy(pointer);
}

using FakeNodes = std::vector<FakeNode>;
inline std::map<CUgraph_st*, FakeNodes> fake_graphs;
inline std::map<CUgraphExec_st*, FakeNodes> fake_execs;

inline driver::Table fake_device_table() {
    driver::Table t;
    // Finding the device never fails here: driver_test.cpp has that.
    t.init.function = [](unsigned) { return 0; };
    t.driver_get_version.function = [](int* version) { return *version = 13000, 0; };
    t.get_error_name.function = [](int, const char** name) { return *name = "CUDA_ERROR_FAKE", 0; };
    t.get_error_string.function = [](int, const char** text) { return *text = "a fake failure", 0; };
    t.device_get_count.function = [](int* count) { return *count = 1, 0; };
    t.device_get.function = [](int* device, int) { return *device = 0, 0; };
    t.device_get_name.function = [](char* name, int, int) { return std::strcpy(name, "Fake"), 0; };
    t.device_total_mem.function = [](std::size_t* bytes, int) { return *bytes = 1 << 30, 0; };
    t.device_get_attribute.function = [](int* value, int, int) { return *value = 9, 0; };
    t.primary_retain.function = [](CUctx_st** context, int) { return *context = reinterpret_cast<CUctx_st*>(1), 0; };
    t.ctx_get_current.function = [](CUctx_st** context) { return *context = reinterpret_cast<CUctx_st*>(1), 0; };

    t.mem_alloc.function = [](driver::Address* address, std::size_t bytes) {
        void* made = nullptr;
        const int code = make_memory(&made, bytes);
        *address = reinterpret_cast<std::uintptr_t>(made);
        return code;
    };
    t.mem_free.function = [](driver::Address address) { return drop_memory(to_pointer(address)); };
    t.mem_host_alloc.function = [](void** address, std::size_t bytes, unsigned) { return make_memory(address, bytes); };
    t.mem_free_host.function = [](void* address) { return drop_memory(address); };
    t.mem_host_get_device_pointer.function = [](driver::Address* address, void* host, unsigned) {
        if (const int code = gate()) return code;
        return *address = reinterpret_cast<std::uintptr_t>(host), 0;
    };
    t.copy_to_device.function = [](driver::Address to, const void* from, std::size_t bytes, CUstream_st*) {
        if (const int code = gate()) return code;
        return std::memcpy(to_pointer(to), from, bytes), 0;
    };
    t.copy_to_host.function = [](void* to, driver::Address from, std::size_t bytes, CUstream_st*) {
        if (const int code = gate()) return code;
        return std::memcpy(to, to_pointer(from), bytes), 0;
    };
    t.memset_d8.function = [](driver::Address to, unsigned char byte, std::size_t bytes, CUstream_st*) {
        if (const int code = gate()) return code;
        return std::memset(to_pointer(to), byte, bytes), 0;
    };
    t.pointer_get_attribute.function = [](void*, int, driver::Address) { return 1; }; // ordinary host memory

    t.stream_create.function = [](CUstream_st** stream, unsigned) { return make_object(stream); };
    t.stream_destroy.function = [](CUstream_st* stream) { return drop_object(stream); };
    t.stream_synchronize.function = [](CUstream_st*) { return gate(); };
    t.stream_wait_event.function = [](CUstream_st*, CUevent_st*, unsigned) { return gate(); };
    t.stream_is_capturing.function = [](CUstream_st*, int* status) { return *status = fake.capturing ? 1 : 0, gate(); };
    t.stream_get_capture_info.function = [](CUstream_st*, int* status, driver::Id*, CUgraph_st** graph,
                                            CUgraphNode_st* const**, std::size_t*) {
        *status = fake.capturing ? 1 : 0;
        *graph = nullptr;
        return gate();
    };
    t.thread_exchange_capture_mode.function = [](int* mode) {
        static int current = 0;
        return std::swap(current, *mode), 0;
    };

    t.event_create.function = [](CUevent_st** event, unsigned) { return make_object(event); };
    t.event_destroy.function = [](CUevent_st* event) { return drop_object(event); };
    t.event_record.function = [](CUevent_st*, CUstream_st*) { return gate(); };
    t.event_query.function = [](CUevent_st*) { return gate(); };
    t.event_synchronize.function = [](CUevent_st*) { return ++fake.waits, gate(); };
    t.launch_kernel.function = [](CUfunc_st* function, unsigned blocks, unsigned, unsigned, unsigned, unsigned,
                                  unsigned, unsigned, CUstream_st*, void** parameters, void**) {
        if (const int code = gate()) return code;
        fake.captured.push_back(to_node(function, blocks, parameters));
        return 0;
    };

    t.graph_create.function = [](CUgraph_st** graph, unsigned) { return make_object(graph); };
    t.graph_destroy.function = [](CUgraph_st* graph) { return fake_graphs.erase(graph), drop_object(graph); };
    t.graph_add_kernel_node.function = [](CUgraphNode_st** node, CUgraph_st* graph, CUgraphNode_st* const*, std::size_t,
                                          const driver::KernelNodeParams* p) {
        if (const int code = gate()) return code;
        FakeNodes& nodes = fake_graphs[graph];
        nodes.push_back(to_node(p->function, p->grid_x, p->parameters));
        *node = reinterpret_cast<CUgraphNode_st*>(nodes.size());
        return 0;
    };
    t.graph_instantiate.function = [](CUgraphExec_st** exec, CUgraph_st* graph, unsigned long long) {
        const int code = make_object(exec);
        if (code == 0) fake_execs[*exec] = fake_graphs[graph];
        ++fake.instantiations;
        return code;
    };
    t.graph_exec_set_kernel.function = [](CUgraphExec_st* exec, CUgraphNode_st* node,
                                          const driver::KernelNodeParams* p) {
        if (const int code = gate()) return code;
        ++fake.updates;
        fake_execs[exec][reinterpret_cast<std::uintptr_t>(node) - 1] = to_node(p->function, p->grid_x, p->parameters);
        return 0;
    };
    t.graph_launch.function = [](CUgraphExec_st* exec, CUstream_st*) {
        if (const int code = gate()) return code;
        for (const FakeNode& node : fake_execs[exec]) node.run();
        return 0;
    };
    t.graph_exec_destroy.function = [](CUgraphExec_st* exec) { return fake_execs.erase(exec), drop_object(exec); };
    t.user_object_create.function = [](CUuserObject_st** object, void* pointer, void (*destroy)(void*), unsigned,
                                       unsigned) {
        if (const int code = gate()) return code;
        fake.user_objects.emplace_back(pointer, destroy);
        *object = reinterpret_cast<CUuserObject_st*>(fake.user_objects.size());
        return 0;
    };
    t.user_object_release.function = [](CUuserObject_st* object, unsigned) {
        fake_let_go(reinterpret_cast<std::uintptr_t>(object) - 1);
        return 0;
    };
    t.graph_retain_user_object.function = [](CUgraph_st*, CUuserObject_st*, unsigned, unsigned) { return gate(); };
    return t;
}

/// Puts the fake device in use while it lives.
struct FakeDevice {
    FakeDevice() {
        fake = {};
        const driver::Table table = fake_device_table();
        driver::install(&table);
    }
    FakeDevice(const FakeDevice&) = delete;
    FakeDevice& operator=(const FakeDevice&) = delete;
    ~FakeDevice() { driver::install(nullptr); }
};

} // namespace gf::testing
