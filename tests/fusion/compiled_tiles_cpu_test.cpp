// Loops that LLVM compiles (cpu/tile_text.hpp) have the bits of the steps that are interpreted otherwise.
#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <gridfold/gridfold.hpp>

#include "cpu/ir.hpp"
#include "cpu/llvm.hpp"
#include "cpu/tile_code.hpp"
#include "cpu_run.hpp"

namespace gf::test {
namespace {

/// Skips the test where nothing is compiled.
#define GRIDFOLD_NEEDS_LLVM()                                                                           \
    if (!gf::cpu::has(InstructionSet::avx2)) GTEST_SKIP() << "loops are compiled for AVX2 and AVX-512"; \
    if (const std::string reason = gf::cpu::llvm::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason

/// Elements of all sizes; of floats some NaN, infinities, zeros of both signs, denormals, and some halfway between two
/// numbers of 16 bits.
std::vector<std::byte> elements_of(DType type, std::size_t n, std::uint64_t seed) {
    std::vector<std::byte> bytes(n * size_of(type));
    std::mt19937_64 random(seed);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double special[] = {0.0, -0.0, infinity, -infinity, std::nan(""), 1e-41, -1e-310, 1e300};
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t drawn = random();
        const double number =
            i % 61 == 7 ? special[drawn % 8] : std::ldexp(static_cast<double>(static_cast<std::int64_t>(drawn)), -60);
        with_type(type, [&]<class T>(T x) {
            if constexpr (std::is_same_v<T, bool>)
                x = drawn % 3 != 0;
            else if constexpr (std::is_integral_v<T>)
                x = static_cast<T>(drawn);
            else if constexpr (std::is_same_v<T, double>)
                x = number;
            else if constexpr (std::is_same_v<T, float>)
                x = i % 7 == 3   ? std::bit_cast<float>((std::bit_cast<std::uint32_t>(float(number)) | 0xffff) - 0x7fff)
                    : i % 7 == 5 ? std::bit_cast<float>((std::bit_cast<std::uint32_t>(float(number)) | 0x1fff) - 0xfff)
                                 : static_cast<float>(number);
            else
                x = T(static_cast<float>(number));
            std::memcpy(bytes.data() + i * sizeof x, &x, sizeof x);
        });
    }
    return bytes;
}

/// All results of a graph whose inputs x0, x1, … have these types and n elements, of which the first has number
/// `skipped` in its memory; all NaNs are one.
std::vector<std::uint64_t> results_of(const Graph& graph, const std::vector<DType>& types, std::size_t n,
                                      std::size_t skipped) {
    std::vector<std::vector<std::byte>> memory;
    Bindings bindings;
    for (std::size_t i = 0; i < types.size(); ++i) {
        memory.push_back(elements_of(types[i], n + skipped, i + 1));
        std::byte* const first = memory.back().data() + skipped * size_of(types[i]);
        bindings.emplace_back(fmt::format("x{}", i),
                              View(first, types[i], {static_cast<std::int64_t>(n)}, Memory::host, false));
    }
    const Results results = compile(graph, {.device = "cpu"}).run(bindings);
    std::vector<std::uint64_t> bits;
    for (const Results::Entry& entry : results.entries()) {
        const auto* at = static_cast<const std::byte*>(entry.is_array ? entry.array.address : &entry.bits);
        const std::size_t count = entry.is_array ? n : 1;
        for (std::size_t i = 0; i < count; ++i) {
            std::uint64_t of = bits_of_element(at + i * size_of(entry.type), entry.type);
            if (entry.type == DType::f16 && (of & 0x7fff) > 0x7c00) of = 0x7fff;
            if (entry.type == DType::bf16 && (of & 0x7fff) > 0x7f80) of = 0x7fff;
            bits.push_back(of);
        }
    }
    return bits;
}

/// Arrays of blocks of one slab, of two, of more than eight, with whole last slabs and without, at any address.
struct Length {
    std::size_t elements, skipped;
};
constexpr Length lengths[] = {{2'049, 0}, {40'000, 3}, {262'144, 0}, {300'003, 1}, {1'000'001, 3}, {3'000'000, 0}};
constexpr Length few[] = {{5'003, 1}};

void expect_the_same(const Graph& graph, const std::vector<DType>& types, std::span<const Length> of = lengths) {
    for (const char* set : sets_of_this_machine()) {
        const ChosenSet chosen(set);
        for (const auto& [n, skipped] : of) {
            std::vector<std::uint64_t> interpreted, compiled;
            {
                const ChosenLlvm llvm("none");
                interpreted = results_of(graph, types, n, skipped);
            }
            {
                const ChosenLlvm llvm("always");
                compiled = results_of(graph, types, n, skipped);
            }
            EXPECT_TRUE(interpreted == compiled) << to_text(graph) << "\n" << set << ", " << n << " elements";
        }
    }
}

/// `results` of x0, x1, … of these types.
void expect_the_same(const std::string& results, const std::vector<DType>& types,
                     std::span<const Length> of = lengths) {
    std::string inputs;
    for (std::size_t i = 0; i < types.size(); ++i)
        inputs += fmt::format("{}x{}: {}[n]", i == 0 ? "" : ", ", i, to_text(types[i]));
    expect_the_same(parse(fmt::format("tiles({}) -> {}", inputs, results)), types, of);
}

constexpr DType all_types[] = {
#define GRIDFOLD_DTYPE(id, ...) DType::id,
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
};

/// True if the graph's only sweep is compiled.
bool is_compiled(const Graph& graph) {
    const Plan plan = fuse(graph);
    return plan.sweeps.size() == 1 &&
           gf::cpu::obstacle_to_tile_text(plan, plan.sweeps.front(), InstructionSet::avx512).empty();
}

TEST(CompiledTiles, have_the_bits_of_each_map_of_each_type) {
    GRIDFOLD_NEEDS_LLVM();
    int tried = 0;
    for (const MapOp* map : all_maps())
        for (const DType type : all_types) {
            if (map->builtin < 0 || is_half(type) || !gf::cpu::has_map_text(*map, type)) continue;
            Graph graph("map");
            const Dim n = graph.dim("n");
            std::vector<Operand> operands;
            std::vector<DType> types;
            for (int i = 0; i < map->arity; ++i) {
                types.push_back(map->rule == TypeRule::select && i == 0 ? DType::boolean : type);
                operands.push_back(graph.input(fmt::format("x{}", i), types.back(), {&n, 1}));
            }
            try {
                const Value value = graph.map(*map, operands);
                graph.output("value", value);
                graph.output("count", gf::count(value));
            } catch (const Error&) {
                continue; // the map does not take the type
            }
            if (!is_compiled(graph)) continue; // the type is converted first, or the map is replaced
            ++tried;
            expect_the_same(graph, types, few);
        }
    EXPECT_GT(tried, 150);
}

TEST(CompiledTiles, have_the_bits_of_each_cast) {
    GRIDFOLD_NEEDS_LLVM();
    for (const DType from : all_types) {
        std::string results;
        for (const DType to : all_types)
            if (to != from && !is_half(to))
                results += fmt::format("{}r{} = {}(x0)", results.empty() ? "" : ", ", to_text(to), to_text(to));
        expect_the_same(results, {from}, few);
    }
    for (const char* half : {"f16", "bf16"})
        expect_the_same(fmt::format("r = {}(x0), s = max(x0)", half), {DType::f32}, few);
}

TEST(CompiledTiles, have_the_bits_of_folds_of_each_type) {
    GRIDFOLD_NEEDS_LLVM();
    for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16})
        expect_the_same("a = sum(x0), b = sum_of_squares(x0), c = min(x0), d = max(x0), e = count(x0 > 0), "
                        "f = product(x0), g = variance(x0), h = any(x0), i = all(x0)",
                        {type});
    for (const DType type :
         {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32, DType::i64, DType::u64})
        expect_the_same("a = min(x0), b = max(x0), c = count(x0 < 3), d = variance(x0), e = any(x0), f = l2_norm(x0)",
                        {type});
}

TEST(CompiledTiles, have_the_bits_of_masked_folds) {
    GRIDFOLD_NEEDS_LLVM();
    for (const DType type : {DType::f32, DType::f64, DType::bf16})
        expect_the_same("a = sum(x0 where x1), b = sum_of_squares(x0 where x0 > 1), c = min(x0 where x1), "
                        "d = max(x0 where !x1), e = count(x0 > 0 where x1), f = any(x0 where x1), "
                        "g = all(x0 where x1), h = product(x0 where x1)",
                        {type, DType::boolean});
    expect_the_same("a = min(x0 where x1), b = max(x0 where x1), c = count(x0 < 3 where x1)",
                    {DType::i16, DType::boolean});
}

TEST(CompiledTiles, have_the_bits_of_single_folds_of_maps) {
    GRIDFOLD_NEEDS_LLVM();
    for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
        expect_the_same("s = sum(x0 * x0 * x0)", {type});
        expect_the_same("v = variance(abs(x0) + 1)", {type});
        expect_the_same("z = (x0 - mean(x0)) / stddev(x0)", {type});
    }
    expect_the_same("d = sum(x0 * x1 + x2), m = max(x0 - x2)", {DType::f32, DType::f32, DType::f32});
    expect_the_same("p = x0 * 2 + 1, q = x0 > x1, r = select(x0 > x1, x0, x1)", {DType::f32, DType::f32});
}

TEST(CompiledTiles, are_shared_by_threads) {
    GRIDFOLD_NEEDS_LLVM();
    const ThreadCount threads(3);
    expect_the_same("a = sum(x0), b = variance(x0), c = min(x0), d = count(x0 > 0), z = x0 * 3 - 1", {DType::f32});
}

TEST(CompiledTiles, have_the_bits_of_bools_of_any_byte) {
    GRIDFOLD_NEEDS_LLVM();
    std::vector<unsigned char> bytes(10'000);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i % 5 == 0 ? 0 : i);
    const Graph graph = parse("tiles(x: bool[n]) -> c = count(x), y = !x, z = u8(x)");
    std::vector<std::uint8_t> y[2], z[2];
    for (const int compiled : {0, 1}) {
        const ChosenLlvm llvm(compiled == 1 ? "always" : "none");
        const View x(bytes.data(), DType::boolean, {static_cast<std::int64_t>(bytes.size())}, Memory::host, false);
        const Results results = compile(graph, {.device = "cpu"}).run({{"x", x}});
        EXPECT_EQ(results.get<std::int64_t>("c"), std::ranges::count_if(bytes, [](unsigned char b) { return b != 0; }));
        const std::span<const bool> values = results.span<bool>("y");
        y[compiled].assign(values.begin(), values.end());
        z[compiled] = results.to_vector<std::uint8_t>("z");
    }
    EXPECT_EQ(y[0], y[1]);
    EXPECT_EQ(z[0], z[1]);
}

/// Runs of one executable with arrays of changing lengths: the bits are those of steps before, while and after its
/// loop is compiled, by two threads and over rows.
TEST(CompiledTiles, take_the_place_of_steps_between_runs) {
    GRIDFOLD_NEEDS_LLVM();
    const Graph graph = parse("tiles(x: f32[k, n]) let y = x * 3 - 1; -> y = y, s = sum(y * y over [n]), m = max(y)");
    const std::int64_t lengths_of_rows[] = {40'000, 3'001, 20'000};
    const auto outcome = [&](const Executable& exe, std::int64_t n) {
        std::vector<float> x(static_cast<std::size_t>(3 * n));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1'013) / 7 - 50;
        const View array = view(x.data(), {3, n});
        const Results results = exe.run({{"x", array}});
        std::vector<std::uint32_t> bits{std::bit_cast<std::uint32_t>(results.get<float>("m"))};
        for (const float s : results.to_vector<float>("s")) bits.push_back(std::bit_cast<std::uint32_t>(s));
        for (const float y : results.to_vector<float>("y")) bits.push_back(std::bit_cast<std::uint32_t>(y));
        return bits;
    };
    std::vector<std::vector<std::uint32_t>> wanted;
    {
        const ChosenLlvm llvm("none");
        const Executable exe = compile(graph, {.device = "cpu"});
        for (const std::int64_t n : lengths_of_rows) wanted.push_back(outcome(exe, n));
    }
    const Executable exe = compile(graph, {.device = "cpu", .threads = 2});
    for (int run = 0; run < 3'000 && exe.explain().find("compiled by LLVM") == std::string::npos; ++run)
        ASSERT_TRUE(outcome(exe, lengths_of_rows[run % 3]) == wanted[static_cast<std::size_t>(run % 3)]) << run;
    EXPECT_NE(exe.explain().find("compiled by LLVM"), std::string::npos);
    for (int run = 0; run < 3; ++run)
        EXPECT_TRUE(outcome(exe, lengths_of_rows[run]) == wanted[static_cast<std::size_t>(run)]) << run;
}

TEST(CompiledTiles, write_in_place) {
    GRIDFOLD_NEEDS_LLVM();
    const Graph graph = parse("tiles(x: f32[n]) -> y = select(x > 0, x * 3 - 1, x + 2)");
    std::vector<float> x[2];
    for (const int compiled : {0, 1}) {
        const ChosenLlvm llvm(compiled == 1 ? "always" : "none");
        for (int i = 0; i < 50'001; ++i) x[compiled].push_back(static_cast<float>(i % 1'013) / 7 - 50);
        const View array = view(x[compiled].data(), {50'001});
        compile(graph, {.device = "cpu"}).run({{"x", array}}, {{"y", array}});
    }
    EXPECT_EQ(x[0], x[1]);
}

TEST(CompiledTiles, have_the_bits_of_many_problems) {
    GRIDFOLD_NEEDS_LLVM();
    const Graph graph = parse("tiles(x: f32[n]) -> a = sum(x * x * x), b = variance(x), c = min(x)");
    std::vector<std::uint64_t> bits[2];
    for (const int compiled : {0, 1}) {
        const ChosenLlvm llvm(compiled == 1 ? "always" : "none");
        const std::vector<std::byte> memory = elements_of(DType::f32, 60'000, 5);
        std::vector<Bindings> problems;
        for (const std::int64_t n : {2'048, 5'000, 1, 60'000, 2'049})
            problems.push_back({{"x", view(reinterpret_cast<const float*>(memory.data()), {n})}});
        for (const Results& results : compile(graph, {.device = "cpu"}).run_many(problems))
            for (const Results::Entry& entry : results.entries())
                bits[compiled].push_back(bits_of_element(reinterpret_cast<const std::byte*>(&entry.bits), entry.type));
    }
    EXPECT_EQ(bits[0], bits[1]);
}

/// Where memory may not become code, as under systemd's MemoryDenyWriteExecute, steps stay interpreted.
TEST(CompiledTilesDeathTest, are_not_made_where_memory_may_not_become_code) {
    GRIDFOLD_NEEDS_LLVM();
    constexpr int set_mdwe = 65, refuse_exec_gain = 1;
    const auto run = [] {
        if (prctl(set_mdwe, refuse_exec_gain, 0, 0, 0) != 0) std::exit(0); // an older kernel
        const Plan plan = fuse(parse("tiles(x: f32[n]) -> s = sum(x * x * x)"));
        gf::cpu::TileCode code(InstructionSet::avx2, 2);
        code.add(code.time_of_steps());
        std::exit(code.for_run(plan, plan.sweeps.front()) == nullptr ? 0 : 1);
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST(CompiledTiles, begin_once_steps_have_taken_as_long_as_compiling) {
    GRIDFOLD_NEEDS_LLVM();
    const Plan plan = fuse(parse("tiles(x: f32[n]) -> s = sum(x * x * x)"));
    gf::cpu::TileCode code(InstructionSet::avx2, 2);
    const auto& sweep = plan.sweeps.front();
    EXPECT_EQ(code.for_run(plan, sweep), nullptr);
    code.add(code.time_of_steps() / 2);
    EXPECT_EQ(code.for_run(plan, sweep), nullptr);
    code.add(code.time_of_steps() / 2);
    EXPECT_EQ(code.for_run(plan, sweep) != nullptr, true);
    EXPECT_TRUE(code.is_compiled());
}

TEST(CompiledTiles, are_explained) {
    GRIDFOLD_NEEDS_LLVM();
    const auto explained = [](const char* results, const char* wanted) {
        const Graph graph = parse(fmt::format("tiles(x: f32[n], y: f32[k]) -> {}, t = y * 2 + 1", results));
        const std::string text = compile(graph, {.device = "cpu"}).explain();
        EXPECT_NE(text.find(fmt::format("  loop:    {}\n", wanted)), std::string::npos) << text;
    };
    explained("s = sum(x * x * x)", "steps, and one loop once they have taken 24 ms, if there is LLVM");
    explained("s = sum(x)", "one step");
    explained("s = sum(exp(x))", "steps: exp has no loop");
    explained("s = sum(x), at = argmax(x)", "steps: ArgMax has no loop");
    explained("s = sum(x), m = mean(x where x > 0)", "steps: Moments with a mask has no loop");
    explained("s = sum(x * f32(index(n)))", "steps: index has no loop");
    const auto explained_of_matrix = [](const char* result, const char* wanted) {
        const Graph graph = parse(fmt::format("tiles(x: f32[n, k]) -> s = {}", result));
        const std::string text = compile(graph, {.device = "cpu"}).explain();
        EXPECT_NE(text.find(fmt::format("  loop:    {}\n", wanted)), std::string::npos) << text;
    };
    explained_of_matrix("sum(x * x * x over [n])", "steps: a dim that its folds keep is inside a folded one");
    explained_of_matrix("sum(x * x * x over [k])", "steps, and one loop of rows of more than 2,048 elements once they "
                                                   "have taken 24 ms, if there is LLVM");
    {
        const ChosenLlvm llvm("none");
        explained("s = sum(x * x * x)", "steps: GRIDFOLD_LLVM=none forbids a compiled loop");
    }
    std::optional<Executable> forbidden;
    {
        const ChosenLlvm llvm("none");
        forbidden = compile(parse("tiles(x: f32[n]) -> s = sum(x * x * x)"), {.device = "cpu"});
    }
    EXPECT_NE(forbidden->explain().find("GRIDFOLD_LLVM=none"), std::string::npos); // though it is set no longer
    const ChosenLlvm llvm("always");
    const Executable exe = compile(parse("tiles(x: f32[n]) -> s = sum(x * x * x)"), {.device = "cpu"});
    const std::vector<float> x(10'000, 1.5F);
    static_cast<void>(exe.run({{"x", x}}));
    EXPECT_NE(exe.explain().find("  loop:    compiled by LLVM\n"), std::string::npos);
}

TEST(CompiledTiles, need_a_library_that_can_be_loaded) {
    GRIDFOLD_NEEDS_LLVM();
    const Graph graph = parse("tiles(x: f32[n]) -> s = sum(x * x * x)");
    for (const char* name : {"/nowhere/libLLVM.so", "libc.so.6"}) {
        const ChosenLlvm llvm(name);
        EXPECT_THROW(compile(graph, {.device = "cpu"}), InvalidOption) << name;
    }
    EXPECT_NO_THROW(compile(graph, {.device = "cpu"}));
}

} // namespace
} // namespace gf::test
