// A sweep's schedule: how its kernel walks the domain (threads, width, slabs in flight). It tunes for a GPU and changes
// no bit. For one problem it follows from the plan; for many it is chosen when they are bound.
#pragma once

#include <cstdint>

#include <gridfold/fusion/plan.hpp>

namespace gf::cuda {

using namespace plan;

/// The number of problems that one launch of a kernel runs.
enum class Problems : std::uint8_t {
    one, ///< the kernel's parameters are the problem's
    /// The kernel has two parameters, pointers to device memory. The first points to a record for each problem: the
    /// number of its blocks, then the values of the parameters, 8 bytes each. The second points to a place for each
    /// block: its problem | its number in the problem << 32; if null, each problem has one block.
    many,
};

/// threads · width = slab_elements (order.hpp) in kernels that fold.
struct Schedule {
    Problems problems = Problems::one;
    int threads = 0;
    int width = 0;             ///< elements of a thread in one slab
    int in_flight = 1;         ///< slabs loaded before the first is folded
    int windows_in_flight = 1; ///< the same for unaligned arrays
    int resident = 1;          ///< minimum blocks on a multiprocessor, in __launch_bounds__
    bool tail_early = false;   ///< the tail (a partial slab) is loaded together with the slabs in flight
    int collects = 1;          ///< most blocks whose states one thread collects

    /// The elements that a block processes at a time.
    std::int64_t slab() const { return std::int64_t{threads} * width; }
    friend bool operator==(const Schedule&, const Schedule&) = default;
};
/// `blocks`: the number of blocks of the launch; used for many problems.
Schedule choose_schedule(const Plan& plan, const Sweep& sweep, Problems problems = Problems::one,
                         std::int64_t blocks = 0);
/// The next schedule to try after a kernel of `registers` registers spilled `spilled_bytes` bytes a thread: with fewer
/// resident blocks, of which there must be more than one.
Schedule with_fewer_resident(const Schedule& schedule, int registers, int spilled_bytes);
/// Bytes of one element of all arrays that the sweep loads.
int loaded_bytes(const Plan& plan, const Sweep& sweep);

} // namespace gf::cuda
