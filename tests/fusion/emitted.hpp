// Kernels of graphs in text form, for tests of the emitter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>

#include "cuda/emit_cuda.hpp"

namespace gf::test {

inline cuda::Kernel emit(std::string_view graph, int sweep = 0, cuda::Problems problems = cuda::Problems::one) {
    return cuda::emit_cuda(fuse(parse(graph)), plan::SweepId(sweep), problems);
}

inline cuda::Schedule schedule(std::string_view graph, cuda::Problems problems = cuda::Problems::one,
                               std::int64_t blocks = 0) {
    const Plan plan = fuse(parse(graph));
    return cuda::choose_schedule(plan, plan.sweeps.at(0), problems, blocks);
}

inline bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

inline constexpr std::string_view cubes = "c(x: f32[n]) -> c = sum(x * x * x)";
inline constexpr std::string_view dozen =
    "s(x: f32[n]) -> sum = sum(x), squares = sum_of_squares(x), l2 = l2_norm(x), mean = mean(x), variance = "
    "variance(x), "
    "stddev = stddev(x), low = min(x), high = max(x), positive = count(x > 0), some = any(x), every = all(x), "
    "product = product(x)";

/// The text after the library, which differs between kernels.
inline std::string sweep_of(std::string_view graph, int sweep = 0, cuda::Problems problems = cuda::Problems::one) {
    const std::string text = emit(graph, sweep, problems).source;
    return text.substr(text.find("struct Sweep : "));
}

/// Graphs that fold some dims.
inline constexpr std::string_view kept[]{
    "rows(x: f32[i, j]) -> s = sum(x over [j])",
    "rows(x: f16[i, j, k], w: f32[i, k], m: bool[j]) -> v = variance(f32(x) * w over [j, k]), at = argmax(x over "
    "[j, k]), t = sum(x * f16(2) where m over [j, k], accumulate = f64), y = x * f16(2)",
    "rows(x: i8[i, j]) -> s = sum(x over [j]), low = min(x over [j]), c = count(x > 0 over [j])",
    "columns(x: f32[i, j]) -> s = sum(x over [i]), v = variance(x over [i]), at = argmin(x over [i])",
    "channels(x: u8[n, c, h, w], b: f64[c]) -> m = mean(f64(x) * b over [n, h, w]), y = x * u8(3)",
    "middle(x: f64[i, j, k], y: f64[k, j, i]) -> d = sum(x * y over [j]), p = product(x over [j])",
    "comb(x: bf16[a, b, c, d, e]) -> l = logsumexp(x over [a, c, e]), high = max(x over [a, c, e])"};

} // namespace gf::test
