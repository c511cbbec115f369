// Cases of held rows (held_rows.cuh): graphs whose sweeps are joined, and what the emulator's tests do with one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gridfold/fusion/executable.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>
#include <gtest/gtest.h>

#include "against_cpu.hpp"
#include "cuda/launch.hpp"
#include "plan/join_phases.hpp"

namespace gf::emulator {

/// A graph whose sweeps are joined, and the extents of its first launch.
struct HeldCase {
    const char* text;
    std::vector<std::int64_t> extents;
    int alignment; ///< of the rows, in elements
    cuda::RowSharing sharing = {};
    bool whole_slabs = false;   ///< its kernels are for rows of whole slabs and aligned memory alone
    bool aligned = whole_slabs; ///< … for aligned memory alone
    std::int64_t rows = 1;      ///< that the schedule is chosen for
};

inline constexpr auto softmax =
    "f(x: f32[i, k]) let m = max(x over [k]); let e = exp(x - m); -> y = e / sum(e over [k])";
inline constexpr auto half_softmax =
    "f(x: bf16[i, k]) let m = max(x over [k]); let e = exp(f32(x) - f32(m)); -> y = bf16(e / sum(e over [k]))";
inline constexpr auto layer_norm = "f(x: f32[i, k], g: f32[k], b: f32[k], eps: f32) let d = x - mean(x over [k]); "
                                   "-> y = d / sqrt(mean(d * d over [k]) + eps) * g + b";
inline constexpr auto norms = "f(x: f32[i, k], w: f32[i], m: bool[i, k]) let s = variance(x over [k]); "
                              "let at = argmax(x * w where m over [k]); let n = sum(x where m over [k]); "
                              "-> s = s, at = at, n = n, y = x / (sqrt(s) + w), far = i64(index(k)) - at";
inline constexpr auto deep =
    "f(x: f64[i, k], y: f16[i, k]) let a = mean(x over [k]); let b = variance(x - a over [k]); "
    "let c = max(f64(y) * b over [k]); let d = sum(x * c - a over [k]); "
    "-> d = d, c = c, z = x + d * f64(y)";

// A variance of what is held: its origin is of a row's first element.
inline constexpr auto of_held = "f(x: f32[i, k]) let e = exp(x - max(x over [k])); let s = sum(e over [k]); "
                                "-> v = variance(e / s over [k]), m = mean(e * e over [k])";
// What is held has another size than what it could take the place of.
inline constexpr auto masked_softmax =
    "f(z: bool[i, k], x: f32[i, k]) let m = max(x where z over [k]); let e = exp(x - m); "
    "-> y = e / sum(e where z over [k])";
inline constexpr auto mixed_softmax =
    "f(h: f16[i, k], x: f32[i, k]) let a = f32(h) + x; let e = exp(a - max(a over [k])); "
    "-> y = e / sum(e over [k])";

// Elements of which a word has several, results of several sizes, and packs of 4 and of 32 bytes.
inline constexpr auto bytes = "f(x: u8[i, k]) -> y = max(x over [k]) - x";
inline constexpr auto halves_and_flags =
    "f(x: bf16[i, k]) let d = f32(x) - f32(max(x over [k])); -> y = bf16(d), b = d < -1.0";
inline constexpr auto wide_and_narrow = "f(x: f64[i, k], u: u8[i, k]) let s = sum(x * f64(u) over [k]); "
                                        "-> y = x - s, v = u + u8(7)";

// What is held is wider than what it takes the place of, beside another that is needed.
inline constexpr auto weighted_softmax =
    "f(x: bf16[i, k], w: bf16[i, k]) let z = f32(x); let e = exp(z - max(z over [k])); "
    "-> y = bf16(e / sum(e over [k]) * f32(w))";

// Every third eight elements call functions with operands that are not plain.
inline constexpr auto spread_softmax =
    "f(x: f32[i, k]) let far = index(k) % 24 < 8; let z = select(far, x * 900.0 - 90.0, x); "
    "let e = exp(z - max(z over [k])); -> y = e / sum(e over [k])";
inline constexpr auto spread_logarithms =
    "f(x: f32[i, k]) let far = index(k) % 24 < 8; let l = log(select(far, 0.0, abs(x) + 1.0)); "
    "-> y = l - max(l over [k])";
// Two calls, of which one alone has other operands, one that depends on them, and a masked fold of one.
inline constexpr auto nested_functions =
    "f(x: f32[i, k], m: bool[i, k]) let far = index(k) % 24 < 8; let a = exp(select(far, x * 900.0, x)); "
    "let b = log(abs(x) + 1.0); let c = exp(b); -> y = max(a where m over [k]) - a, z = c - sum(b over [k])";

// Quotients halfway between two bfloat16 numbers, and quotients by a sum too large for the fast division.
inline constexpr auto midpoints =
    "f(x: f32[i, k]) let s = abs(sum(x over [k])) + 3.7; let u = x - floor(x) + 1.0; "
    "let m = (floor(u * 128.0) + 0.5) / 128.0; -> y = bf16(m * s / s), w = bf16(m / s * 3.0 - m)";
inline constexpr auto huge_shares = "f(x: bf16[i, k]) let a = f32(x) * 1e20; -> y = bf16(a / sum(a over [k]))";

// A quotient next to one that is subtracted from it: products with the reciprocal's neighbours are on both sides.
inline constexpr auto infinite =
    "f(x: i8[i, k], w: i16[i], v: i16[i]) let a = abs(f32(w)) * 0.0123 + 1.0 + 0.0 * f32(x); "
    "let s = sum(f32(x) * 0.0 over [k]) + abs(f32(v)) * 0.0234 + 1.0; "
    "let h = f32(f64(a) / f64(s)); -> y = bf16((a / s - h) * 1e30 * 1e30 * 0.0)";

inline constexpr auto half_extremes =
    "f(x: bf16[i, k], m: bool[i, k]) let lo = min(x over [k]); let hi = max(x over [k]); let at = argmax(x over [k]); "
    "let some = min(x where m over [k]); let v = variance(x over [k]); -> lo = lo, hi = hi, some = some, v = v, at = "
    "at, "
    "y = bf16((f32(x) - f32(lo)) / (f32(hi) - f32(lo))), z = f32(x) - v";
inline constexpr auto half_layer_norm =
    "f(x: bf16[i, k], g: bf16[k], b: f32[k]) let d = f32(x) - mean(f32(x) over [k]); "
    "-> y = bf16(d / sqrt(mean(d * d over [k]) + 0.001) * f32(g) + b)";

// Two values are held, of which one may take the place of what is loaded.
inline constexpr auto two_held = "f(x: f32[i, k]) let d = x - max(x over [k]); let e = exp(d); let t = tanh(d); "
                                 "-> y = e / sum(e over [k]) + t / sum(t over [k])";

// What is held is narrower than a word.
inline constexpr auto narrow_held = "f(x: u8[i, k]) let p = pow(x, u8(3)); let m = max(p over [k]); -> y = m - p";

/// The joined plan of a case, its kernels, and the CPU's executable.
class Subject : public SubjectOfCourse {
public:
    /// `takes_turns`: a thread block can have rows after its first.
    explicit Subject(const HeldCase& given, bool takes_turns = false)
        : SubjectOfCourse(given.text, [](const Graph& graph) { return joined(fuse(graph)); }), given_(given) {
        const std::int64_t row = fold_order(plan_.sweeps[SweepId(0)], given.extents).folded;
        const FoldOrder order = fold_order(row);
        kernels_ = kernels_of(plan_,
                              cuda::RowFacts{.longest = row,
                                             .blocks = given.rows,
                                             .alignment = given.alignment,
                                             .shortest = row,
                                             .slabs = (order.slabs + order.blocks - 1) / order.blocks,
                                             .stored_alignment = given.aligned ? given.alignment : 1,
                                             .packs_aligned = given.aligned},
                              given.sharing, takes_turns);
    }

    /// Launches with the case's rows, with one more, and with shorter ones, at several alignments of memory. Where
    /// several thread blocks share a row, some are so short that the last ones have no elements.
    std::optional<std::string> what_is_wrong(const HostModule& module, std::size_t first_entry) const {
        EmulatedPlan emulated(plan_, kernels_, module, first_entry);
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
            oracle::Case test{seed, graph_, given_.extents};
            if (seed == 2 && !kept_dims(plan_.sweeps[SweepId(0)]).empty()) test.extents[0] += 1;
            if (seed == 3) test.extents.back() = shorter(test.extents.back(), 3);
            if (const cuda::Schedule& of = schedule(); seed == 4 && of.cluster > 1)
                test.extents.back() = !of.cooperates && !given_.whole_slabs
                                          ? 12'000
                                          : shorter(test.extents.back(), test.extents.back() / 8);
            if (given_.aligned || schedule().whole_packs) align(test, plan_);
            const std::int64_t most_clusters = seed == 1 ? 100 : 1; // one has rows after its first
            if (auto wrong = emulator::what_is_wrong(emulated, plan_, reference_, test, seed, most_clusters))
                return wrong;
        }
        return {};
    }
    /// All thread blocks of a launch together prefetch each byte of an input once, but for those of the first rows,
    /// which are loaded at once.
    void expect_all_but_the_first_to_be_prefetched(const HostModule& module) const {
        EmulatedPlan emulated(plan_, kernels_, module, 0);
        oracle::Case test{1, graph_, given_.extents};
        if (given_.aligned) align(test, plan_);
        const oracle::Inputs inputs = inputs_of(test);
        const BoundCase bound(plan_, test, inputs);
        emulated.run(bound.bound(), Order::shuffled, 1);
        const FoldOrder order = fold_order(plan_.sweeps[SweepId(0)], given_.extents);
        const std::int64_t at_once = parts_of_tile(kernels_.front(), order) * order.folded; // elements
        const std::int64_t ahead = std::max(schedule().elements_ahead / at_once, std::int64_t{1}) * at_once;
        for (const ArrayId a : cuda::arrays_in_order(plan_, plan_.sweeps[SweepId(0)])) {
            const Array& array = plan_.arrays[a];
            SCOPED_TRACE(array.name);
            const auto first = reinterpret_cast<std::uintptr_t>(bound.bound().arrays[a.index()].address);
            const auto after = [&](std::int64_t elements) {
                return first + std::uintptr_t(elements) * size_of(array.type);
            };
            const std::uintptr_t end = after(cuda::elements_of(array.dims, bound.bound().extents));
            std::vector<std::pair<std::uintptr_t, std::uintptr_t>> ranges;
            for (const Bytes& range : prefetched()) {
                const auto begin = reinterpret_cast<std::uintptr_t>(range.begin);
                if (begin >= first && begin < end)
                    ranges.emplace_back(begin, reinterpret_cast<std::uintptr_t>(range.end));
            }
            std::ranges::sort(ranges);
            ASSERT_FALSE(ranges.empty());
            constexpr std::uintptr_t rounded = 16; // ranges begin and end at multiples of it
            EXPECT_EQ(ranges.front().first, (after(ahead) + rounded - 1) / rounded * rounded);
            for (std::size_t i = 1; i < ranges.size(); ++i) {
                EXPECT_GE(ranges[i].first, ranges[i - 1].second);
                EXPECT_LE(ranges[i].first, ranges[i - 1].second + rounded);
            }
            EXPECT_EQ(ranges.back().second, end / rounded * rounded);
        }
    }
    std::string name() const {
        return fmt::format("{} rows of {}: {}", given_.extents[0], given_.extents.back(), given_.text);
    }

private:
    /// The length less `by`, in whole slabs or packs if kernels are for such rows; unchanged if nothing would be left,
    /// or if kernels are for rows of this length.
    std::int64_t shorter(std::int64_t length, std::int64_t by) const {
        if (schedule().even_blocks) return length;
        const bool gets_units = schedule().course == cuda::Course::held_thread_rows;
        const std::int64_t multiple = given_.whole_slabs       ? slab_elements
                                      : schedule().whole_packs ? 16
                                      : gets_units             ? given_.alignment
                                                               : 1;
        by = std::max(by / multiple, std::int64_t{1}) * multiple;
        return length > by ? length - by : length;
    }
    static Plan joined(const Plan& plan) { return join_phases(plan, find_chains(plan, Folded::rows_or_all)); }

    HeldCase given_;
};

} // namespace gf::emulator
