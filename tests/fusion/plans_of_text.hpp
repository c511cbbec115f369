// Verified plans of graphs given as text, and what they hold.
#pragma once

#include <algorithm>
#include <string_view>

#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>

#include "plan/verify.hpp"

namespace gf::test {

using namespace plan;

inline Plan fused(std::string_view text) {
    Plan plan = fuse(parse(text));
    verify(plan);
    return plan;
}

inline Plan unfused(std::string_view text) {
    FuseOptions options;
    options.fuse = false;
    Plan plan = fuse(parse(text), options);
    verify(plan);
    return plan;
}

inline int count(const Sweep& sweep, Opcode opcode) {
    return static_cast<int>(
        std::count_if(sweep.code.begin(), sweep.code.end(), [&](const Instruction& i) { return i.opcode == opcode; }));
}

} // namespace gf::test
