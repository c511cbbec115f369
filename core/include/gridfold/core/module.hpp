// Loaded kernels, and launching one in a stream.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <gridfold/core/device.hpp>
#include <gridfold/core/handle.hpp>
#include <gridfold/core/stream.hpp>

struct CUmod_st;
struct CUfunc_st;

namespace gf {

/// A kernel of a Module, valid while that lives.
struct KernelView {
    CUfunc_st* function = nullptr;
};

/// What the driver knows of a loaded kernel.
struct KernelFacts {
    int registers = 0;   ///< a thread
    int local_bytes = 0; ///< a thread: spilled registers and local arrays
};

namespace detail {
void release(int device, CUmod_st* module) noexcept;
}

/// Owns code loaded on one device.
class Module {
public:
    Module() = default;
    /// `image` is a cubin or PTX. Throws DeviceError where the device cannot run it.
    Module(int device, const std::string& image);

    /// The kernel with this (extern "C") name.
    KernelView kernel(const std::string& name) const;

private:
    Handle<CUmod_st, detail::release> module_;
};

KernelFacts facts_of(KernelView kernel, int device);

/// One launch: a one-dimensional grid of one-dimensional blocks, no dynamic shared memory. `parameters` has the address
/// of each parameter's value; both are read during the call that takes the Launch, and not after.
struct Launch {
    KernelView kernel;
    std::uint32_t blocks = 1;
    std::uint32_t threads = 1;
    void** parameters = nullptr;
    /// The kernel waits by itself (griddepcontrol.wait, in every thread that reads or writes what others do) for what
    /// comes before it in the stream or graph: it may start while a kernel before it ends. Only where
    /// kernels_may_overlap(). A GraphExec keeps what it was made with: an update does not change it.
    bool may_overlap = false;
};

/// Can a kernel of this device start while the one before it in its stream ends?
bool kernels_may_overlap(const Device& device);

/// Launches in stream order; the device's primary context must be current. Works while the stream is capturing.
void launch(const Launch& what, StreamView stream);

} // namespace gf
