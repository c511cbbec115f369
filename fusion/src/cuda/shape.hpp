// How a sweep's slabs are shared out among a GPU's threads: what tunes a device and changes no bit.
#pragma once

#include <cstdint>

#include <gridfold/fusion/plan.hpp>

namespace gf::cuda {

using namespace plan;

/// How many problems one launch of a kernel runs.
enum class Problems : std::uint8_t {
    one, ///< its parameters are the kernel's
    /// The kernel has two parameters, pointers to device memory. The first has a record for each problem: its first
    /// block | the number of its blocks << 32, then what the parameters would be, 8 bytes each. The second has the
    /// number of the problem of each block, 32 bits; null: it is the block's number. A problem's blocks are neighbours.
    many,
};

/// threads · width = slab_elements (order.hpp) where anything is folded.
struct Shape {
    int threads;
    int width;                 ///< elements of one slab that a thread has
    int in_flight = 1;         ///< slabs loaded before the first is folded
    int windows_in_flight = 1; ///< the same where arrays are not aligned
    int resident = 1;          ///< blocks a multiprocessor that the compiler leaves registers for
    bool tail_early = false;   ///< the tail (a partial slab) is loaded together with the slabs in flight
    int collects = 1;          ///< of how many blocks a thread collects the states, at most
};
Shape choose_shape(const Plan& plan, const Sweep& sweep, Problems problems = Problems::one);
/// Bytes of one element, from every array that the sweep loads.
int loaded_bytes(const Plan& plan, const Sweep& sweep);
/// True if anything is read by an element's coordinates: one of them itself, where the domain has several dims, or an
/// array that is not flat.
bool by_coordinates(const Plan& plan, const Sweep& sweep);

} // namespace gf::cuda
