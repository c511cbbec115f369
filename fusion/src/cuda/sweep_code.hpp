// A sweep's instructions in device text, and the names of the arrays, dims and values that they touch.
#pragma once

#include <string>
#include <vector>

#include <gridfold/fusion/plan.hpp>

namespace gf::cuda {

using namespace plan;

/// Value v of a sweep is named v<v>. Arrays and dims are named by their place in the sweep: a user's name could clash
/// with another, and sweeps of one form shall have one text.
class SweepCode {
public:
    SweepCode(const Plan& plan, const Sweep& sweep);

    /// The expression that value v is.
    std::string expression(int v) const;

    const Array& array(int number) const { return plan_.arrays[static_cast<std::size_t>(number)]; }
    bool flat(int number) const { return is_flat(array(number), sweep_); }
    const Instruction& code(int value) const { return sweep_.code[static_cast<std::size_t>(value)]; }

    std::string pointer(int number) const;
    std::string out_pointer(const Store& store) const;
    std::size_t position(int dim) const;
    std::string stride(int number, int dim) const;
    /// Of an array's element, from its coordinates `at`.
    std::string offset(int number) const;

    /// The arrays that are loaded, each once.
    const std::vector<int>& arrays() const { return arrays_; }
    /// The dims whose coordinate the body reads, where the domain has several.
    const std::vector<int>& indices() const { return indices_; }
    /// Whether any value comes from a thread's Loads.
    bool reads_loads() const;

private:
    std::string call(const Instruction& i) const;

    const Plan& plan_;
    const Sweep& sweep_;
    std::vector<int> arrays_, indices_;
};

} // namespace gf::cuda
