// Mistakes in bindings with strides. After each refusal the same Executable gives the right answer.
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "error/refusal.hpp"

namespace {

using gf::test::expect_refused;

constexpr auto most = std::numeric_limits<std::int64_t>::max(), least = std::numeric_limits<std::int64_t>::min();

class StrideErrors : public testing::Test {
protected:
    StrideErrors() { std::iota(memory.begin(), memory.end(), 0); }
    std::int32_t* at(std::ptrdiff_t element) { return memory.data() + element; }
    void refuse(const gf::Bindings& inputs, const gf::Bindings& outputs,
                std::initializer_list<std::string_view> words) {
        const std::vector<std::int32_t> before = memory;
        expect_refused<gf::InvalidBinding>([&] { doubled.run(inputs, outputs); }, words);
        expect_refused<gf::InvalidBinding>([&] { static_cast<void>(doubled.prepare(inputs, outputs)); }, words);
        EXPECT_EQ(memory, before);
        EXPECT_EQ(doubled.run({{"x", gf::view(at(0), {2, 3})}}).get<std::int64_t>("total"), 30);
    }
    /// The rows and columns are exchanged.
    gf::Binding transposed(std::ptrdiff_t first) { return {"x", gf::view(at(first), {4, 5}, {1, 4})}; }

    gf::Executable doubled =
        gf::compile(gf::parse("f(x: i32[i, j]) let y = x * 2; -> y = y, total = sum(y)"), {.device = "cpu"});
    /// Its output may be its input's memory.
    gf::Executable next = gf::compile(gf::parse("f(x: i32[i, j]) -> y = x + 1"), {.device = "cpu"});
    std::vector<std::int32_t> memory = std::vector<std::int32_t>(200);
};

TEST_F(StrideErrors, an_output_with_strides_is_refused) {
    refuse({transposed(0)}, {{"y", gf::view(at(100), {4, 5}, {1, 4})}},
           {"output \"y\" (i32[i, j])", "strides [1, 4] of extents [4, 5]", "outputs are contiguous and row-major",
            "bind a contiguous array"});
    refuse({transposed(0)}, {{"y", gf::view(at(100), {4, 5}, {0, 0})}}, {"output \"y\"", "strides [0, 0]"});
    // Strides that say what extents say are none.
    doubled.run({transposed(0)}, {{"y", gf::view(at(100), {4, 5}, {5, 1})}});
    EXPECT_EQ(memory[101], 8);
    doubled.run({{"x", gf::view(at(0), {1, 5})}}, {{"y", gf::view(at(100), {1, 5}, {-3, 1})}});
    EXPECT_EQ(memory[101], 2);
}

TEST_F(StrideErrors, rebinding_an_output_with_strides_keeps_the_old_one) {
    gf::Prepared p = doubled.prepare({transposed(0)}, {{"y", gf::view(at(100), {4, 5})}});
    expect_refused<gf::InvalidBinding>([&] { p.rebind("y", gf::view(at(150), {4, 5}, {1, 4})); }, {"output \"y\""});
    p.run();
    EXPECT_EQ(memory[101], 8);
    EXPECT_EQ(memory[150], 150);
}

TEST_F(StrideErrors, a_stride_for_each_extent_is_needed) {
    refuse({{"x", gf::view(at(0), {4, 5}, {1})}}, {},
           {"input \"x\" (i32[i, j])", "1 strides, [1], but 2 extents, [4, 5]", "one stride for each extent"});
    refuse({{"x", gf::view(at(0), {4, 5}, {1, 1, 1})}}, {}, {"3 strides, [1, 1, 1], but 2 extents"});
    refuse({{"x", gf::view(at(0), {4, 5})}}, {{"y", gf::view(at(100), {4, 5}, {5})}}, {"output \"y\"", "1 strides"});
}

TEST_F(StrideErrors, strides_beyond_all_memory_are_refused) {
    for (const gf::Strides& strides : {gf::Strides{most, 1}, gf::Strides{least, 1}, gf::Strides{1, most / 4},
                                       gf::Strides{most / 32, most / 32}, gf::Strides{most / 32, -most / 32}})
        refuse({{"x", gf::view(at(0), {4, 5}, strides)}}, {},
               {"input \"x\"", "extents [4, 5] and strides " + to_text(strides), "more than 2^62 - 1 bytes",
                "true extents and strides, in elements"});
}

TEST_F(StrideErrors, memory_before_the_first_address_or_after_the_last_is_refused) {
    const auto near = [](std::uintptr_t address) { return reinterpret_cast<std::int32_t*>(address); };
    refuse({{"x", gf::view(near(64), {4, 5}, {-5, -1})}}, {},
           {"input \"x\"", "strides [-5, -1]", "beyond the beginning of the address space"});
    refuse({{"x", gf::view(near(~std::uintptr_t{0} - 63), {4, 5}, {1, 4})}}, {},
           {"input \"x\"", "strides [1, 4]", "beyond the end of the address space"});
}

TEST_F(StrideErrors, an_output_over_elements_of_an_input_is_refused) {
    const auto refuse_at = [&](const gf::View& x, std::ptrdiff_t y) {
        refuse({{"x", x}}, {{"y", gf::view(at(y), x.extents)}},
               {"output \"y\"", "overlaps input \"x\"", "bind an array of its own"});
    };
    // Covers elements 0 to 19.
    const gf::View columns = gf::view(at(0), {4, 5}, {1, 4});
    refuse_at(columns, 19);
    doubled.run({{"x", columns}}, {{"y", gf::view(at(20), {4, 5})}});
    // Covers elements 60 to 79, from its end on.
    const gf::View backwards = gf::view(at(79), {4, 5}, {-5, -1});
    refuse_at(backwards, 79);
    refuse_at(backwards, 41);
    refuse_at(backwards, 60);
    doubled.run({{"x", backwards}}, {{"y", gf::view(at(80), {4, 5})}});
    doubled.run({{"x", backwards}}, {{"y", gf::view(at(40), {4, 5})}});
    // Covers elements 100 to 103, four times.
    const gf::View repeated = gf::view(at(100), {5, 4}, {0, 1});
    refuse_at(repeated, 103);
    doubled.run({{"x", repeated}}, {{"y", gf::view(at(104), {5, 4})}});
    // Covers elements 130 to 158, with gaps.
    const gf::View sparse = gf::view(at(130), {3, 5}, {10, 2});
    refuse_at(sparse, 158);
    refuse_at(sparse, 139);
    doubled.run({{"x", sparse}}, {{"y", gf::view(at(159), {3, 5})}});
}

TEST_F(StrideErrors, an_output_in_the_memory_of_a_permuted_input_is_refused) {
    for (const gf::Binding& x :
         {gf::Binding{"x", gf::view(at(0), {4, 5}, {1, 4})}, gf::Binding{"x", gf::view(at(19), {4, 5}, {-5, -1})}})
        expect_refused<gf::InvalidBinding>(
            [&] {
                next.run({x}, {{"y", gf::view(at(0), {4, 5})}});
            },
            {"output \"y\"", "overlaps input \"x\"", "as a whole and without strides"});
    EXPECT_EQ(memory[1], 1);
    next.run({{"x", gf::view(at(0), {4, 5}, {5, 1})}}, {{"y", gf::view(at(0), {4, 5})}}); // in order
    EXPECT_EQ(memory[1], 2);
}

TEST_F(StrideErrors, an_output_over_another_problems_input_is_refused) {
    const auto run = [&](const gf::View& x, std::ptrdiff_t y) {
        const std::array<gf::Bindings, 2> inputs{gf::Bindings{{"x", gf::view(at(0), {2, 2})}}, gf::Bindings{{"x", x}}};
        const std::array<gf::Bindings, 2> outputs{gf::Bindings{{"y", gf::view(at(y), {2, 2})}}, gf::Bindings{}};
        doubled.run_many(inputs, outputs);
    };
    const gf::View backwards = gf::view(at(79), {4, 5}, {-5, -1}); // elements 60 to 79
    expect_refused<gf::InvalidBinding>([&] { run(backwards, 70); }, {"y of problem 0", "overlaps", "x of problem 1"});
    expect_refused<gf::InvalidBinding>([&] { run(backwards, 57); }, {"y of problem 0", "overlaps", "x of problem 1"});
    EXPECT_EQ(memory[70], 70);
    run(backwards, 80); // where a contiguous array from its first element on would be
    run(backwards, 56);
    const gf::View sparse = gf::view(at(100), {2, 2}, {30, 1}); // elements 100 to 131
    expect_refused<gf::InvalidBinding>([&] { run(sparse, 110); }, {"y of problem 0", "overlaps", "x of problem 1"});
    run(sparse, 132);
}

} // namespace
