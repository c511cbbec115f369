// Chains of folds and maps of rows on the CPU, where each thread runs the sweeps over some rows at a time: the bits of
// the sweeps one by one, at every length of a row and number of threads.
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "fusion/chains.hpp"

namespace gf {
namespace {

using test::norm;
using test::numbers;
using test::softmax;

/// The bytes of all results.
std::vector<std::byte> bytes_of(const Results& results) {
    std::vector<std::byte> bytes;
    for (const Results::Entry& entry : results.entries()) {
        const auto* const begin = static_cast<const std::byte*>(entry.array.address);
        std::int64_t elements = 1;
        for (const std::int64_t extent : entry.array.extents) elements *= extent;
        bytes.insert(bytes.end(), begin, begin + elements * static_cast<std::int64_t>(size_of(entry.type)));
    }
    return bytes;
}

Executable one_by_one(const char* text) { return compile(parse(text), {.device = "cpu", .fuse = false, .threads = 1}); }

/// x, and g where the graph has it.
struct Problem {
    std::vector<float> x, g;
    std::int64_t rows, length;

    Problem(std::int64_t of_rows, std::int64_t of_length)
        : x(numbers(of_rows * of_length)), g(numbers(of_length)), rows(of_rows), length(of_length) {}
    Bindings inputs(const char* text) const {
        Bindings all{{"x", view(x.data(), {rows, length})}};
        if (text == norm) all.emplace_back("g", view(g.data(), {length}));
        return all;
    }
};

TEST(ChainsOnTheCpu, have_the_bits_of_their_sweeps_one_by_one) {
    for (const char* const text : {softmax, norm}) {
        const Executable expected = one_by_one(text);
        for (const int threads : {1, 2, 3}) {
            const Executable chain = compile(parse(text), {.device = "cpu", .threads = threads});
            // Rows in turn that share a tile, that fill some, and of which one thread has too few.
            for (const auto& [rows, length] : std::vector<std::pair<std::int64_t, std::int64_t>>{{20'000, 3},
                                                                                                 {3'001, 100},
                                                                                                 {301, 1'000},
                                                                                                 {13, 70'000},
                                                                                                 {2'000, 129},
                                                                                                 {3, 300'000},
                                                                                                 {5, 1},
                                                                                                 {101, 4'097}}) {
                const Problem problem(rows, length);
                EXPECT_EQ(bytes_of(chain.run(problem.inputs(text))), bytes_of(expected.run(problem.inputs(text))))
                    << rows << " rows of " << length << ", " << threads << " threads: " << text;
            }
        }
    }
}

TEST(ChainsOnTheCpu, of_many_problems_have_the_bits_that_each_has_alone) {
    std::vector<Problem> problems;
    for (int i = 0; i < 7; ++i)
        for (const std::int64_t length : {2'100, 3, 9'000, 1}) problems.emplace_back(40, length);
    std::vector<Bindings> inputs;
    for (const Problem& problem : problems) inputs.push_back(problem.inputs(norm));
    const Executable chain = compile(parse(norm), {.device = "cpu", .threads = 2}), expected = one_by_one(norm);
    const std::vector<Results> all = chain.run_many(inputs);
    for (std::size_t p = 0; p < problems.size(); ++p)
        EXPECT_EQ(bytes_of(all[p]), bytes_of(expected.run(inputs[p]))) << problems[p].length;
}

TEST(ChainsOnTheCpu, rows_without_elements_and_no_rows) {
    const Executable chain =
        compile(parse("f(x: f32[i, k]) -> s = sum(x - sum(x over [k]) over [k])"), {.device = "cpu"});
    const std::vector<float> x(12, 1.0F);
    EXPECT_EQ(chain.run({{"x", view(x.data(), {3, 0})}}).to_vector<float>("s"), std::vector<float>(3, 0.0F));
    EXPECT_TRUE(chain.run({{"x", view(x.data(), {0, 4})}}).to_vector<float>("s").empty());
    EXPECT_EQ(chain.run({{"x", view(x.data(), {3, 4})}}).to_vector<float>("s"), std::vector<float>(3, -12.0F));
}

// All threads run one problem after the other, and bindings are changed in between.
TEST(ChainsOnTheCpu, of_fewer_problems_than_threads_keep_no_extents_of_others) {
    const Executable chain = compile(parse(norm), {.device = "cpu", .threads = 3}), expected = one_by_one(norm);
    const Problem one_row(1, 20'000), many_rows(3'000, 300), short_rows(9'000, 70);
    const std::vector<Bindings> inputs{one_row.inputs(norm), many_rows.inputs(norm)};
    PreparedMany many = chain.prepare_many(inputs);
    for (int run = 0; run < 2; ++run) {
        const std::vector<Results> all = many.run();
        for (std::size_t p = 0; p < inputs.size(); ++p)
            EXPECT_EQ(bytes_of(all[p]), bytes_of(expected.run(inputs[p]))) << p;
    }
    Prepared prepared = chain.prepare(many_rows.inputs(norm));
    for (const Problem* const problem : {&many_rows, &short_rows, &one_row, &many_rows}) {
        prepared.rebind(problem->inputs(norm));
        prepared.run();
        EXPECT_EQ(bytes_of(prepared.results()), bytes_of(expected.run(problem->inputs(norm)))) << problem->rows;
    }
}

// Padded and reversed rows are gathered row by row; of transposed ones the map runs in tiles, so the sweeps run one by
// one.
TEST(ChainsOnTheCpu, read_arrays_with_strides) {
    constexpr std::int64_t rows = 300, length = 701;
    const std::vector<float> memory = numbers((length + 5) * rows);
    const Executable chain = compile(parse(norm), {.device = "cpu", .threads = 2});
    const Problem problem(rows, length);
    for (const auto& [first, strides] : std::vector<std::pair<std::int64_t, Strides>>{
             {0, {length + 5, 1}}, {length - 1, {length, -1}}, {rows * length - 1, {-length, -1}}, {0, {1, rows}}}) {
        std::vector<float> contiguous;
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t k = 0; k < length; ++k)
                contiguous.push_back(memory[static_cast<std::size_t>(first + row * strides[0] + k * strides[1])]);
        Bindings inputs = problem.inputs(norm), dense = inputs;
        inputs[0] = {"x", view(memory.data() + first, {rows, length}, strides)};
        dense[0] = {"x", view(contiguous.data(), {rows, length})};
        EXPECT_EQ(bytes_of(chain.run(inputs)), bytes_of(one_by_one(norm).run(dense))) << to_text(strides);
    }
}

// What a chain passes from sweep to sweep has no strides, also in short rows, whose values are copied, and of many
// problems.
TEST(ChainsOnTheCpu, read_short_rows_with_strides) {
    constexpr std::int64_t rows = 301;
    for (const char* const text :
         {"f(x: f32[i, k]) let m = mean(x over [k]); -> y = (x - m) / sqrt(variance(x over [k]) + 0.1)",
          "f(x: f32[i, k]) let m = mean(x over [k]); -> y = max(x - m, sqrt(variance(x over [k]) + 0.1))", softmax}) {
        const Executable chain = compile(parse(text), {.device = "cpu", .threads = 2}), expected = one_by_one(text);
        for (const std::int64_t length : {7, 20, 31, 64}) {
            const std::vector<float> memory = numbers((length + 5) * rows), other = numbers((length + 9) * rows, 2);
            const std::vector<Bindings> inputs{{{"x", view(memory.data(), {rows, length}, {length + 5, 1})}},
                                               {{"x", view(other.data(), {rows, length}, {length + 9, 1})}}};
            const std::vector<Results> many = chain.run_many(inputs);
            for (std::size_t p = 0; p < inputs.size(); ++p) {
                const std::vector<std::byte> bytes = bytes_of(expected.run(inputs[p]));
                EXPECT_EQ(bytes_of(chain.run(inputs[p])), bytes) << length << ": " << text;
                EXPECT_EQ(bytes_of(many[p]), bytes) << length << ": " << text;
            }
        }
    }
}

TEST(ChainsOnTheCpu, of_halves_and_masks_and_of_rows_longer_than_is_passed) {
    for (const auto& [text, rows, length] : std::vector<std::tuple<const char*, std::int64_t, std::int64_t>>{
             {"f(x: f32[i, k]) let h = bf16(x); let e = exp(h - max(h over [k])); -> y = e / sum(e over [k])", 300, 77},
             {"f(x: f32[i, k]) let e = exp(x - max(x over [k] where x < 1)); -> e = e, "
              "y = e / sum(e over [k] where e < 0.5)",
              300, 77},
             {softmax, 2, (std::int64_t{1} << 22) + 1}}) {
        const Problem problem(rows, length);
        const Results expected = one_by_one(text).run(problem.inputs(text));
        EXPECT_EQ(bytes_of(compile(parse(text), {.device = "cpu", .threads = 2}).run(problem.inputs(text))),
                  bytes_of(expected))
            << text;
    }
}

TEST(ChainsOnTheCpu, wait_for_sweeps_and_are_waited_for) {
    const auto* const text =
        "f(x: f32[i, k]) let z = x - mean(x); let s = 1 / (1 + sum(z * z over [k])); let y = z * s; "
        "-> y = y, all = sum(y * max(y over [k])), of_columns = sum(y over [i])";
    const Problem problem(2'000, 120);
    const Results expected = one_by_one(text).run(problem.inputs(text));
    for (const int threads : {1, 2, 3}) {
        const Results results = compile(parse(text), {.device = "cpu", .threads = threads}).run(problem.inputs(text));
        EXPECT_EQ(results.to_vector<float>("y"), expected.to_vector<float>("y"));
        EXPECT_EQ(results.to_vector<float>("of_columns"), expected.to_vector<float>("of_columns"));
        EXPECT_EQ(results.get<float>("all"), expected.get<float>("all"));
    }
}

// In place, a row's results are written before the next rows are read.
TEST(ChainsOnTheCpu, in_place_read_each_row_before_they_write_it) {
    const Problem problem(3'001, 300);
    for (const char* const text :
         {softmax, "f(x: f32[i, k]) let s = sum(x * shift(x, i, 1, edge = wrap) over [k]); -> y = x / s"}) {
        std::vector<float> x = problem.x;
        const auto in_place = view(x.data(), {problem.rows, problem.length});
        compile(parse(text), {.device = "cpu", .threads = 2}).run({{"x", in_place}}, {{"y", in_place}});
        EXPECT_EQ(x, one_by_one(text).run(problem.inputs(text)).to_vector<float>("y")) << text;
    }
}

TEST(ChainsOnTheCpu, are_named_by_explain) {
    const Executable chain = compile(parse(softmax), {.device = "cpu"});
    EXPECT_NE(chain.explain().find(
                  "sweeps 0, 1, 2: a thread runs them over as many rows of [i, k] at a time as its cache holds"),
              std::string::npos)
        << chain.explain();
    EXPECT_EQ(one_by_one(softmax).explain().find("a thread runs them"), std::string::npos);
}

} // namespace
} // namespace gf
