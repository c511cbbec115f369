#include "cpu/chain_run.hpp"

#include <algorithm>
#include <utility>

#include "cpu/index.hpp"
#include "cpu/threads.hpp"

namespace gf::cpu {

namespace {

/// The bytes of all arrays of the rows that the sweeps of a chain visit one after the other: they stay in the
/// second-level cache of a thread's core (bench/NOTES.md).
constexpr std::int64_t rows_budget_bytes = 256 * 1024;

/// The fewest rows of a thread for which threads divide them.
constexpr std::int64_t rows_of_thread = 4;

} // namespace

ChainRun::ChainRun(const Plan& plan, const std::vector<SweepId>& chain,
                   std::vector<std::variant<SweepRun, KeptRun>*> runs, std::int64_t work, int threads)
    : sweep_(plan.sweeps[chain.front()]), runs_(std::move(runs)), work_(work), threads_(threads) {
    extents_.reserve(plan.dims.size());
    std::vector<bool> is_counted(plan.arrays.size());
    const auto count = [&](ArrayId array) {
        if (plan.arrays[array].dims != sweep_.dims || is_counted[array.index()]) return;
        is_counted[array.index()] = true;
        element_bytes_ += static_cast<std::int64_t>(size_of(plan.arrays[array].type));
    };
    for (const SweepId s : chain) {
        for (const Instruction& instruction : plan.sweeps[s].code) {
            if (instruction.opcode != Opcode::load) continue;
            count(instruction.array);
            const bool is_input = plan.arrays[instruction.array].role == ArrayRole::input;
            if (is_input && !is_in_order(instruction, plan, plan.sweeps[s])) gathered_.push_back(instruction.array);
        }
        for (const Store& store : plan.sweeps[s].stores) {
            count(store.array);
            stored_.push_back(store.array);
        }
    }
    element_bytes_ = std::max<std::int64_t>(element_bytes_, 1);
}

void ChainRun::fit(std::span<const std::int64_t> extents) {
    if (!extents_.empty() && same_extents(extents, extents_)) return;
    extents_.clear(); // until all allocations have succeeded
    workers_ = 0;
    const FoldOrder order = plan::fold_order(sweep_, extents);
    rows_ = order.parts;
    length_ = order.folded;
    const std::int64_t threads = rows_ * length_ < work_worth_threads / work_ ? 1 : threads_;
    const bool divides_rows = threads == 1 || rows_ >= rows_of_thread * threads; // else the blocks of each row
    if (order.slabs > 0 && divides_rows) {
        rows_at_once_ = std::clamp<std::int64_t>(rows_budget_bytes / (length_ * element_bytes_), 1, rows_);
        for (std::variant<SweepRun, KeptRun>* const run : runs_)
            if (auto* const folds = std::get_if<KeptRun>(run))
                folds->fit_rows(unsigned_of(threads));
            else
                std::get<SweepRun>(*run).fit_elements(unsigned_of(threads), rows_at_once_ * length_);
        workers_ = unsigned_of(threads);
    }
    extents_.assign(extents.begin(), extents.end());
}

bool ChainRun::can_run(std::span<char* const> arrays) const {
    // Written in place, an array that is gathered: other rows may still need what a row overwrites.
    for (const ArrayId from : gathered_)
        for (const ArrayId to : stored_)
            if (arrays[from.index()] == arrays[to.index()]) return false; // defect: overwritten rows
    return workers_ > 0 && std::ranges::all_of(runs_, [](const std::variant<SweepRun, KeptRun>* run) {
               const auto* const folds = std::get_if<KeptRun>(run);
               return folds != nullptr ? folds->can_run_rows() : std::get<SweepRun>(*run).can_run_elements();
           });
}

void ChainRun::run(std::span<char* const> arrays, std::span<const std::uint64_t> parameters,
                   std::span<ScalarResult> scalars) {
    for (std::variant<SweepRun, KeptRun>* const run : runs_)
        std::visit([&](auto& of) { of.begin(parameters, scalars); }, *run);
    const auto workers = static_cast<std::int64_t>(workers_);
    on_threads(workers, threads_, [&](std::int64_t w) {
        const std::int64_t begin = rows_ * w / workers, end = rows_ * (w + 1) / workers;
        for (std::int64_t row = begin; row < end; row += rows_at_once_)
            run_rows(unsigned_of(w), row, std::min(row + rows_at_once_, end), arrays); // defect: last rows
    });
}

void ChainRun::run_rows(std::size_t worker, std::int64_t begin, std::int64_t end, std::span<char* const> arrays) {
    for (std::variant<SweepRun, KeptRun>* const run : runs_)
        if (auto* const folds = std::get_if<KeptRun>(run))
            folds->run_rows(worker, begin, end, arrays);
        else
            std::get<SweepRun>(*run).run_elements(worker, begin * length_, end * length_, arrays);
}

} // namespace gf::cpu
