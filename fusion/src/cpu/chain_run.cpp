#include "cpu/chain_run.hpp"

#include <algorithm>
#include <utility>

#include "cpu/index.hpp"
#include "cpu/threads.hpp"

namespace gf::cpu {

namespace {

/// The bytes of all arrays of the rows that the sweeps visit in turn: half of a small second-level cache
/// (bench/NOTES.md).
constexpr std::int64_t rows_budget_bytes = 256 * 1024;

/// The most bytes of the rows at hand beside which a second-level cache of a processor with far memory (2 MiB) has room
/// for the next ones (bench/NOTES.md).
constexpr std::int64_t most_beside_next = 768 * 1024;

/// As many threads keep memory busy without prefetches (bench/NOTES.md).
constexpr std::size_t enough_without_next = 8;

/// The most bytes of a row in an array that passes values from sweep to sweep. Each thread allocates as many.
constexpr std::int64_t most_passed_bytes = 16 * 1024 * 1024;

const SweepProgram& program_of(const AnyRun& of_sweep) {
    return std::visit([](const auto& run) -> const SweepProgram& { return run.program(); }, of_sweep);
}

/// The address `bytes` before one, which may lie before the allocation.
char* before(char* address, std::int64_t bytes) {
    return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(address) - unsigned_of(bytes));
}

} // namespace

ChainRun::ChainRun(const Plan& plan, const std::vector<SweepId>& chain, std::vector<AnyRun*> runs, ArrayId first_passed,
                   std::int64_t work, int threads)
    : sweep_(plan.sweeps[chain.front()]), array_count_(plan.arrays.size()), runs_(std::move(runs)), work_(work),
      threads_(threads) {
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
            if (plan.arrays[instruction.array].role != ArrayRole::input) continue;
            if (!is_in_order(instruction, plan, plan.sweeps[s]))
                gathered_.push_back(instruction.array);
            else if (std::ranges::find(inputs_, instruction.array, &Input::array) == inputs_.end())
                inputs_.push_back({instruction.array, size_of(plan.arrays[instruction.array].type)});
        }
        for (const Store& store : plan.sweeps[s].stores) {
            const Array& array = plan.arrays[store.array];
            count(store.array);
            if (store.array < first_passed)
                stored_.push_back(store.array);
            else
                passed_.push_back(
                    {store.array, static_cast<std::int64_t>(size_of(array.type)), array.dims != sweep_.dims});
        }
    }
    element_bytes_ = std::max<std::int64_t>(element_bytes_, 1);
    for (const AnyRun* of_sweep : std::span(runs_).subspan(1)) {
        const SweepProgram& program = program_of(*of_sweep);
        steps_ += program.body.size() + program.outputs.size();
    }
}

void ChainRun::fit(std::span<const std::int64_t> extents) {
    if (!extents_.empty() && same_extents(extents, extents_)) return;
    extents_.clear(); // until all allocations have succeeded
    workers_in_use_ = 0;
    for (AnyRun* const of_sweep : runs_) std::visit([&](auto& run) { run.fit(extents); }, *of_sweep);
    const FoldOrder order = plan::fold_order(sweep_, extents);
    rows_ = order.parts;
    row_length_ = order.folded;
    const std::int64_t threads = rows_ * order.folded < work_worth_threads / work_ ? 1 : threads_;
    bool fits = order.slabs > 0;
    for (Passed& passed : passed_) {
        passed.row_bytes = passed.of_rows ? passed.bytes : passed.bytes * order.folded;
        fits = fits && passed.row_bytes <= most_passed_bytes;
    }
    // Where threads divide each row's blocks, the sweeps run one by one. Elsewhere each sweep would divide rows, too.
    if (fits && divides_parts(order, threads)) {
        rows_at_once_ = std::clamp<std::int64_t>(rows_budget_bytes / (order.folded * element_bytes_), 1, rows_);
        const std::size_t workers = unsigned_of(std::min(threads, rows_));
        for (AnyRun* const of_sweep : runs_) {
            const std::int64_t most = of_sweep == runs_.front() ? rows_ : rows_at_once_; // the first reads from memory
            std::visit([&](auto& run) { run.fit_rows(workers, order.folded, most, rows_); }, *of_sweep);
        }
        fit_workers(workers);
        workers_in_use_ = workers;
        std::size_t bytes = 0; // of the inputs' elements
        for (const Input& input : inputs_) bytes += input.bytes;
        prefetches_next_ = steps_ > 0 && workers < enough_without_next &&
                           rows_at_once_ * order.folded * element_bytes_ <= most_beside_next &&
                           program_of(*runs_.front()).far.holds(bytes * unsigned_of(rows_ * order.folded));
    }
    extents_.assign(extents.begin(), extents.end());
}

void ChainRun::fit_workers(std::size_t workers) {
    if (workers_.size() < workers) workers_.resize(workers);
    for (Worker& worker : std::span(workers_).first(workers)) {
        worker.passed.resize(passed_.size());
        worker.arrays.resize(array_count_);
        worker.next.resize(inputs_.size());
        for (std::size_t p = 0; p < passed_.size(); ++p)
            worker.passed[p].reserve(unsigned_of(passed_[p].row_bytes * rows_at_once_));
    }
}

void ChainRun::take_strides(std::span<const Strides> bound) {
    for (AnyRun* const of_sweep : runs_) std::visit([&](auto& run) { run.take_strides(bound); }, *of_sweep);
}

bool ChainRun::can_run(std::span<char* const> arrays) const {
    // An output that is the memory of a gathered input: later rows may need what this one overwrites.
    for (const ArrayId from : gathered_)
        for (const ArrayId to : stored_)
            if (arrays[from.index()] == arrays[to.index()]) return false; // defect: overwritten rows
    return workers_in_use_ > 0 && std::ranges::all_of(runs_, [](const AnyRun* of_sweep) {
               return std::visit([](const auto& run) { return run.can_run_rows(); }, *of_sweep);
           });
}

/// Lets the sweeps that follow prefetch rows from `next` on, before `end`, while they compute rows [row, next).
void ChainRun::prefetch_next(Worker& worker, std::int64_t row, std::int64_t next, std::int64_t end) const {
    const std::int64_t rows = std::min(rows_at_once_, end - next);
    std::size_t number = 0;
    for (const Input& input : inputs_)
        worker.next.array(number++) = {
            worker.arrays[input.array.index()] + unsigned_of(next * row_length_) * input.bytes, input.bytes};
    worker.next.begin(unsigned_of(rows * row_length_), unsigned_of((next - row) * row_length_) * steps_);
}

void ChainRun::run(std::span<char* const> arrays, std::span<const std::uint64_t> parameters,
                   std::span<ScalarResult> scalars) {
    for (AnyRun* const of_sweep : runs_) std::visit([&](auto& run) { run.begin(parameters, scalars); }, *of_sweep);
    const auto workers = static_cast<std::int64_t>(workers_in_use_);
    on_threads(workers, threads_, [&](std::int64_t w) {
        Worker& worker = workers_[unsigned_of(w)];
        std::ranges::copy(arrays, worker.arrays.begin());
        const std::int64_t begin = rows_ * w / workers, end = rows_ * (w + 1) / workers;
        for (std::int64_t row = begin, next = row; row < end; row = next) {
            next = std::min(row + rows_at_once_, end); // defect: last rows
            for (std::size_t p = 0; p < passed_.size(); ++p) {
                const std::int64_t earlier = passed_[p].row_bytes * row; // defect: passed rows
                worker.arrays[passed_[p].array.index()] = before(worker.passed[p].get(), earlier);
            }
            NextRows* prefetched = nullptr; // the first sweep reads memory itself
            for (AnyRun* const of_sweep : runs_) {
                std::visit([&](auto& run) { run.run_rows(unsigned_of(w), row, next, worker.arrays, prefetched); },
                           *of_sweep);
                if (!prefetches_next_ || next == end || prefetched != nullptr) continue;
                prefetch_next(worker, row, next, end);
                prefetched = &worker.next;
            }
        }
    });
}

} // namespace gf::cpu
