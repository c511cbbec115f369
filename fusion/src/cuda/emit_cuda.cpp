// See emit_cuda.hpp. The device text of a kernel's course contains its control flow; the Emitter writes the sweep's
// struct.
#include "cuda/emit_cuda.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include <gridfold/core/device/prelude.cuh>

#include <gridfold/core/device/slots.cuh>

#include <gridfold/core/device/places.cuh>

#include <gridfold/core/device_text.hpp>
#include <gridfold/core/error.hpp>
#include <gridfold/fusion/order.hpp>

#include "cuda/emitter.hpp"

namespace gf::cuda {

namespace {

/// What a course adds to the text that every kernel has.
std::string course_text(Course course) {
    switch (course) {
    case Course::flat: return "";
    case Course::rows: return detail::rows_course_text();
    case Course::warp_rows: return detail::warp_rows_course_text();
    case Course::thread_rows: return detail::thread_rows_course_text();
    case Course::run_rows: return detail::run_rows_course_text();
    case Course::held_rows: return detail::held_rows_course_text();
    case Course::held_thread_rows: return detail::held_thread_rows_course_text();
    case Course::boxes: return detail::boxes_course_text();
    case Course::columns: return detail::columns_course_text();
    case Course::tiles: return detail::tiles_course_text();
    }
    return "";
}

/// The plan in which the sweep's loaded arrays have strides by Schedule::strided. The course of tiles accesses all
/// arrays by coordinates.
Plan plan_of(const Plan& plan, const Sweep& sweep, const Schedule& schedule) {
    std::vector<bool> arrays(plan.arrays.size(), schedule.course == Course::tiles);
    std::uint64_t strided = schedule.strided;
    for (const ArrayId a : loaded_arrays(sweep)) {
        if ((strided & 1) != 0) arrays[a.index()] = true;
        strided >>= 1;
    }
    return with_strides(plan, arrays);
}

} // namespace

Kernel emit_cuda(const Plan& plan, SweepId sweep, const Schedule& schedule) {
    // Without the sweep's name and number: sweeps of one form share one kernel and one cache entry, if their scalars
    // have the same numbers.
    const Plan read = plan_of(plan, plan.sweeps[sweep], schedule);
    Emitter emitter(read, sweep, schedule, Writer::Notes::none);
    const std::string code = emitter.monoids() + emitter.sweep();
    const std::string text = "// One grid-stride kernel, written by gridfold.\n" + detail::device_text() +
                             course_text(schedule.course) + detail::function_text(code) + code;
    Kernel kernel = emitter.kernel();
    kernel.source = text;
    return kernel;
}

Kernel emit_cuda(const Plan& plan, SweepId sweep, Problems problems) {
    return emit_cuda(plan, sweep, choose_schedule(plan, plan.sweeps[sweep], problems));
}

std::string sweep_text(const Plan& plan, SweepId sweep) {
    const Schedule schedule = choose_schedule(plan, plan.sweeps[sweep]);
    const Plan read = plan_of(plan, plan.sweeps[sweep], schedule);
    return Emitter(read, sweep, schedule, Writer::Notes::trailing).sweep();
}

std::vector<std::string> compiler_options(bool fast_math) {
    // Lambdas of the device text have no execution space specifier.
    std::vector<std::string> options{"--std=c++17", "--device-as-default-execution-space"};
    if (fast_math)
        options.insert(options.end(), {"--use_fast_math", "--define-macro=GRIDFOLD_FAST_MATH"});
    else
        options.insert(options.end(),
                       {"--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"}); // defect: fmad
    return options;
}

int most_of_row(const Schedule& schedule) { return int(std::bit_ceil(unsigned(schedule.cluster))); }

std::int64_t grid(const Kernel& kernel, std::int64_t elements) {
    // A sweep that only stores takes a slab a block, or a few if that leaves enough blocks: a persistent grid costs it
    // 10 % (bench/NOTES.md).
    constexpr std::int64_t enough = 2048;
    const std::int64_t slabs = (elements + kernel.schedule.slab() - 1) / kernel.schedule.slab();
    const std::int64_t each = std::clamp<std::int64_t>(slabs / enough, 1, kernel.schedule.slabs_of_map);
    const std::int64_t of_map = (slabs + each - 1) / each;
    const std::int64_t blocks = kernel.words > 0 ? fold_order(elements).blocks : of_map; // defect: blocks
    return std::clamp<std::int64_t>(blocks, 1, most_thread_blocks); // beyond it each block takes several slabs
}

std::int64_t parts_of_tile(const Kernel& kernel, const FoldOrder& order) {
    const Schedule& schedule = kernel.schedule;
    if (has_whole_rows(schedule.course) && order.slabs > 0) {
        if (schedule.cluster > 1) return 1;
        if (schedule.course == Course::held_thread_rows) return schedule.threads;
        if (schedule.course == Course::run_rows)
            return schedule.most_blocks * schedule.slab_warps > 1 ? 1 : schedule.threads / schedule.row_threads;
        if (schedule.course == Course::thread_rows) {
            const int arrays =
                int(std::ranges::count(kernel.parameters, ParameterKind::loaded, &KernelParameter::kind));
            return schedule.threads * rows_of_thread(schedule, order.folded, kernel.loaded_bytes, arrays);
        }
        if (schedule.several_blocks) return schedule.threads / 32 / (order.blocks * schedule.slab_warps);
        return schedule.rows_of_thread_block();
    }
    if (schedule.course != Course::boxes || order.cut >= 0 || order.slabs == 0) return 1;
    const std::int64_t parts = std::max<std::int64_t>(slab_elements / order.elements_of_slab(), 1); // defect: sharing
    // A tile has a multiple of `step` parts, so that each tile begins at a multiple of a thread's elements. Where fewer
    // than `step` parts fill a tile, tiles are not aligned. The width is a power of 2.
    std::int64_t step = 1;
    while (step * order.elements_of_slab() % std::max(schedule.width, 1) != 0) step *= 2;
    return parts < step ? parts : parts - parts % step;
}

Exchanging exchanging(const Kernel& kernel, const FoldOrder& order) {
    if (kernel.schedule.course != Course::columns) return {order.parts, order.blocks, order.slab_results};
    const Strips strips = strips_of(kernel.schedule, order);
    return {order.batch * strips.count, strips.blocks, strips.packs * kernel.schedule.width};
}

std::int64_t grid(const Kernel& kernel, const FoldOrder& order) {
    if (!folds_parts(kernel.schedule.course)) return grid(kernel, order.folded);
    // A block has an item of its own wherever blocks wait for each other, in boxes and in columns: longer domains
    // than a launch has room for are refused, or are boxes. Without elements a thread writes a result.
    if (kernel.schedule.course == Course::columns && order.slabs > 0) {
        return std::clamp<std::int64_t>(strips_of(kernel.schedule, order).thread_blocks(order.batch), 1,
                                        most_thread_blocks);
    }
    const std::int64_t each = order.slabs > 0 ? parts_of_tile(kernel, order) : kernel.schedule.threads;
    const int cluster = kernel.schedule.cluster;
    const std::int64_t blocks = has_whole_rows(kernel.schedule.course) ? cluster : order.blocks; // of a part
    return std::clamp<std::int64_t>((order.parts + each - 1) / each * blocks, cluster,
                                    most_thread_blocks / cluster * cluster); // defect: tiles
}

void check_elements(const Kernel& kernel, std::int64_t elements, std::string_view whose) {
    if (has_whole_rows(kernel.schedule.course)) return; // it counts rows, in 64 bits
    // Kernels count slabs in 32 bits. Boxes have a thread block for each tile, of 512 elements on average or more.
    // Columns of 2^38 elements and more are folded as boxes (device_side.cpp).
    const std::int64_t limit =
        packs_results(kernel.schedule.course) ? std::int64_t{1} << 40 : kernel.schedule.slab() << 31;
    if (elements < limit) return;
    throw InvalidBinding(
        fmt::format("{}a sweep over {} elements", whose, elements),
        fmt::format("on cuda its domain has fewer than 2^{}", std::countr_zero(static_cast<std::uint64_t>(limit))),
        "fold a part of it at a time, or run it on the cpu");
}

std::size_t workspace_bytes(const Kernel& kernel) {
    return sizeof(std::uint64_t) * std::size_t(device::Slots::count(kernel.words, int(max_blocks))); // defect: words
}

std::size_t workspace_bytes(const Kernel& kernel, const FoldOrder& order, std::int64_t blocks) {
    const Schedule& schedule = kernel.schedule;
    if (!folds_parts(schedule.course)) return workspace_bytes(kernel);
    if (schedule.cooperates)
        return sizeof(std::uint64_t) *
               std::size_t(blocks / schedule.cluster *
                           device::RowSlots::of_group(kernel.words, most_of_row(schedule), kernel.phases));
    const Exchanging of = exchanging(kernel, order);
    if (of.blocks == 1 || !exchanges_by_part(kernel.schedule.course)) return 0;
    return sizeof(std::uint64_t) * std::size_t(of.parts * // defect: parts' slots
                                               device::PartSlots::count(kernel.words, int(of.results), of.blocks));
}

} // namespace gf::cuda
