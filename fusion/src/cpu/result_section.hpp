// The results of folds that keep dims: finalised, converted and stored, many at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <gridfold/fusion/plan.hpp>

#include "cpu/gather.hpp"
#include "cpu/memory.hpp"
#include "host_kernels/kernels.hpp"

namespace gf::cpu {

using namespace plan;

/// One instruction on results, or one store of them, with its kernel.
struct ResultStep {
    ValueId value;
    MapKernel map = nullptr;
    ConvertKernel convert = nullptr;
    FinalizeKernel finalize = nullptr;
};

struct ResultProgram {
    std::vector<ResultStep> steps;
    std::vector<ValueId> constants; ///< the prologue values that they read
    struct OfStore {
        Store store;
        ConvertKernel convert;
        bool in_order; ///< the array has the results in the order of their numbers
    };
    std::vector<OfStore> stores;
};

/// Throws InternalError for an instruction without a kernel.
ResultProgram result_program(const Plan& plan, const Sweep& sweep, InstructionSet set);

/// The pending results of one thread: States fold after fold, until flush() stores what comes of them. Results that are
/// added one after the other have consecutive numbers.
class ResultSection {
public:
    static constexpr std::size_t most = 2048; ///< pending results

    ResultSection(const Plan& plan, const Sweep& sweep, const ResultProgram& program,
                  std::span<const std::size_t> state_bytes);

    /// Sets the extents of the next results, by Plan::dims; there are some results. Allocates nothing.
    void fit(std::span<const std::int64_t> extents);
    /// True if `count` results, at most `most`, can be added before a flush().
    bool has_room(std::size_t count) const { return pending_ + count <= most; }
    /// Where the next result's State of a fold goes.
    char* next(std::size_t fold) const { return states_[fold].get() + pending_ * state_bytes_[fold]; }
    void add(std::int64_t first, std::size_t count) {
        if (pending_ == 0) first_ = first;
        pending_ += count;
    }
    /// `values`: the prologue's, by instruction.
    void flush(std::span<const std::uint64_t> values, std::span<char* const> arrays);

private:
    void evaluate(const ResultStep& step);

    const Plan& plan_;
    const Sweep& sweep_;
    const ResultProgram& program_;
    std::vector<std::size_t> state_bytes_;
    std::vector<Bytes> states_;     ///< by fold
    Table<ValueId, Bytes> results_; ///< by instruction: its values
    std::vector<DimId> dims_;       ///< of the results
    std::vector<Walk> walks_;       ///< by ResultProgram::stores: over the results in the order of their numbers
    Bytes converted_;               ///< elements of an array before they are scattered
    std::int64_t first_ = 0;
    std::size_t pending_ = 0;
};

} // namespace gf::cpu
