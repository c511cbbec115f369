// Folds that keep dims on a CUDA device, through the public interface: rows have the bits that they have alone, every
// kept set gives what counting gives, and workspaces follow the extents that are bound.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/device.hpp>
#include <gridfold/core/stream.hpp>
#include <gridfold/gridfold.hpp>

#include "fusion/device_array.hpp"
#include "fusion/device_scale.hpp"
#include "fusion/numbers.hpp"
#include "fusion/on_cuda.hpp"
#include "fusion/user_graph.hpp"

namespace {

using gf::test::DeviceArray;
using gf::test::is_emulated;
using gf::test::numbers;
using gf::test::product;
using I64s = std::vector<std::int64_t>;

class KeptDims : public gf::test::OnCuda {
protected:
    static gf::Executable compile(const std::string& text) { return gf::compile(gf::parse(text), {.device = "cuda"}); }
};

/// Small integers, which repeat.
std::vector<std::int32_t> digits(std::size_t n, std::uint32_t seed = 1) {
    std::vector<std::int32_t> values(n);
    for (std::int32_t& value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = static_cast<std::int32_t>(seed >> 20) % 100 - 30;
    }
    return values;
}

struct Counted {
    I64s sums, places, lows;
    std::vector<std::int32_t> twice;
    friend bool operator==(const Counted&, const Counted&) = default;
};

/// Sum, argmax and minimum over the dims that are not kept, by counting.
Counted counted(const std::vector<std::int32_t>& x, const I64s& extents, unsigned kept) {
    std::int64_t results = 1;
    for (std::size_t d = 0; d < extents.size(); ++d) results *= (kept >> d & 1u) != 0 ? extents[d] : 1;
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
    Counted all{I64s(std::size_t(results), 0), I64s(std::size_t(results), 0), I64s(std::size_t(results), none), {}};
    std::vector<std::int32_t> highest(std::size_t(results), std::numeric_limits<std::int32_t>::min());
    for (std::size_t e = 0; e < x.size(); ++e) {
        std::int64_t rest = std::int64_t(e), result = 0, index = 0, result_step = 1, index_step = 1;
        for (std::size_t d = extents.size(); d-- > 0; rest /= extents[d]) {
            const bool keeps = (kept >> d & 1u) != 0;
            (keeps ? result : index) += rest % extents[d] * (keeps ? result_step : index_step);
            (keeps ? result_step : index_step) *= extents[d];
        }
        const auto r = static_cast<std::size_t>(result);
        all.sums[r] += x[e];
        all.lows[r] = std::min<std::int64_t>(all.lows[r], x[e]);
        if (x[e] > highest[r]) highest[r] = x[e], all.places[r] = index;
        all.twice.push_back(x[e] * 2);
    }
    return all;
}

/// The graph of counted() over `rank` dims.
std::string counting(std::size_t rank, unsigned kept) {
    std::vector<std::string> dims, folded;
    for (std::size_t d = 0; d < rank; ++d) {
        dims.push_back(fmt::format("d{}", d));
        if ((kept >> d & 1u) == 0) folded.push_back(dims.back());
    }
    const std::string over = fmt::format("over [{}]", fmt::join(folded, ", "));
    return fmt::format("c(x: i32[{0}]) -> sums = sum(x {1}), places = argmax(x {1}), lows = min(x {1}), twice = x * 2",
                       fmt::join(dims, ", "), over);
}

gf::View view_of(const std::vector<std::int32_t>& x, const I64s& extents) {
    return gf::View(const_cast<std::int32_t*>(x.data()), gf::DType::i32, gf::Extents(extents), gf::Memory::host, true);
}

Counted results_of(const gf::Results& r) {
    const auto lows = r.to_vector<std::int32_t>("lows");
    return {r.to_vector<std::int64_t>("sums"), r.to_vector<std::int64_t>("places"), I64s(lows.begin(), lows.end()),
            r.to_vector<std::int32_t>("twice")};
}

TEST_F(KeptDims, rows_have_the_bits_that_they_have_alone) {
    const std::string folds = "s = sum(x{0}), v = variance(x{0}), at = argmin(x{0}), hot = sum(x where x > 20{0})";
    const gf::Executable of_rows =
        compile("r(x: f32[i, j]) -> " + fmt::format(fmt::runtime(folds), " over [j]") + ", y = x * 2");
    const gf::Executable alone = compile("r(x: f32[j]) -> " + fmt::format(fmt::runtime(folds), ""));
    for (const std::int64_t length : {1, 7, 100, 1000, 1025, 2048, 5001, 12'289, 40'000})
        for (const std::int64_t rows : {1, 5}) {
            const std::vector<float> x = numbers(static_cast<std::size_t>(rows * length));
            const DeviceArray there(x);
            for (const bool on_device : {false, true}) {
                const gf::Results all = of_rows.run({{"x", on_device ? gf::device_view(there.pointer(), {rows, length})
                                                                     : gf::host_view(x.data(), {rows, length})}});
                const auto sums = all.to_vector<float>("s"), hot = all.to_vector<float>("hot");
                const auto variances = all.to_vector<float>("v");
                const auto at = all.to_vector<std::int64_t>("at");
                for (std::int64_t i = 0; i < rows; ++i) {
                    const gf::Results one = alone.run({{"x", gf::host_view(x.data() + i * length, {length})}});
                    const auto r = static_cast<std::size_t>(i);
                    EXPECT_EQ(sums[r], one.get<float>("s")) << rows << " rows of " << length << ", row " << i;
                    EXPECT_EQ(variances[r], one.get<float>("v")) << rows << " rows of " << length << ", row " << i;
                    EXPECT_EQ(at[r], one.get<std::int64_t>("at")) << rows << " rows of " << length << ", row " << i;
                    EXPECT_EQ(hot[r], one.get<float>("hot")) << rows << " rows of " << length << ", row " << i;
                }
            }
        }
}

TEST_F(KeptDims, every_kept_set_gives_what_counting_gives) {
    const std::vector<I64s> of_rank[]{{{7, 500}, {40, 2100}, {3000, 3}, {1, 1}, {50, 1}, {0, 5}},
                                      {{3, 70, 40}, {33, 2, 1500}, {5, 4, 3}, {40, 1, 1100}},
                                      {{3, 4, 5, 300}, {2, 3, 2100, 2}, {20, 3, 5, 60}}};
    for (std::size_t rank = 2; rank <= 4; ++rank)
        for (unsigned kept = 1; kept + 1 < 1u << rank; ++kept) {
            if (is_emulated() && rank == 4 && kept % 3 != 0) continue; // each compiles a kernel
            const gf::Executable exe = compile(counting(rank, kept));
            for (const I64s& extents : of_rank[rank - 2]) {
                if (product(extents) == 0) continue;
                const auto x = digits(static_cast<std::size_t>(product(extents)));
                EXPECT_EQ(results_of(exe.run({{"x", view_of(x, extents)}})), counted(x, extents, kept))
                    << "[" << fmt::format("{}", fmt::join(extents, ", ")) << "], kept " << kept;
            }
        }
}

TEST_F(KeptDims, broadcast_and_permuted_inputs_are_read_where_they_are) {
    for (const unsigned kept : {1u, 2u, 5u}) { // rows, columns, the outer and the inner dim of three
        const bool three = kept == 5;
        const gf::Executable exe = compile(
            three ? "b(x: i32[i, j, k], w: i32[j], t: i32[k, i]) -> s = sum(x * w + t + i32(index(j)) over [j])"
                  : fmt::format("b(x: i32[i, j], w: i32[j], t: i32[j, i], u: i32[i]) -> s = sum(x * w + t * u + "
                                "i32(index(i)) over [{}])",
                                kept == 1 ? "j" : "i"));
        const std::int64_t i = 13, j = 700, k = three ? 5 : 1;
        const auto x = digits(std::size_t(i * j * k)), w = digits(std::size_t(j), 2), u = digits(std::size_t(i), 3);
        const auto t = digits(std::size_t(three ? k * i : j * i), 4);
        const gf::Results r = three
                                  ? exe.run({{"x", view_of(x, {i, j, k})}, {"w", w}, {"t", view_of(t, {k, i})}})
                                  : exe.run({{"x", view_of(x, {i, j})}, {"w", w}, {"t", view_of(t, {j, i})}, {"u", u}});
        I64s expected(std::size_t(three ? i * k : kept == 1 ? i : j), 0);
        for (std::int64_t a = 0; a < i; ++a)
            for (std::int64_t b = 0; b < j; ++b)
                for (std::int64_t c = 0; c < k; ++c) {
                    const auto at = std::size_t((a * j + b) * k + c);
                    expected[std::size_t(three       ? a * k + c
                                         : kept == 1 ? a
                                                     : b)] +=
                        three ? x[at] * w[std::size_t(b)] + t[std::size_t(c * i + a)] + b
                              : x[at] * w[std::size_t(b)] + t[std::size_t(b * i + a)] * u[std::size_t(a)] + a;
                }
        EXPECT_EQ(r.to_vector<std::int64_t>("s"), expected) << "kept " << kept;
    }
}

TEST_F(KeptDims, a_prepared_run_is_bound_to_other_extents_and_back) {
    for (const unsigned kept : {1u, 2u}) {
        const gf::Executable exe = compile(counting(2, kept));
        const std::vector<I64s> all{{20, 700},  {70, 1100},  {3, 14'000}, {2, 30'000},
                                    {80, 2000}, {40'000, 2}, {20, 700}};
        std::vector<std::vector<std::int32_t>> x;
        for (const I64s& extents : all) x.push_back(digits(std::size_t(product(extents)), std::uint32_t(x.size())));
        gf::Prepared prepared = exe.prepare({{"x", view_of(x[0], all[0])}});
        for (std::size_t n = 0; n < all.size(); ++n) {
            if (n > 0) prepared.rebind({{"x", view_of(x[n], all[n])}});
            for (int run = 0; run < 3; ++run) {
                prepared.run();
                EXPECT_EQ(results_of(prepared.results()), counted(x[n], all[n], kept)) << "kept " << kept << ", " << n;
            }
        }
    }
}

TEST_F(KeptDims, rows_change_their_course_and_back_without_stale_states) {
    if (is_emulated()) return; // 20 million elements
    constexpr std::int64_t rows = 1000, columns = 20'000;
    const std::string text = "f(x: f32[i, j], w: i32[j]) -> s = sum(x * f32(w) over [j])";
    const std::vector<float> x = numbers(std::size_t(rows * columns + 1));
    // In memory: 64-bit words whose upper half is 1, as the tag of a first launch is.
    std::vector<std::int32_t> w(columns);
    for (std::size_t j = 1; j < w.size(); j += 2) w[j] = 1;
    const DeviceArray on_device(x);
    const auto from = [&](float* first) { return gf::device_view(first, {rows, columns}); };
    const gf::Executable cpu = gf::compile(gf::parse(text), {.device = "cpu"});
    gf::Prepared prepared = compile(text).prepare({{"x", from(on_device.pointer() + 1)}, {"w", w}});
    for (const std::int64_t first : {1, 0, 1, 0}) { // rows by thread blocks where they are not aligned, else by warps
        prepared.rebind("x", from(on_device.pointer() + first));
        const gf::Results results = prepared.run();
        const auto expected = cpu.run({{"x", gf::host_view(x.data() + first, {rows, columns})}, {"w", w}});
        EXPECT_EQ(results.to_vector<float>("s"), expected.to_vector<float>("s")) << "from element " << first;
    }
}

TEST_F(KeptDims, a_captured_run_replays) {
    const I64s extents{70, 1100};
    const auto x = numbers(std::size_t(product(extents))), other = numbers(x.size(), 7);
    const gf::Executable exe = compile("c(x: f32[i, j]) -> s = sum(x over [i])");
    const DeviceArray in(x), out(std::vector<float>(1100));
    const gf::View there = gf::device_view(in.pointer(), {70, 1100});
    const auto expected = exe.run({{"x", gf::host_view(other.data(), {70, 1100})}}).to_vector<float>("s");
    const gf::CurrentDevice current(0);
    const gf::Stream stream(0, gf::StreamKind::independent);
    gf::test::UserGraph graph;
    gf::Prepared prepared = exe.prepare({{"x", there}}, {{"s", out.view()}});
    gf::test::UserGraph::begin(stream);
    prepared.enqueue(stream);
    graph.end(stream);
    for (int i = 0; i < 3; ++i) {
        graph.launch(stream);
        stream.wait();
        if (i == 0) in.set(other);
    }
    EXPECT_EQ(gf::test::to_host(out.view()), expected);
    prepared.run(); // on memory of its own
    EXPECT_EQ(gf::test::to_host(out.view()), expected);
}

TEST_F(KeptDims, many_problems_have_their_own_extents) {
    for (const unsigned kept : {1u, 2u, 5u}) {
        const std::size_t rank = kept == 5 ? 3 : 2;
        const gf::Executable exe = compile(counting(rank, kept));
        std::vector<I64s> all{{3, 100}, {70, 1100}, {5, 14'000}, {1, 1}, {40, 2000}, {9, 33}};
        if (rank == 3) all = {{3, 4, 5}, {2, 70, 900}, {1, 9000, 3}, {5, 1, 2}};
        std::vector<std::vector<std::int32_t>> x;
        std::vector<gf::Bindings> problems;
        for (const I64s& extents : all) x.push_back(digits(std::size_t(product(extents)), std::uint32_t(x.size())));
        for (std::size_t n = 0; n < all.size(); ++n) problems.push_back({{"x", view_of(x[n], all[n])}});
        gf::PreparedMany many = exe.prepare_many(problems);
        for (int run = 0; run < 2; ++run) {
            many.run();
            for (std::size_t n = 0; n < all.size(); ++n)
                EXPECT_EQ(results_of(many.results()[n]), counted(x[n], all[n], kept)) << "kept " << kept << ", " << n;
        }
    }
}

TEST_F(KeptDims, empty_extents_give_identities_or_no_results) {
    for (const char* over : {"i", "j"}) {
        const gf::Executable exe = compile(fmt::format(
            "e(x: f32[i, j]) -> s = sum(x over [{0}]), p = product(x over [{0}]), some = any(x over [{0}])", over));
        for (const I64s& extents : std::vector<I64s>{{0, 5000}, {5000, 0}, {0, 0}}) {
            const std::vector<float> x(1);
            const gf::Results r = exe.run({{"x", gf::host_view(x.data(), {extents[0], extents[1]})}});
            const auto results = static_cast<std::size_t>(over[0] == 'i' ? extents[1] : extents[0]);
            EXPECT_EQ(r.to_vector<float>("s"), std::vector<float>(results, 0));
            EXPECT_EQ(r.to_vector<float>("p"), std::vector<float>(results, 1));
        }
    }
}

TEST_F(KeptDims, a_later_sweep_reads_the_results) {
    const gf::Executable exe = compile("c(x: i32[i, j]) let m = sum(x over [j]); -> y = x + i32(m), top = max(m)");
    const I64s extents{6, 11'000};
    const auto x = digits(std::size_t(product(extents)));
    const gf::Results r = exe.run({{"x", view_of(x, extents)}});
    const I64s sums = counted(x, extents, 1).sums;
    EXPECT_EQ(r.get<std::int64_t>("top"), *std::ranges::max_element(sums));
    std::vector<std::int32_t> y;
    for (std::size_t e = 0; e < x.size(); ++e) y.push_back(x[e] + std::int32_t(sums[e / std::size_t(extents[1])]));
    EXPECT_EQ(r.to_vector<std::int32_t>("y"), y);
}

TEST_F(KeptDims, results_that_may_be_empty_say_which_are) {
    const std::string text = "e(x: f32[i, k]) let z = i32(x); let low = min(z where z > 60 over [k]); "
                             "-> low = low, next = low * 2, at = argmax(z where z > 60 over [i]), above = z - low";
    const gf::Executable cuda = compile(text), cpu = gf::compile(gf::parse(text), {.device = "cpu"});
    for (const auto& [i, k] : {std::pair<std::int64_t, std::int64_t>{5, 7}, {300, 3}, {3, 2049}, {4, 12'289}, {1, 1}}) {
        const std::vector<float> x = numbers(static_cast<std::size_t>(i * k));
        const DeviceArray there(x);
        const gf::Results expected = cpu.run({{"x", gf::host_view(x.data(), {i, k})}});
        for (const bool on_device : {false, true}) {
            const gf::Results r = cuda.run(
                {{"x", on_device ? gf::device_view(there.pointer(), {i, k}) : gf::host_view(x.data(), {i, k})}});
            for (const char* name : {"low", "next", "at"}) {
                EXPECT_EQ(r.valid(name), expected.valid(name)) << name << " of " << i << " by " << k;
                EXPECT_EQ(r.valid_array(name).memory, r.array(name).memory);
            }
            for (const char* name : {"low", "next", "above"})
                EXPECT_EQ(r.to_vector<std::int32_t>(name), expected.to_vector<std::int32_t>(name)) << name;
            EXPECT_EQ(r.to_vector<std::int64_t>("at"), expected.to_vector<std::int64_t>("at"));
        }
    }
}

} // namespace
