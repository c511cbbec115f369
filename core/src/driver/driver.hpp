// The table of CUDA driver entry points, loading it, and checking calls.
//
// The first device query fills the table from libcuda.so.1, once, in whichever thread comes first. Tests install
// another table. Types are declared here with cuda.h's layout, so that no CUDA header is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gridfold/core/device.hpp>
#include <gridfold/core/error.hpp>

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;
struct CUkern_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;
struct CUuserObject_st;

namespace gf::driver {

using Address = unsigned long long; ///< CUdeviceptr
using Id = std::uint64_t;           ///< cuuint64_t

/// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNodeParams {
    CUfunc_st* function;
    unsigned grid_x, grid_y, grid_z;
    unsigned block_x, block_y, block_z;
    unsigned shared_bytes;
    void** parameters;
    void** extra;
    CUkern_st* kernel;
    CUctx_st* context;
};

/// CUlaunchAttributeValue
struct AttributeValue {
    alignas(8) int yes;
    char unused[60]; // of the union's 64 bytes
};

/// CUlaunchAttribute
struct LaunchAttribute {
    int id;
    AttributeValue value;
};

/// CUlaunchConfig
struct LaunchConfig {
    unsigned grid_x, grid_y, grid_z;
    unsigned block_x, block_y, block_z;
    unsigned shared_bytes;
    CUstream_st* stream;
    LaunchAttribute* attributes;
    unsigned attribute_count;
};

/// CUgraphEdgeData
struct EdgeData {
    unsigned char from_port, to_port, type;
    unsigned char reserved[5];
};

// The values used from cuda.h's enums. ENUM rows: our name, cuda.h's name, value.
#define GRIDFOLD_DRIVER_VALUES(ENUM)                                                       \
    ENUM(success, CUDA_SUCCESS, 0)                                                         \
    ENUM(deinitialized, CUDA_ERROR_DEINITIALIZED, 4)                                       \
    ENUM(no_device, CUDA_ERROR_NO_DEVICE, 100)                                             \
    ENUM(ecc_uncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE, 214)                             \
    ENUM(nvlink_uncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE, 220)                       \
    ENUM(not_ready, CUDA_ERROR_NOT_READY, 600)                                             \
    ENUM(illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                 \
    ENUM(launch_timeout, CUDA_ERROR_LAUNCH_TIMEOUT, 702)                                   \
    ENUM(context_is_destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED, 709)                       \
    ENUM(assert_failed, CUDA_ERROR_ASSERT, 710)                                            \
    ENUM(hardware_stack_error, CUDA_ERROR_HARDWARE_STACK_ERROR, 714)                       \
    ENUM(illegal_instruction, CUDA_ERROR_ILLEGAL_INSTRUCTION, 715)                         \
    ENUM(misaligned_address, CUDA_ERROR_MISALIGNED_ADDRESS, 716)                           \
    ENUM(invalid_address_space, CUDA_ERROR_INVALID_ADDRESS_SPACE, 717)                     \
    ENUM(invalid_pc, CUDA_ERROR_INVALID_PC, 718)                                           \
    ENUM(launch_failed, CUDA_ERROR_LAUNCH_FAILED, 719)                                     \
    ENUM(cooperative_too_large, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720)              \
    ENUM(invalid_cluster_size, CUDA_ERROR_INVALID_CLUSTER_SIZE, 912)                       \
    ENUM(multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)               \
    ENUM(most_threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39)             \
    ENUM(cooperative_launch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 95)                   \
    ENUM(capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)               \
    ENUM(capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)               \
    ENUM(most_shared_bytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)     \
    ENUM(cluster_launch, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 120)                          \
    ENUM(function_local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3)                      \
    ENUM(function_registers, CU_FUNC_ATTRIBUTE_NUM_REGS, 4)                                \
    ENUM(function_shared_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)        \
    ENUM(function_large_clusters, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 14) \
    ENUM(launch_cooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 2)                           \
    ENUM(launch_overlapping, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 6)     \
    ENUM(pointer_memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2)                         \
    ENUM(pointer_is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, 8)                           \
    ENUM(pointer_device_ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9)                   \
    ENUM(memory_type_host, CU_MEMORYTYPE_HOST, 1)                                          \
    ENUM(memory_type_device, CU_MEMORYTYPE_DEVICE, 2)                                      \
    ENUM(host_portable, CU_MEMHOSTALLOC_PORTABLE, 1)                                       \
    ENUM(host_mapped, CU_MEMHOSTALLOC_DEVICEMAP, 2)                                        \
    ENUM(stream_blocking, CU_STREAM_DEFAULT, 0)                                            \
    ENUM(stream_non_blocking, CU_STREAM_NON_BLOCKING, 1)                                   \
    ENUM(event_no_timing, CU_EVENT_DISABLE_TIMING, 2)                                      \
    ENUM(capture_none, CU_STREAM_CAPTURE_STATUS_NONE, 0)                                   \
    ENUM(capture_active, CU_STREAM_CAPTURE_STATUS_ACTIVE, 1)                               \
    ENUM(capture_relaxed, CU_STREAM_CAPTURE_MODE_RELAXED, 2)                               \
    ENUM(user_object_no_sync, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, 1)                        \
    ENUM(user_object_move, CU_GRAPH_USER_OBJECT_MOVE, 1)

// Values that exist since CUDA 12.3.
#define GRIDFOLD_NEWER_DRIVER_VALUES(ENUM)                            \
    ENUM(edge_programmatic, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, 1) \
    ENUM(port_programmatic, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, 1)

#define GRIDFOLD_ENUM(name, theirs, value) inline constexpr int name = value;
GRIDFOLD_DRIVER_VALUES(GRIDFOLD_ENUM)
GRIDFOLD_NEWER_DRIVER_VALUES(GRIDFOLD_ENUM)
#undef GRIDFOLD_ENUM

/// The result of a call: its CUresult, and the name of the entry point.
struct Outcome {
    int code;
    const char* call;
};

/// One entry point: called like a function.
template <class Signature> struct Entry;
template <class... Args> struct Entry<int(Args...)> {
    const char* symbol;
    int (*function)(Args...) = nullptr;
    Outcome operator()(Args... args) const { return {function(args...), symbol}; }
};

struct Table {
#define DRIVER(member, symbol, parameters) Entry<int parameters> member{#symbol};
#include "driver/driver.def"
#undef DRIVER
};

/// The oldest driver with every DRIVER entry point, in cuDriverGetVersion's numbering.
inline constexpr int oldest_driver = 12000;

/// The table. Throws DeviceError, with the reason, if CUDA cannot be used.
const Table& table();
/// The table, or null if CUDA cannot be used: for destructors and queries that must not fail.
const Table* table_or_null() noexcept;
/// table_or_null(), after probing the driver if the process has loaded it. Asks the loader once, and again only after
/// the process has loaded another object.
const Table* table_if_loaded();

/// The result of probing a driver library: a table and devices, or the reason why it cannot be used.
struct Probe {
    Table table;
    bool usable = false;
    int version = 0; ///< in cuDriverGetVersion's numbering
    std::string reason;
    std::vector<Device> devices;
};
Probe probe_library(const char* library);
Probe probe_table(const Table& table);

/// For tests: replaces the driver's table, or (null) makes the next query probe the driver again. Not while other
/// threads use CUDA.
void install(const Table* table);

/// The version of the driver in use, in cuDriverGetVersion's numbering; 0 if none is. Loads nothing.
int loaded_version() noexcept;

/// The primary context of a device, retained from its first use until the process ends, as in the CUDA runtime.
CUctx_st* primary_context(int ordinal);

/// The source line of a call: std::source_location, which clang 14 lacks with libstdc++.
struct Here {
    const char* file;
    int line;
    static constexpr Here current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
        return {file, line};
    }
};

/// Throws DeviceError, with the call and CUDA's message, unless the call succeeded.
void check(Outcome outcome, Here here = Here::current());
/// check() for calls that test whether work has finished: false if it has not.
bool check_ready(Outcome outcome, Here here = Here::current());
/// check() for destructors: prints to stderr, once a process. Silent after CUDA itself has shut down.
void report(Outcome outcome, Here here = Here::current()) noexcept;

} // namespace gf::driver
