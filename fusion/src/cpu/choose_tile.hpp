// How many elements a program computes at a time, and how long that takes.
#pragma once

#include "cpu/sweep_program.hpp"

namespace gf::cpu {

/// Sets the tiles, the prefetches and the work of a program with all its steps.
void choose_tile(SweepProgram& program, const Sweep& sweep);

} // namespace gf::cpu
