// The monoids of the reductions: State, identity, accumulate, combine and the functions that read a result off a State.
// Compiled by the host compiler for the CPU backend and by NVRTC for generated kernels; a kernel includes the whole
// file of each monoid that it uses.
//
// E is the element type (bool, i8 … u64, f32, f64), A the accumulator type. A monoid of two or three operands declares
// `operands`, and takes an element of each: accumulate(s, x, y, index). All are an E, or the second one is an
// M::Payload; steps, packs and products are for one operand. accumulate sees the elements of one lane in increasing
// index order; combine(s, t) requires that s precede t. A State is trivially copyable: whole 32-bit words without
// padding, at most 64 of them.
//
// Members that any monoid, built-in or a user's, may declare in addition; fold.cuh detects them, and host/folds.hpp for
// the CPU:
//
//   exact_in_any_order     a constant, true if any order of the elements gives the same state: a thread then keeps one
//                          state (on the CPU a few) instead of one for each of its lanes. Such a monoid may
//                          also declare
//     accumulate_pack(s, x)  accumulates N elements at once, in any order
//     accumulate_pairs(s, x) beside accumulate_pack, for columns: accumulates each of N elements, N even, in its own of
//                            N states
//     identity_is_neutral    a constant, true if State is one number and accumulating the identity's number
//                            changes no State: the CPU replaces masked elements by it, and keeps one accumulator
//     reduce_warp(s, warp)   if `reduces_warps` is true: sets s of every lane to the combination of all lanes' states,
//                            with the Warp of warp.cuh
//
//   symmetric              a constant, true if combine(s, t) and combine(t, s) give the same bits, as where states are
//                          added: threads that exchange states then need not know which of two comes first
//
//   start, advance, end    accumulate in three steps, for folds without a mask, with the same state as result. start()
//                          is a lane's initial state; advance(s, x, turn) accumulates element number `turn` of the lane
//                          (fewer than 2^32); end(s, turns, index, stride, width) gets the number of elements, perhaps
//                          0, the index of the first, and their layout: groups of `width` neighbours, `stride` apart
//
//   takes_products         a constant, true if the CPU compiles a second fold that multiplies two arrays as it reads
//                          them, instead of storing their products
//
//   States                 a base of M with all functions of States alone: the CPU's kernels that start, combine and
//                          order lanes are compiled once for it, whatever the element types
//
//   OfBf16                 a monoid with the same State, for elements that are bfloat16 numbers, widened
//
//   OfBlock                a monoid with a State smaller than M's, for the lanes of a block, without a mask, that share
//                          an origin. origin(x) computes it from the block's first element;
//                          OfBlock::accumulate(s, x, origin) accumulates an element; close(s, origin, elements) is the
//                          State of the block's elements: for finite sums, the same as closing each lane and combining
//                          the States. An origin is an f64, or an M::Origin. Built-in monoids only: the CPU backend
//                          implements the same
#pragma once

#include <gridfold/core/device/prelude.cuh>

#include <gridfold/ops/device/counts.cuh>
#include <gridfold/ops/device/ends.cuh>
#include <gridfold/ops/device/extremes.cuh>
#include <gridfold/ops/device/log_sum_exp.cuh>
#include <gridfold/ops/device/moments.cuh>
#include <gridfold/ops/device/ranks.cuh>
#include <gridfold/ops/device/sums.cuh>
