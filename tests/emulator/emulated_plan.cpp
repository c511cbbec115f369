// Packs the arguments that emit_cuda.hpp describes, and launches.
#include "emulated_plan.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "cuda/host_words.hpp"
#include "cuda/launch.hpp"
#include "guarded_memory.hpp"
#include "plan/join_phases.hpp"

namespace gf::emulator {

namespace {

constexpr std::size_t scalar_words = 2, host_words = 3; // of 64 bits, as emit_cuda.hpp says

constexpr u64 beyond_workspace = 0x6e6f7468696e6721; // no tag that a test reaches

} // namespace

std::vector<cuda::Kernel> kernels_of(const Plan& plan, std::optional<cuda::RowFacts> rows,
                                     const cuda::RowSharing& sharing, bool take_turns) {
    std::vector<cuda::Kernel> kernels;
    for (const SweepId id : plan.sweeps.ids()) {
        const Sweep& sweep = plan.sweeps[id];
        const bool holds = phase_count(sweep) > 1;
        cuda::Schedule schedule =
            holds ? cuda::for_held_rows(rows.value(), plan, sweep, cuda::Problems::one, sharing).value()
                  : cuda::choose_schedule(plan, sweep);
        const bool boxes = schedule.course == cuda::Course::boxes;
        if (rows)
            schedule = boxes ? cuda::for_columns(*rows, plan, sweep, cuda::Problems::one)
                             : cuda::for_rows(*rows, plan, sweep, schedule, sharing);
        const bool is_aligned = rows ? rows->alignment == 16 : boxes;
        if (!is_aligned && schedule.course != cuda::Course::columns)
            schedule = cuda::for_unaligned(plan, sweep, schedule);
        if (take_turns) schedule.one_turn = false;
        kernels.push_back(cuda::emit_cuda(plan, id, schedule));
    }
    return kernels;
}

EmulatedPlan::EmulatedPlan(const Plan& plan, std::vector<cuda::Kernel> kernels, const HostModule& module,
                           std::size_t first_entry)
    : plan_(plan), kernels_(std::move(kernels)), module_(module), first_entry_(first_entry) {
    for (const cuda::Kernel& kernel : kernels_) {
        workspaces_.emplace_back(
            !cuda::folds_parts(kernel.schedule.course) ? cuda::workspace_bytes(kernel) / sizeof(u64) : 0, 0);
        workspaces_.back().push_back(beyond_workspace);
        orders_.emplace_back();
        blocks_.emplace_back();
    }
}

/// Makes a new workspace if the parts of a sweep that keeps dims are others than in the last run.
void EmulatedPlan::fit_workspace(std::size_t sweep, const FoldOrder& order, std::int64_t blocks) {
    const cuda::Schedule& schedule = kernels_[sweep].schedule;
    if (!cuda::folds_parts(schedule.course) || (order == orders_[sweep] && blocks == blocks_[sweep])) return;
    orders_[sweep] = order;
    blocks_[sweep] = blocks;
    workspaces_[sweep].assign(cuda::workspace_bytes(kernels_[sweep], order, blocks) / sizeof(u64), 0);
    if (kept_dims(plan_.sweeps[SweepId(sweep)]).empty()) workspaces_[sweep].front() = launches_ - 1; // it counts them
    workspaces_[sweep].push_back(beyond_workspace);
}

void EmulatedPlan::set_launches(std::uint32_t launches) {
    launches_ = launches;
    for (std::size_t s = 0; s < workspaces_.size(); ++s) {
        const bool is_flat = !cuda::folds_parts(kernels_[s].schedule.course);
        const bool exchanges = workspaces_[s].size() > 1;
        const cuda::Schedule& schedule = kernels_[s].schedule;
        const std::int64_t of_parts =
            schedule.cooperates ? blocks_[s] / schedule.cluster : cuda::exchanging(kernels_[s], orders_[s]).parts;
        const std::size_t parts = is_flat ? 1 : exchanges ? std::size_t(of_parts) : 0;
        for (std::size_t part = 0; part < parts; ++part)
            workspaces_[s][part * ((workspaces_[s].size() - 1) / parts)] = launches;
    }
}

std::vector<ScalarResult> EmulatedPlan::run(const Bound& bound, Order order, std::uint64_t seed,
                                            std::int64_t most_clusters) {
    ++launches_;
    std::vector<GuardedMemory> temporaries;
    std::vector<void*> arrays;
    for (std::size_t i = 0; i < plan_.arrays.size(); ++i) {
        const Array& array = plan_.arrays[i];
        void* address = bound.arrays[i].address;
        if (array.role == ArrayRole::temporary) {
            const auto elements = static_cast<std::size_t>(cuda::elements_of(array.dims, bound.extents));
            temporaries.emplace_back(elements * size_of(array.type), seed % 2 == 0 ? Snug::at_end : Snug::at_begin);
            address = temporaries.back().data();
        }
        arrays.push_back(address);
    }
    std::vector<u64> scalars(scalar_words * plan_.scalars.size(), 0), host(host_words * plan_.scalars.size(), 0);

    for (std::size_t s = 0; s < kernels_.size(); ++s) {
        const FoldOrder order_of_folds = fold_order(plan_.sweeps[s], bound.extents);
        std::int64_t blocks = cuda::grid(kernels_[s], order_of_folds);
        if (cuda::has_whole_rows(kernels_[s].schedule.course) && !kernels_[s].schedule.one_turn)
            blocks = std::min(blocks, most_clusters * kernels_[s].schedule.cluster);
        fit_workspace(s, order_of_folds, blocks);
        std::vector<u64> values = cuda::parameter_values(plan_, SweepId(s), kernels_[s], problem_of(plan_, bound, 0),
                                                         arrays, {scalars.data(), workspaces_[s].data(), host.data()});
        std::vector<void*> arguments;
        for (u64& value : values) arguments.push_back(&value);
        launch(module_.entry(first_entry_ + s), arguments.data(), static_cast<u32>(blocks),
               static_cast<u32>(kernels_[s].schedule.threads), order, seed);
    }

    for (const GuardedMemory& temporary : temporaries)
        if (!temporary.is_intact()) throw std::runtime_error("a kernel wrote beside a temporary");
    for (const std::vector<u64>& workspace : workspaces_)
        if (workspace.back() != beyond_workspace) throw std::runtime_error("a kernel wrote beyond its workspace");

    std::vector<ScalarResult> results;
    for (std::size_t i = 0; i < plan_.scalars.size(); ++i) {
        results.push_back({scalars[scalar_words * i], scalars[scalar_words * i + 1] != 0});
        const bool is_yielded = std::ranges::any_of(plan_.sweeps, [&](const Sweep& sweep) {
            return std::ranges::find(sweep.yields, ScalarId(i), &Yield::scalar) != sweep.yields.end();
        });
        if (!is_yielded) continue; // by a joined sweep: it only passed a value to the next phase
        const u64* words = &host[host_words * i];
        for (std::size_t w = 0; w < host_words; ++w)
            if (words[w] >> 32 != cuda::tag_of(launches_))
                throw std::runtime_error(fmt::format("scalar {}: the host's word {} is of launch {}, not {}", i, w,
                                                     words[w] >> 32, cuda::tag_of(launches_)));
        const u64 bits = (words[1] << 32) | (words[0] & 0xffffffffu);
        if (bits != results.back().bits || ((words[2] & 0xffffffffu) != 0) != results.back().empty)
            throw std::runtime_error(fmt::format("scalar {}: the host's words and device memory differ", i));
    }
    return results;
}

} // namespace gf::emulator
