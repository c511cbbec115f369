// What all runs of a sweep share: its scalars, and the steps that compute elements.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/plan.hpp>

#include "cpu/gather.hpp"
#include "cpu/memory.hpp"
#include "cpu/sweep_program.hpp"

namespace gf::cpu {

class SweepBody {
public:
    /// The plan, the sweep and the program must outlive it.
    SweepBody(const Plan& plan, const Sweep& sweep, const SweepProgram& program);

    const Plan& plan() const { return plan_; }
    const Sweep& sweep() const { return sweep_; }
    const SweepProgram& program() const { return program_; }
    /// The places in use that are in arrays, and in scratch memory.
    std::span<const int> array_places() const { return array_places_; }
    std::span<const int> temporary_places() const { return temporary_places_; }
    /// Where a scalar place is.
    char* scalar_at(const Place& place) const { return splats_.get() + place.offset * program_.room(); }
    /// By instruction, once begin() has computed the prologue.
    std::span<const std::uint64_t> values() const { return values_; }
    /// By position in Sweep::dims: the strides of an array that is gathered or scattered, for the last fit().
    const DimStrides& strides(ArrayId array) const { return strides_[array]; }

    /// Sets the extents of the next runs; `elements` is their product.
    void fit(std::span<const std::int64_t> extents, std::int64_t elements);
    /// Sets the strides of the next runs' arrays, by Plan::arrays; a contiguous one has none, and so have arrays after
    /// the last of `bound`. After fit(), which takes all for contiguous.
    void take_strides(std::span<const std::int64_t> extents, std::span<const Strides> bound);
    /// Computes the prologue and fills the scalar places.
    void begin(std::span<const std::uint64_t> parameters, std::span<ScalarResult> scalars);
    /// Computes one step for n elements of the domain from `element` on.
    void run(const BodyStep& step, char* out, char* const (&in)[max_arity], std::int64_t element, std::size_t n,
             std::span<char* const> arrays) const;
    /// Computes the epilogue from the folds' states, and the yielded scalars.
    void end(std::span<const std::uint64_t> parameters, std::span<ScalarResult> scalars, std::span<void* const> states);

private:
    void run_of_rows(const BodyStep& step, char* out, const char* in, std::int64_t element, std::size_t n,
                     std::span<char* const> arrays) const;
    void walk_arrays(std::span<const std::int64_t> extents, std::span<const Strides> bound);

    const Plan& plan_;
    const Sweep& sweep_;
    const SweepProgram& program_;
    std::vector<int> array_places_, temporary_places_;
    bool has_elements_ = false;
    Table<ArrayId, std::int64_t> row_length_;           ///< of the arrays with a value for each row
    Table<ArrayId, DimStrides> strides_;                ///< of the arrays that steps name
    Table<ArrayId, Walk> walks_;                        ///< of the same
    std::vector<ShiftedWalk> shifted_;                  ///< by BodyStep::shifted
    Table<DimId, std::int64_t> dim_extent_, dim_inner_; ///< of the dims in the domain
    Bytes splats_;
    std::vector<std::optional<std::uint64_t>> filled_; ///< by splat: its current value
    std::vector<std::uint64_t> values_;                ///< the bytes of prologue and epilogue values
};

} // namespace gf::cpu
