// The shape of a sweep's kernel: threads, width and slabs in flight. It tunes for a GPU and changes no bit.
#pragma once

#include <cstdint>

#include <gridfold/fusion/plan.hpp>

namespace gf::cuda {

using namespace plan;

/// The number of problems that one launch of a kernel runs.
enum class Problems : std::uint8_t {
    one, ///< the kernel's parameters are the problem's
    /// The kernel has two parameters, pointers to device memory. The first points to a record for each problem: its
    /// first block | the number of its blocks << 32, then the values of the parameters, 8 bytes each. The second points
    /// to the problem's number of each block, 32 bits; if null, it is the block's number. A problem's blocks are
    /// consecutive.
    many,
};

/// threads · width = slab_elements (order.hpp) in kernels that fold.
struct Shape {
    int threads;
    int width;                 ///< elements of a thread in one slab
    int in_flight = 1;         ///< slabs loaded before the first is folded
    int windows_in_flight = 1; ///< the same for unaligned arrays
    int resident = 1;          ///< minimum blocks on a multiprocessor, in __launch_bounds__
    bool tail_early = false;   ///< the tail (a partial slab) is loaded together with the slabs in flight
    int collects = 1;          ///< most blocks whose states one thread collects
};
Shape choose_shape(const Plan& plan, const Sweep& sweep, Problems problems = Problems::one);
/// Bytes of one element of all arrays that the sweep loads.
int loaded_bytes(const Plan& plan, const Sweep& sweep);

} // namespace gf::cuda
