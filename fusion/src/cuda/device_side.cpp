#include "cuda/device_side.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include <gridfold/fusion/order.hpp>

#include "plan/join_phases.hpp"

namespace gf::cuda {
namespace {

constexpr std::size_t alignment = 256;

/// Reserves bytes in an allocation that is made later; returns their offset.
std::size_t take(std::size_t& end, std::size_t bytes) {
    const std::size_t at = end;
    end = (end + bytes + alignment - 1) / alignment * alignment;
    return at;
}

std::size_t scalar_bytes(const Plan& plan, std::size_t problems) {
    return problems * plan.scalars.size() * sizeof(DeviceScalar);
}

/// The order in which a problem's sweep folds.
FoldOrder order_of(const LoadedPlan& loaded, std::size_t sweep, const Bound& problems, std::size_t problem) {
    return fold_order(loaded.plan->sweeps[sweep], problem_of(*loaded.plan, problems, problem).extents);
}

/// The number of blocks of each problem. The order determines it for folds. Sweeps of many problems whose blocks
/// exchange no states use fewer blocks, which loop: a table with a word for each slab would be long. Boxes never loop:
/// their table has a word for each tile.
std::vector<std::uint32_t> count_blocks(const LoadedPlan& loaded, std::size_t sweep, const Bound& problems) {
    constexpr std::int64_t most_that_map = 1024;
    const Kernel& kernel = loaded.kernels[sweep]->emitted;
    std::vector<std::uint32_t> all;
    all.reserve(problems.count);
    std::int64_t sum = 0;
    for (std::size_t p = 0; p < problems.count; ++p) {
        const std::int64_t elements =
            elements_of(loaded.plan->sweeps[sweep].dims, problem_of(*loaded.plan, problems, p).extents);
        check_elements(kernel, elements,
                       loaded.problems == Problems::one ? "" : fmt::format("problem {} of {}: ", p, problems.count));
        const FoldOrder order = order_of(loaded, sweep, problems, p);
        std::int64_t blocks = grid(kernel, order);
        const bool may_loop = kernel.words == 0 || has_whole_rows(kernel.schedule.course) ||
                              (kernel.schedule.course == Course::rows && order.blocks == 1);
        if (loaded.problems == Problems::many && may_loop) {
            const int cluster = kernel.schedule.cluster;
            blocks = std::min(blocks, most_that_map / cluster * cluster);
        }
        if (kernel.schedule.cooperates) { // the rows of a launch take turns on the device
            const int cluster = kernel.schedule.cluster;
            blocks = std::min<std::int64_t>(blocks, loaded.kernels[sweep]->most_cooperating / cluster * cluster);
        }
        if ((sum += blocks) > most_thread_blocks)
            throw InvalidBinding(fmt::format("{} problems are too many for one launch", problems.count),
                                 fmt::format("with problem {} they have more than 2^31 - 1 blocks", p),
                                 "run them in several calls");
        all.push_back(static_cast<std::uint32_t>(blocks));
    }
    return all;
}

/// True if windows would help with rows: in the course of rows, a row after the first is not aligned, and long enough
/// to have slabs that are neither its first nor its last.
bool rows_need_windows(const Plan& plan, const Sweep& sweep, Course course, const Bound& bound, std::size_t element,
                       std::size_t pack) {
    if (has_whole_rows(course) && kept_dims(sweep).empty()) return false; // whole arrays: the first row alone
    for (std::size_t p = 0; p < bound.count; ++p) {
        const FoldOrder order = fold_order(sweep, problem_of(plan, bound, p).extents);
        if (std::size_t(order.folded) * element % pack == 0) continue;
        if (has_whole_rows(course) || (order.results > 1 && order.folded > 2 * slab_elements)) return true;
    }
    return false;
}

/// True if every slab of the course of boxes begins at a multiple of a thread's elements.
bool slabs_are_aligned(const Schedule& schedule, const FoldOrder& order) {
    if (order.slabs == 0) return true;
    Kernel kernel;
    kernel.schedule = schedule;
    const std::int64_t sharing = parts_of_tile(kernel, order);
    if (sharing > 1) return order.parts <= sharing || sharing * order.elements_of_slab() % schedule.width == 0;
    bool all = order.batch == 1 || order.batch_stride % schedule.width == 0;
    for (int d = 0; d <= order.outermost(); ++d) {
        const bool cuts = d == order.outermost();
        const std::int64_t chunks = cuts ? order.chunks() : order.extent[d], chunk = cuts ? order.chunk : 1;
        all = all && (chunks == 1 || order.stride[d] * chunk % schedule.width == 0);
    }
    return all;
}

/// True if all arrays that the sweep reads in order can be read in whole packs.
bool are_aligned(const Plan& plan, const Sweep& sweep, const Schedule& schedule, const Bound& bound) {
    for (const ArrayId a : loaded_arrays(sweep)) {
        const Array& array = plan.arrays[a];
        if (!reads_in_order(plan, sweep, a)) continue;
        const std::size_t pack = // Pack::bytes (device/loads.cuh)
            std::min<std::size_t>(16, size_of(array.type) * std::size_t(schedule.width));
        if (is_of_rows(schedule.course) &&
            rows_need_windows(plan, sweep, schedule.course, bound, size_of(array.type), pack))
            return false;
        for (std::size_t p = 0; p < bound.count; ++p) {
            const BoundProblem problem = problem_of(plan, bound, p);
            if (schedule.course == Course::boxes && !slabs_are_aligned(schedule, fold_order(sweep, problem.extents)))
                return false;
            const BoundArray& of_problem = problem.arrays[a.index()];
            if (reinterpret_cast<std::uintptr_t>(of_problem.address) % pack == 0) continue;
            if (needs_memory(array, of_problem)) continue; // aligned by Layout
            if (elements_of(sweep.dims, problem.extents) > 0) return false;
        }
    }
    return true;
}

/// The plan for what is bound: where kernels read an array of any problem with strides, a copy for these.
class PlanOfBound {
public:
    PlanOfBound(const PlanOfBound&) = delete;
    PlanOfBound& operator=(const PlanOfBound&) = delete;
    PlanOfBound(const Plan& plan, const Bound& bound) : plan_(&plan) {
        std::vector<bool> strided;
        for (std::size_t i = 0; i < bound.strides.size(); ++i) {
            const std::size_t a = i % plan.arrays.size();
            if (strides_on_device(plan, problem_of(plan, bound, i / plan.arrays.size()), a).rank() == 0) continue;
            strided.resize(plan.arrays.size());
            strided[a] = true;
        }
        if (!strided.empty()) plan_ = &copy_.emplace(with_strides(plan, strided));
    }
    const Plan& operator*() const { return *plan_; }

private:
    std::optional<Plan> copy_;
    const Plan* plan_;
};

/// The facts of the bound rows. Arrays that are staged are aligned by Layout.
RowFacts row_facts(const Plan& plan, const Sweep& sweep, const Bound& bound) {
    RowFacts facts{.alignment = 16, .stored_alignment = 16, .packs_aligned = true};
    for (std::size_t p = 0; p < bound.count; ++p) {
        const BoundProblem problem = problem_of(plan, bound, p);
        const FoldOrder order = fold_order(sweep, problem.extents);
        facts.longest = std::max(facts.longest, order.folded); // defect: longest row
        facts.blocks += order.parts * order.blocks;
        facts.shortest = p == 0 ? order.folded : std::min(facts.shortest, order.folded);
        facts.slabs = std::max(facts.slabs, (order.slabs + order.blocks - 1) / order.blocks);
        const int of_length = kept_dims(sweep).empty() ? 16 : alignment_of(std::uint64_t(order.folded));
        facts.columns.add(order);
        const auto bytes_of = [&](ArrayId a) {
            const BoundArray& array = problem.arrays[a.index()];
            return needs_memory(plan.arrays[a], array) ? 16 // by Layout
                                                       : alignment_of(reinterpret_cast<std::uintptr_t>(array.address));
        };
        const auto alignment_of_array = [&](ArrayId a) { // in elements
            const int bytes = bytes_of(a);
            return bytes < 16 ? std::max(bytes / int(size_of(plan.arrays[a].type)), 1) : 16;
        };
        facts.alignment = std::min(facts.alignment, of_length);
        for (const ArrayId a : loaded_arrays(sweep))
            if (reads_in_order(plan, sweep, a)) {
                facts.alignment = std::min(facts.alignment, alignment_of_array(a));
                facts.columns.add_array(alignment_of_array(a));
            }
        for (const Store& store : element_stores(sweep))
            facts.stored_alignment = std::min({facts.stored_alignment, of_length, alignment_of_array(store.array)});
        const bool is_one_dim = leading_kept_dims(sweep) + 1 == sweep.dims.size(); // of a row's elements
        for (const Instruction& i : sweep.code)
            if (i.opcode == Opcode::load && has_packs(i, plan, sweep))
                facts.packs_aligned &= !plan.arrays[i.array].strided && bytes_of(i.array) == 16 &&
                                       ((is_one_dim && plan.arrays[i.array].dims.size() == 1) ||
                                        problem.extents[sweep.dims.back().index()] % 16 == 0);
    }
    return facts;
}

/// The schedule for the bound extents and addresses: rows have two courses, and so have columns; boxes two numbers of
/// slabs in flight.
Schedule for_parts_of(const Plan& plan, const Sweep& sweep, const Schedule& chosen, const Bound& bound,
                      const RowSharing& sharing) {
    if (packs_results(chosen.course)) return for_columns(row_facts(plan, sweep, bound), plan, sweep, chosen.problems);
    if (chosen.course != Course::rows) return chosen;
    return for_rows(row_facts(plan, sweep, bound), plan, sweep, chosen, sharing);
}

/// tile_facts() for what is bound: also with strides, and none if rows or columns are short in every problem.
TileFacts tile_facts_of(const Plan& plan, const Sweep& sweep, const Bound& bound) {
    constexpr std::int64_t shortest = 16;
    TileFacts facts = tile_facts(plan, sweep);
    if (!sweep.folds.empty() || !sweep.yields.empty() || sweep.dims.size() < 2) return facts;
    const std::vector<ArrayId> loaded = loaded_arrays(sweep);
    const std::size_t along = sweep.dims.size() - 1;
    for (std::size_t n = 0; n < loaded.size(); ++n) {
        if (!plan.arrays[loaded[n]].strided || plan.arrays[loaded[n]].dims != sweep.dims) continue;
        const Strides strides = strides_on_device(plan, problem_of(plan, bound, 0), loaded[n].index());
        int closest = int(along);
        for (int d = 0; d < strides.rank(); ++d)
            if (strides[d] != 0 && std::abs(strides[d]) < std::abs(strides[closest])) closest = d;
        if (closest == int(along) || (facts.across >= 0 && facts.across != closest)) continue;
        facts.across = closest;
        facts.across_arrays |= std::uint64_t{1} << n;
    }
    for (std::size_t p = 0; p < bound.count && facts.across >= 0; ++p) {
        const auto extents = problem_of(plan, bound, p).extents;
        const auto extent = [&](std::size_t d) { return extents[sweep.dims[d].index()]; };
        if (extent(along) >= shortest && extent(std::size_t(facts.across)) >= shortest) return facts;
    }
    return {};
}

/// The schedule for what is bound of a sweep that folds nothing: tiles, or flat.
Schedule for_tiles_of(const Plan& plan, const Sweep& sweep, const Schedule& chosen, const Bound& bound) {
    if (folds_parts(chosen.course) || !sweep.folds.empty()) return chosen;
    const TileFacts tiles = tile_facts_of(plan, sweep, bound);
    if (chosen.across == tiles.across && chosen.across_arrays == tiles.across_arrays) return chosen;
    return for_tiles(plan, sweep, tiles, chosen.problems);
}

/// The sweep that a chain is in its plan of join_phases() with that chain alone; null if it has one phase, because only
/// results wait for other folds.
const Sweep* joined_sweep(const Plan& plan) {
    const auto found = std::ranges::find_if(plan.sweeps, [](const Sweep& sweep) { return phase_count(sweep) > 1; });
    return found == plan.sweeps.end() ? nullptr : &*found;
}

/// True if the sweep writes in place an array that it gathers: other rows may still need what a row overwrites.
bool overwrites_gathers(const Plan& plan, const Sweep& sweep, const Bound& bound) {
    for (const ArrayId a : loaded_arrays(sweep))
        for (std::size_t p = 0; p < bound.count && gathers(plan, sweep, a); ++p) {
            const BoundProblem problem = problem_of(plan, bound, p);
            for (const Store& store : sweep.stores)
                if (problem.arrays[a.index()].address == problem.arrays[store.array.index()].address) return true;
        }
    return false;
}

/// The schedule of a chain's joined sweep for what is bound, if its rows can be held. A value of a row is read by the
/// number of the row: not through strides.
std::optional<Schedule> for_chain_of(const PlanLoader& loader, const Chain& chain, Problems problems,
                                     const Bound& bound, const RowSharing& sharing) {
    if (bound.count == 0) return {};
    const PlanOfBound of_bound(*loader.plan_with({chain}), bound);
    const Plan& plan = *of_bound;
    const Sweep* const joined = joined_sweep(plan);
    if (joined == nullptr) return {};
    const Sweep& sweep = *joined;
    for (const ArrayId a : loaded_arrays(sweep))
        if (plan.arrays[a].strided && plan.arrays[a].dims.size() < sweep.dims.size()) return {};
    if (overwrites_gathers(plan, sweep, bound)) return {};
    const auto chosen = for_held_rows(row_facts(plan, sweep, bound), plan, sweep, problems, sharing);
    if (!chosen || chosen->shared_bytes + bytes_of_states(sweep, *chosen) > loader.shared_bytes()) return {};
    return chosen;
}

std::vector<Chain> chains_to_join(const PlanLoader& loader, Problems problems, const Bound& bound, Joins joins,
                                  const RowSharing& sharing) {
    std::vector<Chain> joined;
    if (joins == Joins::none) return joined;
    for (const Chain& chain : loader.chains())
        if (for_chain_of(loader, chain, problems, bound, sharing)) joined.push_back(chain);
    return joined;
}

/// The schedule of a sweep for what is bound, before windows.
Schedule for_sweep_of(const Plan& plan, const Sweep& sweep, Problems problems, std::int64_t blocks, const Bound& bound,
                      const RowSharing& sharing) {
    if (phase_count(sweep) > 1) return *for_held_rows(row_facts(plan, sweep, bound), plan, sweep, problems, sharing);
    const Schedule chosen = choose_schedule(plan, sweep, problems, blocks);
    return for_tiles_of(plan, sweep, for_parts_of(plan, sweep, chosen, bound, sharing), bound);
}

} // namespace

bool reads_fast(const PlanLoader& loader, const LoadedPlan& loaded, const Bound& bound, Joins joins) {
    const RowSharing sharing = loader.row_sharing();
    if (loaded.joined != chains_to_join(loader, loaded.problems, bound, joins, sharing)) return false;
    const PlanOfBound of_bound(*loaded.plan, bound);
    const Plan& plan = *of_bound;
    return std::ranges::all_of(plan.sweeps.ids(), [&](SweepId id) {
        const Sweep& sweep = plan.sweeps[id];
        const Schedule& schedule = loaded.kernels[id]->emitted.schedule;
        if (schedule.strided != strided_arrays(plan, sweep)) return false; // defect: strided kernel
        if (folds_parts(schedule.course)) {
            Schedule wanted = for_sweep_of(plan, sweep, loaded.problems, 0, bound, sharing);
            wanted.resident = schedule.resident; // a kernel that spilled has fewer
            wanted.realigns = schedule.realigns;
            if (wanted != schedule) return false; // defect: course of rows
        }
        const bool aligned = are_aligned(plan, sweep, schedule, bound);
        if (schedule.course == Course::boxes && aligned) return !schedule.realigns; // windows take longer than packs
        return schedule.realigns || aligned || for_unaligned(plan, sweep, schedule) == schedule;
    });
}

Schedules choose_schedules(const PlanLoader& loader, Problems problems, const Bound& bound, Joins joins,
                           const LoadedPlan* in_use) {
    Schedules schedules;
    const RowSharing sharing = loader.row_sharing(); // once: another thread may lower it
    schedules.joined = chains_to_join(loader, problems, bound, joins, sharing);
    if (in_use != nullptr && in_use->joined != schedules.joined) in_use = nullptr;
    const std::shared_ptr<const Plan> contiguous = loader.plan_with(schedules.joined);
    const PlanOfBound of_bound(*contiguous, bound);
    const Plan& plan = *of_bound;
    for (const SweepId id : plan.sweeps.ids()) {
        const Sweep& sweep = plan.sweeps[id];
        std::int64_t blocks = 0;
        for (std::size_t p = 0; problems == Problems::many && p < bound.count; ++p)
            if (const FoldOrder order = fold_order(sweep, problem_of(plan, bound, p).extents); order.slabs > 0)
                blocks += order.parts * order.blocks;
            else
                ++blocks;
        Schedule schedule = for_sweep_of(plan, sweep, problems, blocks, bound, sharing);
        if (!are_aligned(plan, sweep, schedule, bound)) schedule = for_unaligned(plan, sweep, schedule);
        const Schedule* const before = in_use != nullptr ? &in_use->kernels[id]->emitted.schedule : nullptr;
        const bool stays = before && problems == Problems::one && before->realigns &&
                           before->course == schedule.course && schedule.course != Course::boxes;
        schedules.of_sweeps.push_back(stays ? for_unaligned(plan, sweep, schedule) : schedule);
    }
    return schedules;
}

Layout lay_out(const LoadedPlan& loaded, const Bound& problems) {
    const Plan& plan = *loaded.plan;
    const std::size_t sweeps = plan.sweeps.size(), count = problems.count;
    const bool one = loaded.problems == Problems::one;
    Layout layout;
    for (std::size_t s = 0; s < sweeps; ++s) layout.blocks.push_back(count_blocks(loaded, s, problems));
    take(layout.bytes, std::max<std::size_t>(scalar_bytes(plan, count), 1)); // not empty, so no other offset is 0
    layout.workspaces_at = layout.bytes;
    // One problem of many whose blocks exchange no states does not use its workspace, since no host waits for it.
    const std::size_t unused = one ? 0 : take(layout.bytes, workspace_bytes(Kernel{}));
    layout.workspaces.assign(sweeps, std::vector<std::size_t>(count, unused));
    for (std::size_t s = 0; s < sweeps; ++s) {
        const Kernel& kernel = loaded.kernels[s]->emitted;
        for (std::size_t p = 0; p < count; ++p) {
            const FoldOrder order = order_of(loaded, s, problems, p);
            const std::size_t bytes = workspace_bytes(kernel, order, layout.blocks[s][p]);
            const Exchanging exchange = exchanging(kernel, order);
            // Whole folds use any workspace alike, rows by warps none.
            WorkspaceForm form{layout.bytes};
            if (exchanges_by_part(kernel.schedule.course) || kernel.schedule.cooperates)
                form = {layout.bytes, exchange.parts, exchange.blocks, exchange.results, order.results};
            if (kernel.schedule.cooperates) form.bytes = bytes; // defect: form of groups
            if (one) layout.forms.push_back(form);
            if (one ? kernel.finishes : kernel.words > 0 && exchange.blocks > 1)
                layout.workspaces[s][p] = take(layout.bytes, bytes); // defect: workspace
        }
    }
    layout.tables_at = layout.bytes;
    for (std::size_t s = 0; s < sweeps && !one; ++s) {
        const auto& blocks = layout.blocks[s];
        const std::size_t words = loaded.kernels[s]->emitted.parameters.size() + 1;
        layout.records.push_back(take(layout.bytes, count * words * sizeof(std::uint64_t)));
        std::size_t sum = 0;
        for (const std::uint32_t of_problem : blocks) sum += of_problem;
        layout.places.push_back(sum > count ? take(layout.bytes, sum * sizeof(std::uint64_t)) : 0);
    }
    layout.arrays_at = layout.bytes;
    layout.arrays.assign(count * plan.arrays.size(), 0);
    std::vector<bool> used(plan.arrays.size()); // a joined chain has no use for its temporaries
    for (const Sweep& sweep : plan.sweeps)
        for (const Store& store : sweep.stores) used[store.array.index()] = true;
    for (std::size_t p = 0; p < count; ++p)
        for (std::size_t a = 0; a < plan.arrays.size(); ++a)
            if (const std::size_t i = p * plan.arrays.size() + a;
                needs_memory(plan.arrays[a], problems.arrays[i]) &&
                (used[a] || plan.arrays[a].role != ArrayRole::temporary))
                layout.arrays[i] = take(layout.bytes, bytes_of(plan.arrays[a], problem_of(plan, problems, p).extents));
    return layout;
}

DeviceSide make_device_side(const LoadedPlan& loaded, const Bound& problems, const Layout& layout,
                            const DeviceBuffer& memory, void* host) {
    const Plan& plan = *loaded.plan;
    const auto at = [&](std::size_t offset) { return static_cast<std::byte*>(memory.address()) + offset; };
    const std::size_t each = plan.arrays.size();
    DeviceSide side;
    side.arrays.reserve(layout.arrays.size());
    for (std::size_t i = 0; i < layout.arrays.size(); ++i)
        side.arrays.push_back(layout.arrays[i] != 0 ? at(layout.arrays[i]) : problems.arrays[i].address);
    side.tables.resize(layout.arrays_at - layout.tables_at);
    const auto write = [&](std::size_t offset, const auto& words) {
        std::memcpy(side.tables.data() + (offset - layout.tables_at), words.data(), words.size() * sizeof words[0]);
    };
    for (std::size_t s = 0; s < plan.sweeps.size(); ++s) {
        const Kernel& kernel = loaded.kernels[s]->emitted;
        const auto& yields = plan.sweeps[s].yields;
        const bool host_reads = std::any_of(yields.begin(), yields.end(),
                                            [&](const Yield& yield) { return is_output(plan, yield.scalar); });
        SweepLaunch launch;
        launch.blocks = 0;
        std::vector<std::uint64_t> records, places;
        if (loaded.problems == Problems::many && layout.places[s] != 0)
            places.reserve(std::accumulate(layout.blocks[s].begin(), layout.blocks[s].end(), std::size_t{0}));
        for (std::size_t p = 0; p < problems.count; ++p) {
            const BoundProblem problem = problem_of(plan, problems, p);
            void* const workspace = layout.workspaces[s][p] != 0 ? at(layout.workspaces[s][p]) : nullptr;
            auto values =
                parameter_values(plan, SweepId(s), kernel, problem, std::span(side.arrays).subspan(p * each, each),
                                 {at(scalar_bytes(plan, p)), workspace, host_reads ? host : nullptr});
            const std::uint32_t blocks = layout.blocks[s][p];
            if (loaded.problems == Problems::one) {
                launch.values = std::move(values);
            } else {
                records.push_back(blocks);
                records.insert(records.end(), values.begin(), values.end());
                if (layout.places[s] != 0)
                    for (std::uint64_t block = 0; block < blocks; ++block) places.push_back(block << 32 | p);
            }
            launch.blocks += blocks;
            launch.bytes += elements_of(plan.sweeps[s].dims, problem.extents) * kernel.loaded_bytes;
        }
        if (loaded.problems == Problems::many) {
            write(layout.records[s], records);
            if (layout.places[s] != 0) write(layout.places[s], places);
            const auto address = [&](std::size_t offset) { return reinterpret_cast<std::uintptr_t>(at(offset)); };
            launch.values = {address(layout.records[s]), layout.places[s] != 0 ? address(layout.places[s]) : 0};
        }
        side.launches.push_back(std::move(launch));
    }
    return side;
}

void make_ready(const DeviceBuffer& memory, const Layout& layout, const DeviceSide& side, const Stream& stream) {
    auto* const start = static_cast<std::byte*>(memory.address());
    fill_bytes(start, 0xff, layout.workspaces_at, stream);                                        // defect: no results
    fill_bytes(start + layout.workspaces_at, 0, layout.tables_at - layout.workspaces_at, stream); // defect: zero
    copy_to_device(start + layout.tables_at, side.tables.data(), side.tables.size(), stream);
    stream.wait();
}

} // namespace gf::cuda
