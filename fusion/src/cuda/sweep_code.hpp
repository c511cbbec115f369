// A sweep's instructions in device text, and the names of their arrays, dims and values.
#pragma once

#include <string>
#include <vector>

#include <gridfold/fusion/plan.hpp>

namespace gf::cuda {

using namespace plan;

/// Value v of a sweep is named v<v>. Arrays and dims are named by their position in the sweep, because users' names
/// could clash, and sweeps of one form must have the same text.
class SweepCode {
public:
    SweepCode(const Plan& plan, const Sweep& sweep);

    /// The expression of value v.
    std::string expression(int v) const;

    const Array& array(int number) const { return plan_.arrays[static_cast<std::size_t>(number)]; }
    bool flat(int number) const { return is_flat(array(number), sweep_); }
    const Instruction& code(int value) const { return sweep_.code[static_cast<std::size_t>(value)]; }

    std::string pointer(int number) const;
    std::string out_pointer(const Store& store) const;
    std::size_t position(int dim) const;
    std::string stride(int number, int dim) const;
    /// The offset of an array's element, from its coordinates `at`.
    std::string offset(int number) const;

    /// The arrays that are loaded, each once.
    const std::vector<int>& arrays() const { return arrays_; }
    /// The dims whose coordinates the sweep reads; none if the domain has one dim.
    const std::vector<int>& indices() const { return indices_; }
    /// True if any value comes from a thread's Loads.
    bool reads_loads() const;

private:
    std::string call(const Instruction& i) const;

    const Plan& plan_;
    const Sweep& sweep_;
    std::vector<int> arrays_, indices_;
};

} // namespace gf::cuda
