// A sweep's instructions in device text, and the names of their arrays, dims and values.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <gridfold/fusion/plan.hpp>

#include "cuda/parameters.hpp"

namespace gf::cuda {

/// Value v of a sweep is named v<v>. Arrays and dims are named by their position in the sweep, because users' names
/// could clash, and sweeps of one form must have the same text.
class SweepCode {
public:
    /// `dims_of_row`: the leading dims whose coordinates a row's kernel has in `row`; the others are in `at`.
    SweepCode(const Plan& plan, const Sweep& sweep, std::size_t dims_of_row);

    /// A kernel parameter's type, its name, and a note for people.
    std::string type(const KernelParameter& parameter) const;
    std::string name(const KernelParameter& parameter) const;
    std::string note(const KernelParameter& parameter) const;
    /// The expression of value v.
    std::string expression(ValueId v) const;

    const Array& array(ArrayId a) const { return plan_.arrays[a]; }
    const Instruction& code(ValueId v) const { return sweep_.code[v]; }

    std::string pointer(ArrayId a) const;
    std::string out_pointer(ArrayId a) const;
    std::size_t position(DimId dim) const;
    std::string stride(ArrayId a, DimId dim) const;
    /// An element's coordinate along a dim.
    std::string coordinate(DimId dim) const;
    /// The extent along a dim.
    std::string extent(DimId dim) const;
    /// The offset of an array's element, from its coordinates, changed by a load's steps.
    std::string offset(ArrayId a, std::span<const Step> steps = {}) const;
    /// The name of what a load reads by coordinates, among a thread's Loads.
    std::string gathered(const Instruction& load) const;
    /// The loads that read by coordinates, each once.
    const std::vector<const Instruction*>& gathers() const { return gathers_; }
    /// The offset of a result's element, from the result's coordinates `at`.
    std::string result_offset(ArrayId a) const;

    /// The arrays that are loaded, each once.
    const std::vector<ArrayId>& arrays() const { return arrays_; }
    /// The dims whose coordinates the sweep reads; none if the domain has one dim.
    const std::vector<DimId>& indices() const { return indices_; }
    /// The function that called() of device/lanes.cuh can compute a value by; "" if there is none.
    std::string_view function_with_plain_form(ValueId v) const;
    /// True if any value comes from a thread's Loads.
    bool reads_loads() const;

    /// The operands of a map, as arguments.
    std::string operands(const Instruction& i) const;

private:
    std::string call(const Instruction& i) const;
    bool is_exp_of_nonpositive(const Instruction& i) const;
    bool is_nonpositive(ValueId v) const;

    const Plan& plan_;
    const Sweep& sweep_;
    std::size_t dims_of_row_;
    std::vector<ArrayId> arrays_;
    std::vector<const Instruction*> gathers_;
    std::vector<DimId> indices_;
};

} // namespace gf::cuda
