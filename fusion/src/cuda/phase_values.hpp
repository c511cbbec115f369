// The values that each phase of a joined sweep computes, and those that it takes from earlier phases.
#pragma once

#include <limits>
#include <vector>

#include <gridfold/fusion/plan.hpp>

#include "cuda/schedule.hpp"

namespace gf::cuda {

using namespace plan;

/// The values of an element, or of a result, in one phase.
struct PhaseValues {
    Table<ValueId, bool> computed;
    Table<ValueId, bool> kept;     ///< values of results that earlier phases computed
    Table<ValueId, bool> divisors; ///< those by which elements are divided (device/divisor.cuh)
    Table<ValueId, bool> held;     ///< values of the element that earlier phases computed and a thread holds
};

/// The stores of a phase's elements, and of the results of its folds.
std::vector<Store> element_stores(const Sweep& sweep, int phase);
std::vector<Store> result_stores(const Sweep& sweep, int phase);
/// The yields of values that a phase's folds determine.
std::vector<Yield> yields_of(const Sweep& sweep, int phase);
/// True if the value is computed from complete folds: for each row, or for whole arrays once.
bool is_of_result(const Sweep& sweep, const Instruction& i);
/// The values of results that a phase's folds determine.
std::vector<ValueId> results_of(const Sweep& sweep, int phase);

/// `holds`: elementary functions and quotients that several phases need are computed once, and held.
PhaseValues values_of_elements(const Sweep& sweep, int phase, bool holds);
PhaseValues values_of_results(const Sweep& sweep, int phase);
/// The values of results that later phases need.
Table<ValueId, bool> kept_values(const Sweep& sweep);
/// True if the instruction divides an element by a value of its result, both of f32.
bool divides_by_result(const Sweep& sweep, const Instruction& i);
/// True if the phase folds nothing, and all that it stores is of bf16, in order, and a monotonic function of one such
/// quotient.
bool rounds_quotients(const Plan& plan, const Sweep& sweep, int phase);
/// The values of results that later phases divide by.
Table<ValueId, bool> divisors(const Sweep& sweep);
/// The values of elements that later phases need, if they are held.
Table<ValueId, bool> held_values(const Sweep& sweep);
/// True if there are such values, and they may be held.
bool may_hold_values(const Sweep& sweep);

/// What a thread holds of each element from one phase to the next: of arrays that are read in order, unless these stay
/// where rows by threads have copied them, and held values.
struct HeldLayout {
    static constexpr int nowhere = std::numeric_limits<int>::min();
    /// The value's first byte among those of an element; nowhere: it is not held. In rows by threads -1 - n: it takes
    /// the place of array number n of arrays_in_order().
    Table<ValueId, int> first;
    std::vector<ValueId> loaded;           ///< before the first phase
    std::vector<std::vector<ValueId>> got; ///< by phase: taken from held memory
    std::vector<std::vector<ValueId>> put; ///< by phase: added to it; values that nothing needs any longer give room
    int bytes = 0;                         ///< of an element
};
HeldLayout held_layout(const Plan& plan, const Sweep& sweep, const Schedule& schedule);

} // namespace gf::cuda
