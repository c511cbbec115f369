// What every generated kernel starts with: types, exact arithmetic and conversions; and the elementary functions, which
// only a kernel that calls them has. The parts include no header: NVRTC reads their text; the host includes this file.
//
// On the host the namespace is `gf::device`, unless GRIDFOLD_NAMESPACE names another: the CPU backend compiles the
// parts once for each instruction set, each in its own namespace, so that no inline function is shared between them.
//
// Both sides give the same bits. That needs contraction off (--fmad=false, -ffp-contract=off), rounding to nearest, and
// denormals kept. T is bool, an integer, f32 or f64 throughout.
#pragma once

#include <gridfold/core/device/types.cuh>

#include <gridfold/core/device/arithmetic.cuh>

#include <gridfold/core/device/mathematics.cuh>

#include <gridfold/core/device/conversions.cuh>

#include <gridfold/core/device/functions/real.cuh>

#include <gridfold/core/device/functions/exponential.cuh>

#include <gridfold/core/device/functions/logarithm.cuh>

#include <gridfold/core/device/functions/power.cuh>

#include <gridfold/core/device/functions/trigonometric.cuh>

#include <gridfold/core/device/functions/error_function.cuh>
