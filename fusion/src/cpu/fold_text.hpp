// The folds of a compiled tile (tile_text.hpp): what its loops carry from row to row, and what becomes of it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gridfold/fusion/plan.hpp>

#include "cpu/ir.hpp"
#include "host_kernels/kernels.hpp"

namespace gf::cpu {

using namespace plan;

/// A number, or one for each lane, that a loop carries from row to row.
struct Carried {
    FoldId fold;
    /// True for a part of the states of a fold's lanes, which are a plane in memory; false for an accumulator of a fold
    /// in any order.
    bool in_order;
    DType type;
    std::string_view how;   ///< the instruction or the intrinsic that folds two
    std::string identity;   ///< as a number
    std::size_t offset = 0; ///< in order: the bytes before the plane
};

/// The values of a row by instruction, in the names of the text.
using RowValues = Table<ValueId, std::string>;

class FoldText {
public:
    /// The text and the sweep must outlive it.
    FoldText(Ir& ir, const Sweep& sweep, InstructionSet set);

    /// True if a fold has a text.
    static bool has_text(const Fold& fold);
    /// True if a fold compares its elements, or converts integers to floats.
    static bool compares_or_converts(const Fold& fold);

    std::span<const Carried> carried() const { return carried_; }
    bool has_origins() const;
    /// The registers that what is carried takes with vectors of `lanes` lanes.
    int registers(int lanes) const;

    /// Defines the addresses of lanes and States, %state{} by fold and %plane{} by what is carried.
    void write_entry();
    /// Stores the origins of a block, whose first element has these values.
    void write_origins(const RowValues& values);
    /// Repeats the origins for vectors of Ir::lanes lanes.
    void begin_loop();
    /// Folds a row. `before`, and what it returns: by what is carried; accumulators have `accumulator_lanes` lanes. ""
    /// before the first row of lanes.
    std::vector<std::string> fold(const RowValues& values, const std::vector<std::string>& before,
                                  int accumulator_lanes);
    /// Folds accumulators of `lanes` lanes into the States in memory.
    void reduce(const std::vector<std::string>& accumulated, int lanes);
    /// Combines the lanes of a whole block: words_of_register() neighbours leave one.
    void write_trees();

private:
    void describe(FoldId f);
    const Fold& fold_of(FoldId f) const { return sweep_.folds[f]; }
    bool shares_accumulators(FoldId f, FoldId with) const;
    std::string folded(std::string_view how, DType type, const std::string& a, const std::string& b);
    std::string accumulated(const Carried& carried, std::string folded_before, const std::string& x,
                            int accumulator_lanes);
    std::string combine(const Carried& plane, const std::string& states, int of_register, int of_segment, int run);
    void reduce_count(FoldId f, const std::string& number);
    void reduce_integers(FoldId f, std::string_view how, const std::string& number);
    void reduce_floats(FoldId f, std::span<const std::string> numbers);

    Ir& ir_;
    const Sweep& sweep_;
    const int width_; ///< of a register, in words of 4 bytes
    std::vector<Carried> carried_;
    Table<FoldId, std::string> origin_; ///< of the loop that is written
};

} // namespace gf::cpu
