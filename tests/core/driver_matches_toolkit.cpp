// Compares our declarations of the driver's and NVRTC's entry points, structs and enum values with the toolkit's
// headers at compile time. Built only if the toolkit is installed.
#include <type_traits>

#include "driver/driver.hpp"
#include "driver/nvrtc_table.hpp"

#define __CUDA_API_VERSION_INTERNAL // every version of every entry point is declared
#include <cuda.h>
#include <nvrtc.h>

namespace {

/// True if both types are passed in the same way. Ours are int for the toolkit's enums, and our own structs for its
/// structs.
template <class Ours, class Theirs> constexpr bool alike() {
    if constexpr (std::is_same_v<Ours, Theirs>)
        return true;
    else if constexpr (std::is_enum_v<Theirs>)
        return std::is_integral_v<Ours> && sizeof(Ours) == sizeof(Theirs);
    else if constexpr (std::is_function_v<std::remove_pointer_t<Ours>>)
        return false;
    else if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>)
        return std::is_const_v<std::remove_pointer_t<Ours>> == std::is_const_v<std::remove_pointer_t<Theirs>> &&
               alike<std::remove_cv_t<std::remove_pointer_t<Ours>>, std::remove_cv_t<std::remove_pointer_t<Theirs>>>();
    else
        return (std::is_same_v<Ours, gf::driver::KernelNodeParams> &&
                std::is_same_v<Theirs, CUDA_KERNEL_NODE_PARAMS_v2>) ||
               (std::is_same_v<Ours, gf::driver::LaunchConfig> && std::is_same_v<Theirs, CUlaunchConfig>) ||
               (std::is_same_v<Ours, gf::driver::AttributeValue> && std::is_same_v<Theirs, CUlaunchAttributeValue>)
#if CUDA_VERSION >= 12030
               || (std::is_same_v<Ours, gf::driver::EdgeData> && std::is_same_v<Theirs, CUgraphEdgeData>)
#endif
            ;
}

template <class Ours, class Theirs> struct Signatures;
template <class R, class... Ours, class S, class... Theirs> struct Signatures<R(Ours...), S(Theirs...)> {
    static constexpr bool match() {
        if constexpr (sizeof...(Ours) == sizeof...(Theirs))
            return alike<R, S>() && (alike<Ours, Theirs>() && ...);
        else
            return false;
    }
};

namespace table {
using namespace gf::driver; // the rows name its types
#define DRIVER(member, symbol, parameters) \
    static_assert(Signatures<int parameters, std::remove_pointer_t<decltype(&::symbol)>>::match(), #symbol);
#if CUDA_VERSION < 12030
#define NEWER_DRIVER(member, symbol, parameters)
#endif
#include "driver/driver.def"
#undef DRIVER
#define NVRTC(member, symbol, parameters) \
    static_assert(Signatures<int parameters, std::remove_pointer_t<decltype(&::symbol)>>::match(), #symbol);
#include "driver/nvrtc.def"
#undef NVRTC
} // namespace table

#define ENUM(name, theirs, value) static_assert(gf::driver::name == static_cast<int>(theirs), #theirs);
GRIDFOLD_DRIVER_VALUES(ENUM)
#if CUDA_VERSION >= 12030
GRIDFOLD_NEWER_DRIVER_VALUES(ENUM)
#endif
#undef ENUM
static_assert(gf::nvrtc::success == NVRTC_SUCCESS && gf::nvrtc::compilation_failed == NVRTC_ERROR_COMPILATION);
static_assert(std::is_same_v<gf::driver::Address, CUdeviceptr> && std::is_same_v<int, CUdevice>);

#define FIELD(of_ours, ours, of_theirs, theirs) \
    static_assert(offsetof(gf::driver::of_ours, ours) == offsetof(of_theirs, theirs), #theirs)
#define KERNEL_NODE(ours, theirs) FIELD(KernelNodeParams, ours, CUDA_KERNEL_NODE_PARAMS_v2, theirs)
KERNEL_NODE(function, func);
KERNEL_NODE(grid_x, gridDimX);
KERNEL_NODE(grid_y, gridDimY);
KERNEL_NODE(grid_z, gridDimZ);
KERNEL_NODE(block_x, blockDimX);
KERNEL_NODE(block_y, blockDimY);
KERNEL_NODE(block_z, blockDimZ);
KERNEL_NODE(shared_bytes, sharedMemBytes);
KERNEL_NODE(parameters, kernelParams);
KERNEL_NODE(extra, extra);
KERNEL_NODE(kernel, kern);
KERNEL_NODE(context, ctx);
static_assert(sizeof(gf::driver::KernelNodeParams) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2));

#if CUDA_VERSION >= 12030
FIELD(EdgeData, from_port, CUgraphEdgeData, from_port);
FIELD(EdgeData, to_port, CUgraphEdgeData, to_port);
FIELD(EdgeData, type, CUgraphEdgeData, type);
static_assert(sizeof(gf::driver::EdgeData) == sizeof(CUgraphEdgeData));
#endif

#define LAUNCH(ours, theirs) FIELD(LaunchConfig, ours, CUlaunchConfig, theirs)
LAUNCH(grid_x, gridDimX);
LAUNCH(grid_y, gridDimY);
LAUNCH(grid_z, gridDimZ);
LAUNCH(block_x, blockDimX);
LAUNCH(block_y, blockDimY);
LAUNCH(block_z, blockDimZ);
LAUNCH(shared_bytes, sharedMemBytes);
LAUNCH(stream, hStream);
LAUNCH(attributes, attrs);
LAUNCH(attribute_count, numAttrs);
static_assert(sizeof(gf::driver::LaunchConfig) == sizeof(CUlaunchConfig));
FIELD(LaunchAttribute, id, CUlaunchAttribute, id);
FIELD(LaunchAttribute, value.yes, CUlaunchAttribute, value.programmaticStreamSerializationAllowed);
FIELD(LaunchAttribute, value.yes, CUlaunchAttribute, value.cooperative);
static_assert(sizeof(gf::driver::AttributeValue) == sizeof(CUlaunchAttributeValue));
static_assert(sizeof(gf::driver::LaunchAttribute) == sizeof(CUlaunchAttribute));

} // namespace
