// Every allocation fails in turn: the call throws std::bad_alloc or a gf::Error, changes and leaks nothing, and gives
// the right bits when it is called again.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>
#include <omp.h>

#include <gridfold/fusion/fuse.hpp>
#include <gridfold/gridfold.hpp>

#include "fault/allocations.hpp"
#include "fault/bits.hpp"
#include "fault/fresh_process.hpp"

namespace gf::fault {
namespace {

// Two sweeps; ordered and any-order folds, a mask, an array result, a run-time scalar, a broadcast, an index.
constexpr const char* graph_text = "f(x: f32[n], w: i32[n], alpha: f32)\n"
                                   "    let d = x - mean(x);\n"
                                   "    -> z = d * alpha, s = sum(d * d where w > 3), top = max(w), at = argmax(x), i "
                                   "= sum(index(n) * w), e = l2_norm(d)";

/// The operands of that graph: enough elements for several threads, few enough to run a thousand times.
struct Data {
    std::vector<float> x;
    std::vector<std::int32_t> w;
    explicit Data(std::size_t n, int start = 1) : x(n), w(n) {
        std::iota(w.begin(), w.end(), start);
        for (std::size_t i = 0; i < n; ++i) {
            w[i] %= 1000;
            x[i] = static_cast<float>(w[i] % 17) - 5.0F;
        }
    }
    Bindings bindings(float alpha = 2) const { return {{"x", x}, {"w", w}, {"alpha", alpha}}; }
};
constexpr std::size_t several_threads = 50'001;

/// LLVM keeps memory for a process, and ends it if it gets none: these tests are of gridfold's own allocations.
[[maybe_unused]] const int without_llvm = setenv("GRIDFOLD_LLVM", "none", 1);

class AllocationFailure : public ::testing::Test {
protected:
    AllocationFailure() { omp_set_num_threads(3); }

    const Data data{several_threads};
    const Executable exe = compile(parse(graph_text), {.device = "cpu"});
    const std::vector<std::uint64_t> right = bits_of(exe.run(data.bindings()));
};

/// clang's OpenMP runtime keeps a lock for ever where an allocation of its own initialisation fails.
void initialise_openmp() {
#if defined(__clang__)
    omp_get_max_threads();
#endif
}

TEST(AllocationFailureOfAFreshProcess, is_an_error_and_the_next_try_succeeds) {
    const std::vector<float> x{1, 2, 4};
    const auto sums = [&] {
        const Executable exe = compile(parse("f(x: f32[n]) -> s = sum(x * x), m = max(x)"), {.device = "cpu"});
        const Results results = exe.run({{"x", x}});
        return results.get<float>("s") == 21 && results.get<float>("m") == 4;
    };
    const std::uint64_t failed = fail_each_of_a_fresh_process(sums, initialise_openmp);
    EXPECT_GT(failed, 200u);
}

TEST_F(AllocationFailure, in_a_builder_leaves_the_graph_as_it_was) {
    const Graph start = parse("f(x: f32[n], i: i64[n], u: u64[n], m: bool[n], k: i8) let y = x * x; -> a = sum(y)");
    const auto value = [](Graph& g, const char* name) {
        for (const NodeId node : g.nodes())
            if (g.node(node).name == name) return g.value(node);
        throw InternalError(name);
    };
    using Step = std::function<void(Graph&)>;
    const Step steps[]{
        [](Graph& g) { g.dim("a_dim_with_a_name_that_is_allocated"); },
        [](Graph& g) { g.input<float>("an_input_with_a_name_that_is_allocated", {g.dim_at(DimId(0))}); },
        [](Graph& g) { g.scalar<double>("a_scalar_with_a_name_that_is_allocated"); },
        [](Graph& g) { g.index(g.dim_at(DimId(0))); },
        [](Graph& g) { g.constant(Literal(2), DType::f64); },
        [&](Graph& g) { value(g, "x") * value(g, "y"); },
        [&](Graph& g) { value(g, "y") * value(g, "y"); },
        [&](Graph& g) { value(g, "x") / value(g, "i"); },
        [&](Graph& g) { static_cast<void>(value(g, "i") < value(g, "u")); },
        [&](Graph& g) { static_cast<void>(value(g, "u") == value(g, "i")); },
        [&](Graph& g) { clamp(value(g, "k"), -1, 7); },
        [&](Graph& g) { g.cast(value(g, "x"), DType::i16); },
        [&](Graph& g) { sum(value(g, "x"), {.where = value(g, "m"), .accumulate = DType::f64}); },
        [](Graph& g) { g.let("a_value_with_a_name_that_is_allocated", g.value(NodeId(g.node_count() - 1))); },
        [&](Graph& g) { g.output("an_output_with_a_name_that_is_allocated", value(g, "y")); },
    };
    for (std::size_t number = 0; number < std::size(steps); ++number) {
        SCOPED_TRACE(number);
        Graph expected = start;
        steps[number](expected);
        for (const Lack lack : every_lack) {
            for (std::uint64_t served = 0;; ++served) {
                Graph g = start;
                const Outcome outcome = attempt(served, lack, [&] { steps[number](g); });
                ASSERT_EQ(outcome.other, "");
                if (!outcome.lacked) break;
                ASSERT_EQ(g.node_count(), start.node_count());
                ASSERT_EQ(g.dims().size(), start.dims().size());
                ASSERT_EQ(g.outputs().size(), start.outputs().size());
                ASSERT_EQ(to_text(g), to_text(start));
                steps[number](g);
                ASSERT_EQ(to_text(g), to_text(expected)) << "after allocation " << served << " failed";
                const Graph copy = g; // goes through every edge
                for (const NodeId node : g.nodes()) {
                    ASSERT_EQ(copy.operands(node), g.operands(node));
                    ASSERT_EQ(copy.users(node), g.users(node));
                }
            }
        }
    }
}

TEST_F(AllocationFailure, in_parsing_printing_and_fusing_leaks_nothing) {
    constexpr const char* shorter =
        "f(x: f32[n], w: i8[n]) let d = x - mean(x); -> s = sum(d * d where w > 3), top = max(x + 0.5 * 2)";
    const std::string text = to_text(parse(shorter)), plan = to_text(fuse(parse(shorter)));
    FuseOptions verified, unfused;
    verified.verify = true;
    unfused.fuse = false;
    EXPECT_GT(fail_each([&] { EXPECT_EQ(to_text(parse(shorter)), text); }), 200u);
    EXPECT_GT(fail_each([&] { EXPECT_EQ(to_text(fuse(parse(text), verified)), plan); }), 1000u);
    EXPECT_GT(fail_each([&] {
                  std::ostringstream out; // streams catch exceptions, as the standard requires
                  const Graph graph = parse(shorter);
                  write_dot(out, graph);
                  write_dot(out, fuse(graph, unfused));
              }),
              200u);
}

TEST_F(AllocationFailure, in_refusing_is_no_other_error) {
    const char* const refused[]{"f(x: f32[n]) -> a = menan(x)", "f(x: i8[n]) -> a = x + 300",
                                "f(x: f32[n]) -> a = x ? 1", "f(x: f32[n], y: f32[n = 3]) -> a = x",
                                "f(x: f32[n]) -> a = x x"};
    for (const char* text : refused)
        EXPECT_GT(fail_each([&] {
                      try {
                          parse(text);
                      } catch (const InvalidGraph&) {}
                  }),
                  20u);
    const Results results = exe.run(data.bindings());
    EXPECT_GT(fail_each([&] {
                  try {
                      results.get<float>("sun");
                  } catch (const InvalidResult&) {}
              }),
              2u);
    const auto refused_run = [&] {
        try {
            exe.run({{"x", data.x}, {"v", data.w}, {"alpha", 2}});
        } catch (const InvalidBinding&) {}
    };
    for (const Lack lack : every_lack) EXPECT_GT(fail_each(lack, refused_run, refused_run), 2u);
}

TEST_F(AllocationFailure, in_compiling_and_running_leaks_nothing) {
    const Data small(5000);
    for (const bool fuse : {true, false}) {
        const auto once = [&] {
            const Executable own = compile(parse("f(x: f32[n]) -> z = x - mean(x where x > 0.5), m = max(x)"),
                                           {.device = "cpu", .fuse = fuse});
            return bits_of(own.run({{"x", small.x}}));
        };
        const std::vector<std::uint64_t> expected = once();
        EXPECT_GT(fail_each([&] { EXPECT_EQ(once(), expected); }), 1000u);
    }
}

TEST_F(AllocationFailure, in_explaining_leaks_nothing) {
    EXPECT_GT(fail_each([&] { exe.explain(); }), 50u);
    EXPECT_GT(fail_each([&] { exe.source(); }), 50u);
    EXPECT_GT(fail_each([&] { exe.device(); }), 0u);
}

TEST_F(AllocationFailure, in_a_run_leaves_the_executable_usable) {
    const std::int64_t before = live_allocations();
    {
        const Executable own = compile(parse(graph_text), {.device = "cpu"});
        for (const Lack lack : every_lack) {
            std::vector<Results> held;
            held.reserve(1);
            const auto run = [&] {
                held.clear();
                held.push_back(own.run(data.bindings()));
            };
            EXPECT_GT(fail_each(lack, run, [&] { EXPECT_EQ(bits_of(own.run(data.bindings())), right); }), 0u);
            EXPECT_EQ(bits_of(held.at(0)), right);
        }
    }
    EXPECT_EQ(live_allocations(), before) << "leaked";
}

TEST_F(AllocationFailure, in_a_verified_run_leaves_the_executable_usable) {
    const Executable verified = compile(parse(graph_text), {.device = "cpu", .verify = true});
    const Data small(5000);
    const std::vector<std::uint64_t> right_of_small = bits_of(exe.run(small.bindings()));
    const auto run = [&] { EXPECT_EQ(bits_of(verified.run(small.bindings())), right_of_small); };
    for (const Lack lack : every_lack) EXPECT_GT(fail_each(lack, run, run), 2u);
}

TEST_F(AllocationFailure, in_preparing_leaks_nothing) {
    EXPECT_GT(fail_each([&] {
                  Prepared prepared = exe.prepare(data.bindings());
                  EXPECT_EQ(bits_of(prepared.run()), right);
              }),
              20u);
}

TEST_F(AllocationFailure, in_a_rebind_lets_the_old_bindings_stand) {
    const Data longer(several_threads + 12'345, 7);
    const std::vector<std::uint64_t> right_of_longer = bits_of(exe.run(longer.bindings(3)));
    std::vector<float> z(longer.x.size());
    Bindings with_output = longer.bindings(3);
    with_output.emplace_back("z", z);
    const Bindings bindings = longer.bindings(3);
    const std::function<void(Prepared&)> rebinds[]{
        [&](Prepared& p) { p.rebind(bindings); },
        [&](Prepared& p) { p.rebind(with_output); },
        [&](Prepared& p) { p.rebind("alpha", 3.5F); },
        [&](Prepared& p) { p.rebind("x", View(std::span(longer.x).first(several_threads))); },
    };
    SCOPED_TRACE("rebind"); // gtest keeps memory for these
    const std::int64_t before = live_allocations();
    for (std::size_t number = 0; number < std::size(rebinds); ++number) {
        SCOPED_TRACE(number);
        for (const Lack lack : every_lack) {
            Prepared prepared = exe.prepare(data.bindings());
            const Results first = prepared.run(); // keeps the Prepared's memory, so the next run allocates
            const auto rebind = [&] { rebinds[number](prepared); };
            fail_each(lack, rebind, [&] {
                EXPECT_EQ(bits_of(prepared.results()), right) << "the last run's";
                EXPECT_EQ(bits_of(prepared.run()), right);
            });
            if (number < 2) {
                EXPECT_EQ(bits_of(prepared.run()), right_of_longer);
            }
        }
    }
    EXPECT_EQ(live_allocations(), before) << "leaked";
}

TEST_F(AllocationFailure, in_a_prepared_run_leaves_it_usable) {
    Prepared prepared = exe.prepare(data.bindings());
    for (const Lack lack : every_lack) {
        const Results held = prepared.run(); // keeps its memory, so the next run allocates
        EXPECT_GT(fail_each(
                      lack, [&] { prepared.run(); }, [&] { EXPECT_THROW(prepared.results(), InvalidResult); }),
                  0u);
        EXPECT_EQ(bits_of(prepared.results()), right);
        EXPECT_EQ(bits_of(held), right);
    }
}

TEST_F(AllocationFailure, cannot_happen_in_a_run_of_a_prepared_whose_results_are_gone) {
    Prepared prepared = exe.prepare(data.bindings());
    prepared.run();
    const std::uint64_t before = allocation_count();
    const Outcome outcome = attempt(0, Lack::from_now, [&] { prepared.run(); });
    EXPECT_EQ(allocation_count(), before);
    EXPECT_FALSE(outcome.lacked);
    EXPECT_FALSE(outcome.threw);
    EXPECT_EQ(bits_of(prepared.results()), right);
}

TEST_F(AllocationFailure, cannot_happen_in_runs_of_many_problems_but_for_the_list_of_their_results) {
    const Executable sums = compile(parse("f(x: f32[n], w: i32[n], alpha: f32) let d = x - mean(x); "
                                          "-> s = sum(d * alpha where w > 3), at = argmax(x), i = sum(index(n) * w)"),
                                    {.device = "cpu"});
    const std::vector<Data> several{Data(several_threads), Data(10), Data(3000), Data(0), Data(20'000), Data(3001)};
    for (const std::size_t count : {std::size_t{2}, several.size()}) { // fewer than threads, and more
        std::vector<Bindings> problems;
        for (std::size_t i = 0; i < count; ++i) problems.push_back(several[i].bindings(static_cast<float>(i)));
        if (count > 3) problems[3] = problems[1];
        PreparedMany many = sums.prepare_many(problems);
        (void)many.run();
        for (int i = 0; i < 2; ++i) (void)sums.run_many(problems); // bindings are held twice, in turn
        const std::uint64_t before = allocation_count();
        (void)many.run();
        EXPECT_EQ(allocation_count(), before + 1);
        (void)sums.run_many(problems);
        EXPECT_EQ(allocation_count(), before + 2);
    }
}

// Fewer problems than threads: all threads run one after the other, with memory for the rows of each.
TEST_F(AllocationFailure, cannot_happen_in_the_first_run_of_problems_of_rows) {
    const Executable rows = compile(parse("f(x: f32[i, k]) let m = mean(x over [k]); let e = exp(x - m); "
                                          "-> s = m, y = e / sum(e over [k]) / sqrt(variance(x over [k]) + 1)"),
                                    {.device = "cpu", .threads = 8});
    // Fewer than threads, so that all run each. One thread runs the first, and takes more rows at a time than of
    // others.
    const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{
        {500, 4}, {1, 20'000}, {3'000, 200}, {1'000, 700}, {300, 300}};
    const std::vector<float> x(3'000 * 700);
    std::vector<std::vector<float>> s, y;
    std::vector<Bindings> inputs, outputs;
    for (const auto& [count, length] : shapes) {
        s.emplace_back(static_cast<std::size_t>(count));
        y.emplace_back(static_cast<std::size_t>(count * length));
        inputs.push_back({{"x", view(x.data(), {count, length})}});
        outputs.push_back({{"s", view(s.back().data(), {count})}, {"y", view(y.back().data(), {count, length})}});
    }
    PreparedMany many = rows.prepare_many(inputs, outputs);
    const auto allocations_of_run = [&] {
        const std::uint64_t before = allocation_count();
        (void)many.run();
        return allocation_count() - before;
    };
    const std::uint64_t first = allocations_of_run();
    EXPECT_EQ(first, allocations_of_run());
}

TEST_F(AllocationFailure, a_problem_of_many_is_bound_and_run_without_an_allocation_of_its_own) {
    const Executable named =
        compile(parse("f(x: f32[n], w: i32[n], alpha: f32) -> the_sum_of_all_that_is_above = sum(x "
                      "where x > alpha), the_place_of_the_least_element = argmin(w)"),
                {.device = "cpu"});
    const Data few(10);
    const auto allocations = [&](std::size_t count) {
        const std::vector<Bindings> problems(count, few.bindings());
        const std::uint64_t before = allocation_count();
        PreparedMany many = named.prepare_many(problems);
        (void)many.run();
        return allocation_count() - before;
    };
    (void)allocations(200); // what a process makes once
    EXPECT_EQ(allocations(200), allocations(1000));
}

TEST_F(AllocationFailure, in_a_rebind_of_one_of_many_lets_the_old_bindings_stand) {
    const Data longer(several_threads + 12'345, 7);
    const std::vector<Bindings> problems{data.bindings(), data.bindings(3), data.bindings(4), data.bindings(5)};
    const std::vector<std::uint64_t> right_of_longer = bits_of(exe.run(longer.bindings(3)));
    for (const Lack lack : every_lack) {
        PreparedMany many = exe.prepare_many(problems);
        fail_each(
            lack, [&] { many.rebind(1, longer.bindings(3)); }, [&] { EXPECT_EQ(bits_of(many.run().at(0)), right); });
        const std::vector<Results> results = many.run();
        EXPECT_EQ(bits_of(results[0]), right);
        EXPECT_EQ(bits_of(results[1]), right_of_longer);
    }
}

} // namespace
} // namespace gf::fault
