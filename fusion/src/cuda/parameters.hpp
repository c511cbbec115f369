// The parameters of a sweep's kernel: the schedule counts them, the emitter declares them, a launch computes their
// values.
#pragma once

#include <cstdint>
#include <vector>

#include <gridfold/fusion/plan.hpp>

namespace gf::cuda {

using namespace plan;

/// The device text that runs a kernel: flat.cuh, rows.cuh, warp_rows.cuh, thread_rows.cuh, run_rows.cuh, held_rows.cuh,
/// held_thread_rows.cuh, boxes.cuh, columns.cuh, tiles.cuh.
enum class Course : std::uint8_t {
    flat,             ///< folds everything, or nothing
    rows,             ///< folds that keep the leading dims alone: a thread block folds each block of a row
    warp_rows,        ///< the same: a warp folds each block of a row, or several short rows
    thread_rows,      ///< the same: a thread folds each of several short rows
    run_rows,         ///< the same: a warp folds each block of a row, its threads neighbouring lanes
    held_rows,        ///< several phases of such folds: threads hold the rows' elements
    held_thread_rows, ///< the same: a thread holds each of several short rows
    boxes,            ///< folds that keep any dims
    columns,          ///< the same, of two merged dims: threads fold packs of columns
    tiles,            ///< folds nothing, and accesses an array whose memory runs across the domain's rows
};

/// True for the courses of folds that keep dims.
constexpr bool folds_parts(Course course) { return course != Course::flat && course != Course::tiles; }
/// True for the courses where a warp, a thread block, a cluster or a grid has whole rows.
constexpr bool has_whole_rows(Course course) {
    return course == Course::warp_rows || course == Course::thread_rows || course == Course::run_rows ||
           course == Course::held_rows || course == Course::held_thread_rows;
}
/// True for the courses of joined sweeps (plan/join_phases.hpp).
constexpr bool has_phases(Course course) { return course == Course::held_rows || course == Course::held_thread_rows; }
/// True for the courses of rows.
constexpr bool is_of_rows(Course course) { return course == Course::rows || has_whole_rows(course); }
/// True where the thread blocks of one part exchange states, in memory of the part's own (device/exchange.cuh).
constexpr bool exchanges_by_part(Course course) { return folds_parts(course) && !has_whole_rows(course); }
/// True for the courses whose threads have neighbouring results, and finish them in packs.
constexpr bool packs_results(Course course) { return course == Course::boxes || course == Course::columns; }

/// The meaning of one kernel parameter.
enum class ParameterKind : std::uint8_t {
    loaded,        ///< a pointer: the address of `array`; 8 bytes
    stored,        ///< a pointer: the address of `array`; 8 bytes
    parameter,     ///< the value of the plan's parameter that `value` reads, in its own size (bool: 1 byte)
    elements,      ///< the element count of the sweep's domain, of a row in the courses of rows; 8 bytes, signed
    extent,        ///< the extent of `dim`; 8 bytes, signed
    row_extent,    ///< the same, for the kept dims in the course of rows
    result_extent, ///< the same, for the kept dims where a result's array is in another order
    stride,        ///< elements between neighbours along `dim` of `array`: those bound, or of row-major order; 8 bytes
    results,       ///< FoldOrder::results (order.hpp); 8 bytes, signed, as are the following
    parts,         ///< FoldOrder::parts
    slabs,         ///< FoldOrder::slabs
    part_blocks,   ///< FoldOrder::blocks
    sharing,       ///< parts, or strips, that a thread block folds at a time
    box_extent,    ///< along the merged dim `merged`: its extent
    box_size,      ///< … the coordinates of a slab
    box_chunks,    ///< … the number of slabs side by side
    rows,          ///< in the course of columns: the extent of the merged dim that is folded
    columns,       ///< … of the one that is kept
    slab_rows,     ///< … FoldOrder::lanes
    strip_packs,   ///< … Strips::packs
    strips,        ///< … Strips::count
    together,      ///< … Strips::together
    strip_blocks,  ///< … Strips::blocks
    scalars,   ///< a pointer: device memory of 16 bytes for each of Plan::scalars: {value's bytes zero-extended, empty}
    workspace, ///< a pointer: device memory of workspace_bytes() for this sweep, zero before its first launch
    host,      ///< a pointer: mapped memory of 24 bytes for each of Plan::scalars; null if the host does not wait
};

struct KernelParameter {
    ParameterKind kind;
    ArrayId array = {};
    DimId dim = {};
    ValueId value = {}; ///< an instruction with Opcode::parameter
    int merged = 0;     ///< a dim of FoldOrder
};

/// The parameters in the order of the kernel's signature. `cooperates`: as in Schedule.
std::vector<KernelParameter> kernel_parameters(const Plan& plan, const Sweep& sweep, Course course,
                                               bool cooperates = false);

/// The arrays that the sweep loads, each once.
std::vector<ArrayId> loaded_arrays(const Sweep& sweep);
/// The loaded arrays that the sweep would read in order if they had no strides: bit n is number n of loaded_arrays().
std::uint64_t strided_arrays(const Plan& plan, const Sweep& sweep);
/// True if the sweep needs coordinates: it reads or writes elements of an array that is not flat, or reads an index
/// over several dims.
bool by_coordinates(const Plan& plan, const Sweep& sweep);
/// True if the sweep writes elements, or results, to an array that is not in their order.
bool scatters(const Plan& plan, const Sweep& sweep);
bool scatters_results(const Plan& plan, const Sweep& sweep);
/// True if the array has both dims, and its innermost one is `across`: its memory runs across rows along `along`.
bool runs_across(const Array& array, DimId across, DimId along);
/// True if the sweep reads any array, or this one, in the order of its elements.
bool reads_in_order(const Plan& plan, const Sweep& sweep);
bool reads_in_order(const Plan& plan, const Sweep& sweep, ArrayId array);
/// True if the lanes of a block share the fold's origin.
bool shares_origin(const Fold& fold);
/// The arrays that are read in order, as each_array() of a kernel visits them.
std::vector<ArrayId> arrays_in_order(const Plan& plan, const Sweep& sweep);
/// True if the sweep reads the array by coordinates. (It may read it in order as well.)
bool gathers(const Plan& plan, const Sweep& sweep, ArrayId array);
/// True if a load that the sweep reads by coordinates has neighbouring elements of a row side by side, where its array
/// has no strides: a weight of each column, say.
bool has_packs(const Instruction& load, const Plan& plan, const Sweep& sweep);
/// True if the elements of the sweep's only array may be assigned to lanes in any way: an unaligned array is then read
/// from its first whole pack on.
bool shifts(const Plan& plan, const Sweep& sweep);
/// The stores of values of elements, and of values of results of folds that keep dims.
std::vector<Store> element_stores(const Sweep& sweep);
std::vector<Store> result_stores(const Sweep& sweep);
/// The number of dims that FoldOrder merges the sweep's into, whatever their extents: 1 for whole folds and rows.
int merged_dims(const Sweep& sweep);
/// The number of leading dims that the folds keep.
std::size_t leading_kept_dims(const Sweep& sweep);
/// True if the kernel folds or yields. It then has a workspace.
bool finishes(const Sweep& sweep);
/// True for Opcode::read and Opcode::is_empty.
bool reads_scalar(const Instruction& instruction);

} // namespace gf::cuda
