// Inputs bound with strides have the bits of contiguous copies, on the CPU and (as strided_cuda_test) on a GPU, from
// host and from device memory.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/device.hpp>
#include <gridfold/core/stream.hpp>
#include <gridfold/gridfold.hpp>

#include "device/device_under_test.hpp"
#include "emulator/device/emulated.hpp"
#include "error/refusal.hpp"

namespace {

using gf::DType;
using gf::Extents;
using gf::Memory;
using gf::Strides;
using gf::View;
using gf::test::expect_refused;
using Bytes = std::vector<std::byte>;

/// Where the elements of an array are: `first` is the number in memory of the one whose coordinates are all 0.
struct Layout {
    const char* name;
    Extents extents;
    Strides strides;
    std::int64_t first = 0;
};

std::int64_t elements_of_memory(const Layout& layout) {
    std::int64_t last = layout.first;
    for (int d = 0; d < layout.extents.rank(); ++d)
        if (layout.strides[d] > 0) last += layout.strides[d] * (layout.extents[d] - 1);
    return last + 1;
}

/// The elements of an array in row-major order.
Bytes contiguous(const Layout& layout, DType type, const Bytes& memory) {
    const std::size_t size = gf::size_of(type), count = gf::element_count(layout.extents);
    Bytes copy(count * size);
    for (std::size_t i = 0; i < count; ++i) {
        auto rest = static_cast<std::int64_t>(i);
        std::int64_t at = layout.first;
        for (int d = layout.extents.rank() - 1; d >= 0; --d) {
            at += rest % layout.extents[d] * layout.strides[d];
            rest /= layout.extents[d];
        }
        std::memcpy(copy.data() + i * size, memory.data() + static_cast<std::size_t>(at) * size, size);
    }
    return copy;
}

/// Arbitrary elements; f32 and f64 are numbers whose sums depend on the order.
Bytes arbitrary(DType type, std::int64_t count, std::uint32_t seed) {
    Bytes bytes(static_cast<std::size_t>(count) * gf::size_of(type));
    const auto next = [&] { return seed = seed * 1664525u + 1013904223u; };
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        const float number = static_cast<float>(next() >> 8) / 65536 - 100;
        const double wide = static_cast<double>(number) / 3;
        const std::uint64_t bits = std::uint64_t{next()} << 32 | next() >> 16;
        const std::uint64_t boolean = bits & 1;
        const void* const from = type == DType::f32       ? static_cast<const void*>(&number)
                                 : type == DType::f64     ? static_cast<const void*>(&wide)
                                 : type == DType::boolean ? static_cast<const void*>(&boolean)
                                                          : static_cast<const void*>(&bits);
        std::memcpy(bytes.data() + i * gf::size_of(type), from, gf::size_of(type));
    }
    return bytes;
}

const std::vector<Layout> of_rank_1{{"every third", {20'011}, {3}},
                                    {"backwards", {20'011}, {-1}, 20'010},
                                    {"every second, backwards", {5'000}, {-2}, 9'998},
                                    {"one for all", {3'000}, {0}},
                                    {"few", {5}, {7}}};
const std::vector<Layout> of_rank_2{{"transposed", {70, 301}, {1, 70}},
                                    {"transposed, few columns", {3'001, 7}, {1, 3'001}},
                                    {"columns of a wider one", {41, 300}, {513, 1}, 5},
                                    {"rows backwards", {60, 200}, {-200, 1}, 59 * 200},
                                    {"both backwards", {9, 1'100}, {-1'100, -1}, 9 * 1'100 - 1},
                                    {"every second of every third row", {50, 101}, {3 * 202, 2}},
                                    {"one row for all", {30, 400}, {0, 1}},
                                    {"one column for all", {300, 40}, {1, 0}},
                                    {"one row, its stride unused", {1, 5'001}, {-7, 2}}};
const std::vector<Layout> of_rank_3{{"outer and inner exchanged", {30, 17, 41}, {1, 30, 510}},
                                    {"inner ones exchanged, backwards", {12, 33, 40}, {1'320, -1, 33}, 32},
                                    {"rows of a wider one", {8, 20, 64}, {1'600, 80, 1}, 3}};
const std::vector<Layout> of_rank_4{{"Fortran's order", {5, 6, 7, 40}, {1, 5, 30, 210}},
                                    {"mixed", {4, 5, 30, 9}, {1'350, 9, -45, 1}, 29 * 45}};

constexpr const char* graphs[] = {
    "one(x: f32[i], w: f32[i], m: bool[i]) -> s = sum(x), v = variance(x), a = argmin(x), d = sum(x * w), "
    "k = mean(x where m), y = x * 2 + w, e = sum(w where x > 0), p = sum(x where index(i) % 3 == 0)",
    "two(x: f32[i, j], w: f32[i, j], m: bool[i, j]) -> s = sum(x), rows = sum(x over [j]), columns = mean(x over [i]), "
    "hot = variance(x over [j] where m), places = argmax(x over [i]), y = x * w, n = count(m)",
    "three(x: f32[i, j, k], w: f32[i, j, k], m: bool[i, j, k]) -> s = sum(x * w), a = sum(x over [j]), "
    "b = sum(x over [i, k] where m), c = max(x over [k]), y = x + w, v = variance(x over [i, j])",
    "four(x: f32[i, j, k, l], w: f32[i, j, k, l], m: bool[i, j, k, l]) -> s = mean(x where m), "
    "a = sum(x over [i, k]), b = argmin(x over [l]), y = x * w"};

class Strided : public testing::Test {
protected:
    void SetUp() override {
        if (on_cpu()) return;
        if (const std::string reason = gf::cuda_unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
        if (auto* const emulated = gf::emulator::emulated_device()) emulated->reset();
    }
    void TearDown() override {
        on_device.clear();
        on_host.clear();
    }
    bool on_cpu() const { return device == "cpu"; }
    /// The kinds of memory that inputs may be in.
    std::vector<Memory> memories() const {
        return on_cpu() ? std::vector{Memory::host} : std::vector{Memory::host, Memory::device};
    }
    gf::Executable compile(const std::string& text, bool verify = false) const {
        return gf::compile(gf::parse(text), {.device = device, .verify = verify});
    }
    /// A view of a copy of these bytes in that memory, which lives until the test ends.
    View keep(const Bytes& bytes, DType type, const Extents& extents, Memory where) {
        void* address = nullptr;
        if (where == Memory::device) {
            address = on_device.emplace_back(0, bytes.size()).address();
            const gf::CurrentDevice current(0);
            const gf::Stream stream(0, gf::StreamKind::ordered_with_default);
            copy_to_device(address, bytes.data(), bytes.size(), stream);
            stream.wait();
        } else {
            address = on_host.emplace_back(bytes).data();
        }
        return {address, type, extents, where, false};
    }
    struct Twins {
        View strided, contiguous;
    };
    /// The same elements with strides and without.
    Twins twins(const Layout& layout, DType type, Memory where, std::uint32_t seed = 1) {
        const Bytes memory = arbitrary(type, elements_of_memory(layout), seed);
        View strided = keep(memory, type, layout.extents, where);
        strided.address =
            static_cast<std::byte*>(strided.address) + layout.first * static_cast<std::int64_t>(gf::size_of(type));
        strided.strides = layout.strides;
        return {strided, keep(contiguous(layout, type, memory), type, layout.extents, where)};
    }

    const std::string device = gf::test::device_under_test;
    std::deque<Bytes> on_host;
    std::deque<gf::DeviceBuffer> on_device;
};

Bytes bytes_of(const View& array) {
    Bytes bytes(gf::element_count(array.extents) * gf::size_of(array.type));
    if (array.memory == Memory::device && !bytes.empty()) {
        const gf::CurrentDevice current(0);
        const gf::Stream stream(0, gf::StreamKind::ordered_with_default);
        copy_to_host(bytes.data(), array.address, bytes.size(), stream);
        stream.wait();
    } else if (!bytes.empty()) {
        std::memcpy(bytes.data(), array.address, bytes.size());
    }
    return bytes;
}

void expect_same(const gf::Results& expected, const gf::Results& actual, const std::string& what) {
    ASSERT_EQ(expected.entries().size(), actual.entries().size());
    for (std::size_t i = 0; i < expected.entries().size(); ++i) {
        const gf::Results::Entry &a = expected.entries()[i], &b = actual.entries()[i];
        EXPECT_EQ(a.empty, b.empty) << a.name << ": " << what;
        EXPECT_EQ(a.bits, b.bits) << a.name << ": " << what;
        if (!a.is_array) continue;
        EXPECT_TRUE(bytes_of(a.array) == bytes_of(b.array)) << a.name << ": " << what;
    }
}

TEST_F(Strided, inputs_of_every_rank_have_the_bits_of_contiguous_ones) {
    std::size_t rank = 0;
    for (const auto* layouts : {&of_rank_1, &of_rank_2, &of_rank_3, &of_rank_4}) {
        const gf::Executable exe = compile(graphs[rank++]);
        for (const Memory where : memories())
            for (const Layout& layout : *layouts) {
                const Twins x = twins(layout, DType::f32, where), w = twins(layout, DType::f32, where, 2),
                            m = twins(layout, DType::boolean, where, 3);
                const gf::Results expected = exe.run({{"x", x.contiguous}, {"w", w.contiguous}, {"m", m.contiguous}});
                expect_same(expected, exe.run({{"x", x.strided}, {"w", w.contiguous}, {"m", m.contiguous}}),
                            std::string("x ") + layout.name);
                expect_same(expected, exe.run({{"x", x.strided}, {"w", w.strided}, {"m", m.strided}}),
                            std::string("all ") + layout.name);
            }
    }
}

TEST_F(Strided, inputs_of_every_type_have_the_bits_of_contiguous_ones) {
    for (const DType type : on_cpu() ? std::vector<DType>(gf::all_dtypes().begin(), gf::all_dtypes().end())
                                     : std::vector{DType::i8, DType::bf16, DType::boolean, DType::u64}) {
        const std::string text =
            fmt::format("f(x: {}[i, j]) -> y = x, top = max(x), at = argmin(x over [j])", to_text(type));
        const gf::Executable exe = compile(type == DType::boolean ? "f(x: bool[i, j]) -> y = x, n = count(x)" : text);
        for (const Memory where : memories())
            for (const Layout& layout : {of_rank_2[0], of_rank_2[5], of_rank_2[4]}) {
                const Twins x = twins(layout, type, where);
                expect_same(exe.run({{"x", x.contiguous}}), exe.run({{"x", x.strided}}),
                            fmt::format("{} {}", to_text(type), layout.name));
            }
    }
}

// A fold by threads, and chunks of staging memory.
TEST_F(Strided, large_inputs_have_the_bits_of_contiguous_ones) {
    const gf::Executable exe =
        compile("f(x: f32[i, j]) -> s = sum(x), rows = sum(x over [j]), v = variance(x over [i])");
    const std::int64_t rows = on_cpu() ? 1'500 : 300; // on a GPU 4.8 MB, more than a chunk
    const Layout layout{"transposed", {rows, 4'001}, {1, rows}};
    const Twins x = twins(layout, DType::f32, Memory::host);
    expect_same(exe.run({{"x", x.contiguous}}), exe.run({{"x", x.strided}}), "large");
}

// w lacks a dim of the domain, and has its dims in another order.
TEST_F(Strided, inputs_that_are_broadcast_may_have_strides_too) {
    const gf::Executable exe = compile(
        "f(x: f32[i, j, k], w: f32[k, i], b: f32[j]) -> s = sum(x * w), y = x + b, r = sum(x * w + b over [i])");
    const Layout of_x{"", {20, 30, 11}, {1, 220, 20}}, of_w{"", {11, 20}, {-40, 2}, 400}, of_b{"", {30}, {-1}, 29};
    for (const Memory where : memories()) {
        const Twins x = twins(of_x, DType::f32, where), w = twins(of_w, DType::f32, where, 2),
                    b = twins(of_b, DType::f32, where, 3);
        const gf::Results expected = exe.run({{"x", x.contiguous}, {"w", w.contiguous}, {"b", b.contiguous}});
        expect_same(expected, exe.run({{"x", x.contiguous}, {"w", w.strided}, {"b", b.contiguous}}), "w");
        expect_same(expected, exe.run({{"x", x.strided}, {"w", w.strided}, {"b", b.strided}}), "all");
    }
}

TEST_F(Strided, no_elements_and_one_need_no_strides) {
    const gf::Executable exe = compile("f(x: i32[i, j]) -> s = sum(x), y = x * 2");
    for (const Memory where : memories()) {
        const View one = keep(arbitrary(DType::i32, 1, 5), DType::i32, {1, 1}, where);
        View strided = one;
        strided.strides = {INT64_MIN, 1'000'000};
        expect_same(exe.run({{"x", one}}), exe.run({{"x", strided}}), "one");
        strided.extents = {0, INT64_MAX};
        EXPECT_EQ(exe.run({{"x", strided}}).get<std::int64_t>("s"), 0);
    }
}

TEST_F(Strided, a_prepared_run_takes_other_strides) {
    gf::Executable exe = compile("f(x: f32[i, j], w: f32[i, j], a: f32) -> s = sum(x * w) * a, y = x - w, "
                                 "c = mean(x over [i])");
    for (const Memory where : memories()) {
        const Layout transposed{"", {40, 90}, {1, 40}}, wider{"", {40, 90}, {100, 1}, 7},
            smaller{"", {9, 11}, {33, -3}, 30};
        const Twins x = twins(transposed, DType::f32, where), other = twins(wider, DType::f32, where, 2),
                    w = twins(transposed, DType::f32, where, 3), few = twins(smaller, DType::f32, where, 4);
        const auto alone = [&](const View& of_x, const View& of_w, float a) {
            return exe.run({{"x", of_x}, {"w", of_w}, {"a", a}});
        };
        gf::Prepared p = exe.prepare({{"x", x.contiguous}, {"w", w.contiguous}, {"a", 1.0f}});
        p.rebind("x", x.strided);
        expect_same(alone(x.contiguous, w.contiguous, 1), p.run(), "strides instead of none");
        p.rebind("a", 2.0f);
        expect_same(alone(x.contiguous, w.contiguous, 2), p.run(), "another scalar");
        p.rebind("w", w.strided);
        expect_same(alone(x.contiguous, w.contiguous, 2), p.run(), "another array with strides");
        p.rebind("x", other.strided);
        expect_same(alone(other.contiguous, w.contiguous, 2), p.run(), "other strides");
        p.rebind("x", x.contiguous);
        expect_same(alone(x.contiguous, w.contiguous, 2), p.run(), "none instead of strides");
        p.rebind({{"x", few.strided}, {"w", few.contiguous}});
        expect_same(alone(few.contiguous, few.contiguous, 2), p.run(), "other extents");
        p.rebind({{"x", x.strided}, {"w", x.strided}});
        expect_refused<gf::InvalidBinding>([&] { p.rebind("w", few.strided); }, {"dim \"i\" is 40"});
        expect_same(alone(x.contiguous, x.contiguous, 2), p.run(), "after a refusal");
        p.rebind({{"x", x.contiguous}, {"w", x.contiguous}});
        expect_same(alone(x.contiguous, x.contiguous, 2), p.run(), "no strides any more");
    }
}

TEST_F(Strided, problems_of_one_call_may_differ_in_strides) {
    const gf::Executable exe =
        compile("f(x: f32[i, j], w: f32[j]) -> s = sum(x * w), rows = max(x over [j]), y = x * w");
    for (const Memory where : memories()) {
        std::vector<gf::Bindings> strided, plain;
        std::uint32_t seed = 1;
        for (const Layout& layout : of_rank_2) {
            const Twins x = twins(layout, DType::f32, where, seed++);
            const Layout of_w{"", {layout.extents[1]}, {seed % 2 == 0 ? 3 : 1}};
            const Twins w = twins(of_w, DType::f32, where, seed++);
            plain.push_back({{"x", x.contiguous}, {"w", w.contiguous}});
            strided.push_back(seed % 3 == 0 ? plain.back() : gf::Bindings{{"x", x.strided}, {"w", w.strided}});
        }
        const std::vector<gf::Results> results = exe.run_many(strided);
        for (std::size_t i = 0; i < plain.size(); ++i)
            expect_same(exe.run(plain[i]), results[i], fmt::format("problem {}, {}", i, of_rank_2[i].name));

        gf::PreparedMany many = exe.prepare_many(plain);
        many.rebind(2, strided[2]);
        many.rebind(4, strided[4]);
        many.rebind(2, plain[2]);
        const std::vector<gf::Results> rebound = many.run();
        for (std::size_t i = 0; i < plain.size(); ++i)
            expect_same(exe.run(plain[i]), rebound[i], fmt::format("rebound, problem {}, {}", i, of_rank_2[i].name));
    }
}

TEST_F(Strided, verify_compares_with_the_same_elements) {
    const gf::Executable exe =
        compile("f(x: f32[i, j]) -> s = sum(x), rows = max(x over [j]), z = (x - mean(x)) / 3", true);
    for (const Memory where : memories()) {
        const Twins x = twins(of_rank_2[4], DType::f32, where);
        expect_same(exe.run({{"x", x.contiguous}}), exe.run({{"x", x.strided}}), "verified");
    }
}

// Kernels that read by strides run all problems of the call, also the one that is written over its input.
TEST_F(Strided, a_problem_may_be_written_over_its_input_while_another_has_strides) {
    const gf::Executable exe = compile("f(x: i32[i, j]) -> y = x * 2 + 1");
    std::vector<std::int32_t> memory(6'000), other(6'000), expected(memory.size()), y(memory.size());
    for (std::size_t i = 0; i < memory.size(); ++i) {
        memory[i] = other[i] = static_cast<std::int32_t>(i);
        expected[i] = memory[i] * 2 + 1;
    }
    const View own = gf::view(memory.data(), {60, 100});
    exe.run_many(std::array{gf::Bindings{{"x", own}}, gf::Bindings{{"x", gf::view(other.data(), {100, 60}, {1, 100})}}},
                 std::array{gf::Bindings{{"y", own}}, gf::Bindings{{"y", gf::view(y.data(), {100, 60})}}});
    EXPECT_EQ(memory, expected);
    EXPECT_EQ(y[1], 201);
    EXPECT_EQ(y[60], 3);
}

/// As std::mdspan with std::layout_stride.
struct Matrix {
    using reference = const std::int32_t&;
    const std::int32_t* elements;
    std::array<std::int64_t, 2> extents, strides;
    static constexpr std::size_t rank() { return 2; }
    std::int64_t extent(std::size_t r) const { return extents[r]; }
    std::int64_t stride(std::size_t r) const { return strides[r]; }
    const std::int32_t* data_handle() const { return elements; }
};

TEST_F(Strided, spans_are_bound_as_they_are) {
    const std::vector<std::int32_t> x{1, 2, 3, 4, 5, 6};
    const Matrix columns{x.data(), {3, 2}, {1, 3}};
    const std::vector<std::int64_t> sums{5, 7, 9};
    const gf::Executable exe = compile("f(x: i32[i, j]) -> s = sum(x over [j])");
    EXPECT_EQ(exe.run({{"x", columns}}).to_vector<std::int64_t>("s"), sums);
    gf::Prepared p = exe.prepare({{"x", gf::view(x.data(), {2, 3})}});
    p.rebind("x", Matrix{x.data(), {3, 2}, {1, 3}});
    EXPECT_EQ(p.run().to_vector<std::int64_t>("s"), sums);
    EXPECT_EQ(gf::eval("s = sum(x over [j])", {{"x", columns}}).to_vector<std::int64_t>("s"), sums);
}

// An input that nothing reads keeps its strides, which decide what it overlaps.
TEST_F(Strided, an_input_that_nothing_reads_is_where_its_strides_say) {
    const gf::Executable exe = compile("f(x: i32[n], unread: i32[n]) -> y = x + 1");
    std::vector<std::int32_t> memory(30, 1), y(10);
    gf::Prepared p =
        exe.prepare({{"x", gf::view(y.data(), {10})}, {"unread", gf::view(memory.data() + 9, {10}, {-1})}});
    p.rebind({{"y", gf::view(memory.data() + 10, {10})}}); // begins where the unread array ends
    EXPECT_EQ(p.run().to_vector<std::int32_t>("y"), std::vector<std::int32_t>(10, 1));
}

} // namespace
