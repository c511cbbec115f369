// Outputs in the memory of inputs: right if allowed, refused if an element would be read after it is written.
#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "error/refusal.hpp"

namespace {

using gf::test::expect_refused;

class InPlace : public testing::Test {
protected:
    InPlace() {
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i % 257) - 128);
        y = x;
        for (float& value : y) value += 1;
    }
    gf::Executable compile(const char* text, bool verify = false) {
        return gf::compile(gf::parse(text), {.device = "cpu", .verify = verify});
    }
    /// The output `z` in the memory of input `x` has the same bits as in separate memory.
    void expect_right(const char* text, gf::Bindings inputs) {
        const gf::Executable exe = compile(text);
        const std::vector<float> apart = exe.run(inputs).to_vector<float>("z");
        const gf::Results r = exe.run(inputs, {{"z", x}});
        EXPECT_EQ(r.array("z").address, x.data());
        EXPECT_EQ(std::memcmp(x.data(), apart.data(), x.size() * sizeof(float)), 0) << text;
    }
    void expect_refusal(const char* text, const gf::Bindings& inputs, bool verify = false) {
        const std::vector<float> before = x;
        expect_refused<gf::InvalidBinding>(
            [&] {
                compile(text, verify).run(inputs, {{"z", x}});
            },
            {"output \"z\"", "overlaps input \"x\"", "bind an array of its own"});
        EXPECT_EQ(x, before);
    }
    std::vector<float> x = std::vector<float>(10007), y;
};

TEST_F(InPlace, a_sweep_that_maps_may_write_over_what_it_reads) {
    expect_right("f(x: f32[n]) -> z = x * 2 + 1", {{"x", x}});
    expect_right("f(x: f32[n], y: f32[n]) -> z = (x + y) * x", {{"x", x}, {"y", y}});
    expect_right("f(x: f32[n]) -> z = x", {{"x", x}});
}

TEST_F(InPlace, what_an_earlier_sweep_has_folded_may_be_written_over) {
    expect_right("f(x: f32[n]) -> z = (x - mean(x)) / stddev(x)", {{"x", x}});
}

TEST_F(InPlace, types_of_one_size_may_share_memory) {
    std::vector<std::int32_t> k(x.size(), 3);
    const gf::Executable exe = compile("f(k: i32[n]) -> z = f32(k) * 0.5");
    exe.run({{"k", k}}, {{"z", gf::view(reinterpret_cast<float*>(k.data()), {static_cast<std::int64_t>(k.size())})}});
    float first = 0;
    std::memcpy(&first, k.data(), sizeof first);
    EXPECT_EQ(first, 1.5F);
}

TEST_F(InPlace, a_prepared_run_goes_on_from_what_it_wrote) {
    x.assign(x.size(), 1);
    gf::Prepared prepared = compile("f(x: f32[n]) -> z = x * 2").prepare({{"x", x}}, {{"z", x}});
    for (int i = 0; i < 5; ++i) prepared.run();
    EXPECT_EQ(x, std::vector<float>(x.size(), 32));
}

TEST_F(InPlace, each_of_many_problems_may_be) {
    const gf::Executable exe = compile("f(x: f32[n]) -> z = x * 2");
    const std::vector<float> expected_x = exe.run({{"x", x}}).to_vector<float>("z");
    const std::vector<float> expected_y = exe.run({{"x", y}}).to_vector<float>("z");
    const std::vector<gf::Bindings> inputs{{{"x", x}}, {{"x", y}}}, outputs{{{"z", x}}, {{"z", y}}};
    exe.run_many(inputs, outputs);
    EXPECT_EQ(x, expected_x);
    EXPECT_EQ(y, expected_y);
}

TEST_F(InPlace, is_refused_where_the_sweep_folds_what_it_reads) {
    expect_refusal("f(x: f32[n]) -> z = x * 2, s = sum(x)", {{"x", x}});
    expect_refusal("f(x: f32[n]) -> z = x * 2, m = mean(x)", {{"x", x}});
}

TEST_F(InPlace, is_refused_where_another_output_reads_it_later) {
    expect_refusal("f(x: f32[n]) -> z = x * 2, w = x + 1", {{"x", x}});
    expect_refusal("f(x: f32[n]) -> z = x * 2, w = x", {{"x", x}});
}

TEST_F(InPlace, is_refused_where_a_later_sweep_reads_it) {
    expect_refusal("f(x: f32[n], y: f32[m]) -> z = x * 2, s = sum(x) * y", {{"x", x}, {"y", y}});
    expect_refusal("f([i, j], x: f32[i], y: f32[j]) -> z = x * 2, t = max(x * y)", {{"x", x}, {"y", y}});
}

TEST_F(InPlace, is_refused_where_the_input_is_broadcast) {
    const std::vector<float> one{5};
    expect_refused<gf::InvalidBinding>(
        [&] {
            compile("f([i, j], x: f32[j], y: f32[i]) -> z = x * y")
                .run({{"x", x}, {"y", one}}, {{"z", gf::view(x.data(), {1, static_cast<std::int64_t>(x.size())})}});
        },
        {"overlaps input \"x\""});
}

TEST_F(InPlace, is_refused_for_parts_and_for_other_sizes) {
    const auto n = static_cast<std::int64_t>(x.size()) - 1;
    const gf::Executable exe = compile("f(x: f32[n]) -> z = x * 2");
    expect_refused<gf::InvalidBinding>(
        [&] {
            exe.run({{"x", gf::view(x.data(), {n})}}, {{"z", gf::view(x.data() + 1, {n})}});
        },
        {"overlaps input \"x\""});
    expect_refused<gf::InvalidBinding>(
        [&] {
            compile("f(x: f32[n]) -> z = f64(x)")
                .run({{"x", gf::view(x.data(), {2})}}, {{"z", gf::view(reinterpret_cast<double*>(x.data()), {2})}});
        },
        {"overlaps input \"x\""});
}

TEST_F(InPlace, is_refused_where_a_second_input_in_that_memory_is_read_later) {
    expect_refusal("f(x: f32[n], v: f32[n]) -> z = x * 2, s = sum(v)", {{"x", x}, {"v", x}});
}

TEST_F(InPlace, is_refused_with_verify_which_reads_the_inputs_again) {
    expect_refusal("f(x: f32[n]) -> z = x * 2", {{"x", x}}, true);
}

} // namespace
