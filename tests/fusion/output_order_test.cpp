// Outputs that list their dims have the elements of those that do not, in another order: on the CPU and (as
// output_order_cuda_test) on a GPU.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "device/on_device.hpp"
#include "error/refusal.hpp"

namespace {

using gf::DType;
using gf::Extents;
using gf::Memory;
using gf::View;

class OutputOrder : public gf::test::OnDevice {};

/// Small numbers without a pattern, exact in every type.
std::vector<std::int32_t> numbers(std::int64_t count) {
    std::vector<std::int32_t> x(static_cast<std::size_t>(count));
    std::uint32_t seed = 1;
    for (std::int32_t& value : x)
        seed = seed * 1664525u + 1013904223u, value = static_cast<std::int32_t>(seed >> 24) - 128;
    return x;
}

/// The bytes of an array of these extents, read in another order: dim d of the result is dim order[d].
std::vector<std::byte> permuted(const View& array, const std::vector<int>& order) {
    const std::size_t size = gf::size_of(array.type), count = gf::element_count(array.extents);
    std::vector<std::int64_t> stride(order.size(), 1);
    for (int d = array.extents.rank() - 2; d >= 0; --d)
        stride[static_cast<std::size_t>(d)] = stride[static_cast<std::size_t>(d) + 1] * array.extents[d + 1];
    std::vector<std::byte> bytes(count * size);
    for (std::size_t i = 0; i < count; ++i) {
        auto rest = static_cast<std::int64_t>(i);
        std::int64_t from = 0;
        for (std::size_t d = order.size(); d-- > 0;) {
            from += rest % array.extents[order[d]] * stride[static_cast<std::size_t>(order[d])];
            rest /= array.extents[order[d]];
        }
        std::memcpy(bytes.data() + i * size,
                    static_cast<const std::byte*>(array.address) + static_cast<std::size_t>(from) * size, size);
    }
    return bytes;
}

std::vector<std::byte> bytes_of(const View& array) {
    const auto* const begin = static_cast<const std::byte*>(array.address);
    return {begin, begin + gf::element_count(array.extents) * gf::size_of(array.type)};
}

/// A result `y` of some dims of [a, b, c], and an order: position d of the memory is dim order[d] of the result.
struct Case {
    const char* parameters;
    const char* lets;
    const char* value;
    const char* dims; ///< of y, as it lists them
    std::vector<int> order;
    const char* others = "";
};

const Case cases[] = {
    {"x: i32[a, b, c]", "", "x", "c, b, a", {2, 1, 0}},
    {"x: i32[a, b, c]", "", "x * 2 + 1", "a, c, b", {0, 2, 1}, ", s = sum(x), z = x - 1"},
    {"x: i32[a, b, c]", "", "f16(x)", "b, a, c", {1, 0, 2}, ", z[c, a, b] = i8(x)"},
    {"x: i32[a, b, c]", "", "x > 3", "c, a, b", {2, 0, 1}, ", rows = sum(x over [c]), some = any(x > 100)"},
    {"x: i32[a, b, c]", "", "f64(x) / 2", "b, c, a", {1, 2, 0}, ", columns = sum(x over [a])"},
    {"x: i32[a, b, c]", "", "x", "c, b, a", {2, 1, 0}, ", middle = sum(x over [b])"},
    {"[a, b, c], x: i32[c, a, b]", "", "x + index(b)", "b, a, c", {1, 0, 2}},
    {"[a, b, c], x: i32[c, b, a]", "", "x", "c, b, a", {2, 1, 0}},
    {"x: i32[a, b, c]", "", "sum(x over [c])", "b, a", {1, 0}, ", z = sum(x over [c])"},
    {"x: i32[a, b, c]", "", "max(x over [a])", "c, b", {1, 0}},
    {"x: i32[a, b, c]", "", "mean(x over [b])", "c, a", {1, 0}},
    {"x: i32[a, b, c]", "let m = sum(x over [b]);", "x - m", "b, c, a", {1, 2, 0}, ", m[c, a] = m"},
    {"x: i32[a, b, c]", "let m = sum(x over [c]);", "m * 2", "b, a", {1, 0}, ", m[b, a] = m"},
};

std::string text_of(const Case& c, bool with_order) {
    return fmt::format("f({}) {} -> y{} = {}{}", c.parameters, c.lets, with_order ? fmt::format("[{}]", c.dims) : "",
                       c.value, c.others);
}

TEST_F(OutputOrder, has_the_elements_of_the_graphs_order) {
    const std::vector<std::int64_t> all_extents[] = {{3, 5, 7}, {1, 70, 33}, {2, 1, 65},  {65, 130, 1},
                                                     {0, 3, 2}, {4, 3, 0},   {2, 64, 64}, {3, 100, 201}};
    for (const Case& c : cases)
        for (const bool fuse : {true, false}) {
            const gf::Executable plain = compile(text_of(c, false), fuse), ordered = compile(text_of(c, true), fuse);
            for (const auto& extents : all_extents) {
                if (std::string_view(c.value).starts_with("m") && std::ranges::count(extents, 0) > 0) continue;
                SCOPED_TRACE(fmt::format("{} {} {} {}", text_of(c, true), extents[0], extents[1], extents[2]));
                const auto x = numbers(extents[0] * extents[1] * extents[2]);
                const std::string parameters = c.parameters;
                std::vector<std::int64_t> own;
                for (const char dim : parameters.substr(parameters.find("i32[") + 4, 7))
                    if (dim >= 'a' && dim <= 'c') own.push_back(extents[static_cast<std::size_t>(dim - 'a')]);
                const gf::Bindings inputs{
                    {"x", View(const_cast<std::int32_t*>(x.data()), DType::i32,
                               Extents(std::span<const std::int64_t>(own)), Memory::host, false)}};
                const gf::Results expected = plain.run(inputs), actual = ordered.run(inputs);
                const View y = actual.array("y");
                for (int d = 0; d < y.extents.rank(); ++d)
                    EXPECT_EQ(y.extents[d], expected.array("y").extents[c.order[static_cast<std::size_t>(d)]]);
                EXPECT_EQ(bytes_of(y), permuted(expected.array("y"), c.order));
            }
        }
}

TEST_F(OutputOrder, of_arrays_that_the_user_binds) {
    const gf::Executable exe = compile("f(x: i32[i, j]) -> y[j, i] = x + 1, s[i] = sum(x over [j])");
    const std::vector<std::int32_t> x{1, 2, 3, 4, 5, 6};
    std::vector<std::int32_t> y(6);
    const gf::Results r = exe.run({{"x", gf::view(x.data(), {2, 3})}}, {{"y", gf::view(y.data(), {3, 2})}});
    EXPECT_EQ(y, (std::vector<std::int32_t>{2, 5, 3, 6, 4, 7}));
    EXPECT_EQ(r.array("y").address, y.data());
    gf::test::expect_refused<gf::InvalidBinding>(
        [&] {
            exe.run({{"x", gf::view(x.data(), {2, 3})}}, {{"y", gf::view(y.data(), {2, 3})}});
        },
        {"dim \"j\"", "output \"y\""});
}

TEST_F(OutputOrder, is_not_written_over_an_input) {
    for (const char* text : {"f(x: i32[i, j]) -> y[j, i] = x + 1", "f([i, j], x: i32[j, i]) -> y[j, i] = x + 1"}) {
        const gf::Executable exe = compile(text);
        std::vector<std::int32_t> x{1, 2, 3, 4};
        gf::test::expect_refused<gf::InvalidBinding>(
            [&] {
                exe.run({{"x", gf::view(x.data(), {2, 2})}}, {{"y", gf::view(x.data(), {2, 2})}});
            },
            {"output \"y\"", "overlaps input \"x\"", "bind an array of its own"});
    }
}

TEST_F(OutputOrder, which_elements_are_empty_is_in_the_order_of_the_result) {
    const gf::Executable exe = compile("f(x: i32[i, j, k]) let low = min(x where x < 0 over [k]); "
                                       "-> low[j, i] = low, twice[j, i] = low * 2");
    const std::vector<std::int32_t> x{1, -2, 3, 4, 5, -6, 7, 8, -9, 1, 1, 1}; // empty: (0, 1), (1, 0), (1, 2) of [i, j]
    const gf::Results r = exe.run({{"x", gf::view(x.data(), {2, 3, 2})}});
    const std::vector<bool> some{true, false, false, true, true, false};
    EXPECT_EQ(r.valid("low"), some);
    EXPECT_EQ(r.valid("twice"), some);
    EXPECT_EQ(r.span<std::int32_t>("low")[0], -2);
    EXPECT_EQ(r.span<std::int32_t>("twice")[3], -18);
    EXPECT_EQ(r.span<std::int32_t>("low")[4], -6);
}

TEST_F(OutputOrder, of_many_problems_and_of_batches) {
    const char* const text = "f(x: i32[i, j]) -> y[j, i] = x * 3, m = max(x)";
    const gf::Executable exe = compile(text);
    const gf::Executable batch = gf::compile(gf::batched(gf::parse(text), "b", {"x"}), {.device = device});
    const auto x = numbers(3 * 40 * 70);
    std::vector<gf::Bindings> problems;
    for (int p = 0; p < 3; ++p) problems.push_back({{"x", gf::view(x.data() + p * 40 * 70, {40, 70})}});
    problems.push_back({{"x", gf::view(x.data(), {20, 3})}});
    const std::vector<gf::Results> all = exe.run_many(problems);
    const gf::Results together = batch.run({{"x", gf::view(x.data(), {3, 40, 70})}});
    ASSERT_EQ(together.array("y").extents, (Extents{3, 70, 40}));
    for (std::size_t p = 0; p < problems.size(); ++p) {
        const gf::Results alone = exe.run(problems[p]);
        EXPECT_EQ(bytes_of(all[p].array("y")), bytes_of(alone.array("y"))) << p;
        if (p == 3) break;
        const auto of_batch = together.span<std::int32_t>("y").subspan(p * 70 * 40, 70 * 40);
        EXPECT_TRUE(std::ranges::equal(of_batch, alone.span<std::int32_t>("y"))) << p;
    }
}

TEST_F(OutputOrder, with_inputs_that_are_bound_with_strides) {
    const gf::Executable exe = compile("f(x: i32[i, j]) -> y[j, i] = x, z = x");
    const auto x = numbers(60 * 90);
    const gf::Results straight = exe.run({{"x", gf::view(x.data(), {60, 90})}});
    // Transposed: z is the memory itself read along its columns, and y the memory as it is.
    const gf::Results across = exe.run({{"x", gf::view(x.data(), {90, 60}, {1, 90})}});
    EXPECT_EQ(bytes_of(across.array("z")), bytes_of(straight.array("y")));
    EXPECT_EQ(bytes_of(across.array("y")), bytes_of(straight.array("z")));
}

} // namespace
