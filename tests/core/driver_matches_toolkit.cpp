// Holds our declarations of the driver's and NVRTC's entry points, structs and enum values against the toolkit's headers.
// Built only where there is a toolkit; everything is checked while compiling.
#include <type_traits>

#include "driver/driver.hpp"
#include "driver/nvrtc_table.hpp"

#define __CUDA_API_VERSION_INTERNAL // every version of every entry point is declared
#include <cuda.h>
#include <nvrtc.h>

namespace {

/// Are the two types passed alike? Ours has int where theirs has an enum, and our struct for theirs.
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
        return std::is_same_v<Ours, gf::driver::KernelNodeParams> && std::is_same_v<Theirs, CUDA_KERNEL_NODE_PARAMS_v2>;
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
#include "driver/driver.def"
#undef DRIVER
#define NVRTC(member, symbol, parameters) \
    static_assert(Signatures<int parameters, std::remove_pointer_t<decltype(&::symbol)>>::match(), #symbol);
#include "driver/nvrtc.def"
#undef NVRTC
} // namespace table

#define ENUM(name, theirs, value) static_assert(gf::driver::name == static_cast<int>(theirs), #theirs);
GRIDFOLD_DRIVER_VALUES(ENUM)
#undef ENUM
static_assert(gf::nvrtc::success == NVRTC_SUCCESS && gf::nvrtc::compilation_failed == NVRTC_ERROR_COMPILATION);
static_assert(std::is_same_v<gf::driver::Address, CUdeviceptr> && std::is_same_v<int, CUdevice>);

#define FIELD(ours, theirs) \
    static_assert(offsetof(gf::driver::KernelNodeParams, ours) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, theirs), #theirs)
FIELD(function, func);
FIELD(grid_x, gridDimX);
FIELD(grid_y, gridDimY);
FIELD(grid_z, gridDimZ);
FIELD(block_x, blockDimX);
FIELD(block_y, blockDimY);
FIELD(block_z, blockDimZ);
FIELD(shared_bytes, sharedMemBytes);
FIELD(parameters, kernelParams);
FIELD(extra, extra);
FIELD(kernel, kern);
FIELD(context, ctx);
static_assert(sizeof(gf::driver::KernelNodeParams) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2));

} // namespace
