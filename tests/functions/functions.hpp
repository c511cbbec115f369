// The rows of functions.def as data.
#pragma once

#include <string_view>

#include "functions/points.cuh"

namespace gf::test {

struct Function {
    std::string_view name;
    Domain domain;
    double most_f32, most_f64; ///< the largest error that is allowed, in ulp

    int arity() const { return domain.operands == OperandKind::one ? 1 : 2; }
    template <class T> double most() const { return sizeof(T) == 4 ? most_f32 : most_f64; }
};
inline constexpr Function all_functions[] = {
#define GRIDFOLD_FUNCTION(name, operands, low, high, step, most_f32, most_f64) \
    {#name, {OperandKind::operands, low, high, step}, most_f32, most_f64},
#include "functions/functions.def"
#undef GRIDFOLD_FUNCTION
};

/// The row of a name, or null.
constexpr const Function* find_function(std::string_view name) {
    for (const Function& f : all_functions)
        if (f.name == name) return &f;
    return nullptr;
}

} // namespace gf::test
