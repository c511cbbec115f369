// A sweep's instructions in device text, and the names of the arrays, dims and values that they touch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <gridfold/fusion/plan.hpp>

namespace gf::cuda {

using namespace plan;

/// What an emitter is made of. Value v of a sweep is named v<v>. Arrays and dims are named by their place in the sweep:
/// a user's name could clash with another, and sweeps of one form shall have one text.
class SweepCode {
public:
    SweepCode(const Plan& plan, const Sweep& sweep);

    /// The definition of a value.
    std::string definition(int v, std::string_view indent) const;
    std::string expression(int v) const;

protected:
    const Array& array(int number) const { return plan_.arrays[static_cast<std::size_t>(number)]; }
    bool flat(int number) const { return is_flat(array(number), sweep_); }
    const Instruction& code(int value) const { return sweep_.code[static_cast<std::size_t>(value)]; }

    std::string pointer(int number) const;
    std::string out_pointer(const Store& store) const;
    std::size_t position(int dim) const;
    std::string stride(int number, int dim) const;
    /// Of an array's element, from its coordinates `at`.
    std::string offset(int number) const;

    const Plan& plan_;
    const Sweep& sweep_;
    std::vector<int> arrays_;  ///< those loaded, each once
    std::vector<int> indices_; ///< dims whose coordinate the body reads, where the domain has several

private:
    std::string call(const Instruction& i) const;
};

} // namespace gf::cuda
