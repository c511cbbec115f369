// The monoids behind the reductions: State, identity, accumulate, combine and what is read off the end. Compiled by the
// host compiler for the CPU backend and by NVRTC for generated kernels, which hold those parts, whole, that define the
// monoids they use.
//
// E is the element type (bool, i8 … u64, f32, f64), A the accumulator type. accumulate sees the elements of one lane in
// increasing index order; combine(s, t) gets s from before t. A State is trivially copyable, whole 32-bit words without
// padding, at most 64 of them.
//
// What else a monoid may declare, built-in or a user's; fold.cuh detects it:
//
//   exact_in_any_order     a constant, true where any order of the elements gives the same state: a thread then keeps
//                          one state instead of one for each of its lanes. It may then also offer
//     accumulate_pack(s, x)  N elements at once, in any order
//     reduce_warp(s, warp)   makes s of every lane the combination of all lanes', with the Warp of warp.cuh, where
//                            `reduces_warps` is true
//
//   start, advance, end    accumulate in three steps, for lanes that no mask interrupts. start() is what a lane begins
//                          with; advance(s, x, turn) takes each element in turn, counted from 0 (a lane has fewer than
//                          2^32 elements); end(s, turns, index, stride, width) gets how many there were, perhaps none,
//                          the index of the first, and their places: `width` side by side, then the next `stride`
//                          further on. The state is the one that accumulate gives
//
//   OfBlock                a monoid itself, smaller than State, for lanes of a block that no mask interrupts and that
//                          share something of the block's first element. origin(x) is what they share;
//                          OfBlock::accumulate(s, x, origin) takes an element; close(s, origin, elements) is the State
//                          of all their elements: the same, of finite sums, as if each lane had closed and combined.
//                          Built-in monoids only: the CPU backend must do the same
#pragma once

#include <gridfold/core/device/prelude.cuh>

#include <gridfold/ops/device/counts.cuh>
#include <gridfold/ops/device/extremes.cuh>
#include <gridfold/ops/device/log_sum_exp.cuh>
#include <gridfold/ops/device/moments.cuh>
#include <gridfold/ops/device/sums.cuh>
