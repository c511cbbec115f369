// The device side of bound problems: one allocation for all memory that is not the caller's, and the launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/stream.hpp>
#include <gridfold/fusion/backend.hpp>

#include "cuda/launch.hpp"
#include "cuda/loaded_plan.hpp"

namespace gf::cuda {

/// Joins: whether chains whose rows registers can hold are joined.
enum class Joins : bool { none, all };
/// The schedules of a launch of these problems. Those for one problem depend on the alignment and strides of the
/// arrays, and for rows on their length and number. `in_use`: the kernels so far, or null; those that read unaligned
/// arrays in windows stay, for one problem.
Schedules choose_schedules(const PlanLoader& loader, Problems problems, const Bound& bound, Joins joins,
                           const LoadedPlan* in_use = nullptr);
/// True if the kernels read the strides that are bound, no array by coordinates that has none, and no unaligned array
/// one element at a time where windows are possible; and if they join the chains that they can.
bool reads_fast(const PlanLoader& loader, const LoadedPlan& loaded, const Bound& bound, Joins joins);

/// The division of a sweep's workspace; another one needs memory that is zero.
struct WorkspaceForm {
    std::size_t at = 0;
    std::int64_t parts = 0, blocks = 0, slab_results = 0, results = 0;
    std::size_t bytes = 0; ///< where thread blocks cooperate, in as many groups as the device has room for
    friend bool operator==(const WorkspaceForm&, const WorkspaceForm&) = default;
};

/// The layout of the allocation: scalars, workspaces, tables (of kernels for many problems), and the arrays that are
/// not in the caller's device memory. All parts are aligned to 256 bytes, so that no two problems' words share a line.
struct Layout {
    std::size_t workspaces_at = 0, tables_at = 0, arrays_at = 0; ///< scalars are at 0
    std::size_t bytes = 0;
    std::vector<std::vector<std::uint32_t>> blocks;   ///< by sweep, by problem
    std::vector<std::vector<std::size_t>> workspaces; ///< by sweep, by problem: where it is; 0 = none
    std::vector<WorkspaceForm> forms;                 ///< of one problem, by sweep: if it changes, so do the slots
    std::vector<std::size_t> records, places;         ///< by sweep: Problems::many's two parameters; place 0 = null
    std::vector<std::size_t> arrays;                  ///< by problem, by array: where it is; 0 = in the caller's memory
};

/// Throws InvalidBinding for problems that exceed the limits of a launch.
Layout lay_out(const LoadedPlan& loaded, const Bound& problems);

/// The launches of all sweeps, and their tables.
struct DeviceSide {
    std::vector<void*> arrays; ///< by problem, by Plan::arrays: the device address
    std::vector<SweepLaunch> launches;
    std::vector<std::byte> tables; ///< from Layout::tables_at on
};

/// If `host` (mapped memory of 24 bytes a scalar) is not null, sweeps that yield a result also write it there.
DeviceSide make_device_side(const LoadedPlan& loaded, const Bound& problems, const Layout& layout,
                            const DeviceBuffer& memory, void* host);

/// Initialises the memory for a first launch and waits until that is done: no scalar was yielded, workspaces are zero.
void make_ready(const DeviceBuffer& memory, const Layout& layout, const DeviceSide& side, const Stream& stream);

} // namespace gf::cuda
