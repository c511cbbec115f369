// Reading results, and the allocation of their arrays.
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory_resource>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "error/refusal.hpp"

namespace {

using gf::test::expect_refused;

static_assert(GRIDFOLD_VERSION ==
              GRIDFOLD_VERSION_MAJOR * 10000 + GRIDFOLD_VERSION_MINOR * 100 + GRIDFOLD_VERSION_PATCH);

TEST(Version, of_the_library_is_that_of_the_headers) { EXPECT_EQ(gf::version(), GRIDFOLD_VERSION_STRING); }

gf::Results results_of(const char* text, const gf::Bindings& bindings) {
    return gf::compile(gf::parse(text), {.device = "cpu"}).run(bindings);
}

TEST(GetAs, converts_what_the_type_holds) {
    const std::vector<std::int32_t> k{-1, 2, 3};
    const gf::Results r = results_of("f(k: i32[n], h: f32) -> sum = sum(k), mean = mean(f64(k)), any = any(k > 2), "
                                     "half = f16(h), big = u64(h)",
                                     {{"k", k}, {"h", 0.5}});
    EXPECT_EQ(r.get_as<double>("sum"), 4);
    EXPECT_EQ(r.get_as<std::uint8_t>("sum"), 4);
    EXPECT_EQ(r.get_as<float>("mean"), static_cast<float>(4.0 / 3));
    EXPECT_EQ(r.get_as<int>("any"), 1);
    EXPECT_EQ(r.get_as<bool>("any"), true);
    EXPECT_EQ(r.get_as<double>("half"), 0.5);
    EXPECT_EQ(r.get_as<bool>("big"), false);
    for (const char* name : {"mean", "half"})
        expect_refused<gf::InvalidResult>([&] { r.get_as<int>(name); },
                                          {name, "i32 does not hold its value", "get_as<double>"});
    expect_refused<gf::InvalidResult>([&] { r.get_as<bool>("sum"); },
                                      {"\"sum\" is i64", "bool does not hold its value"});
}

TEST(GetAs, an_integer_holds_its_own_range_alone) {
    const auto as = [](double value) { return results_of("f(v: f64) -> r = v", {{"v", value}}); };
    EXPECT_EQ(as(-128).get_as<std::int8_t>("r"), -128);
    EXPECT_EQ(as(9223372036854774784.0).get_as<std::int64_t>("r"), 9223372036854774784);
    EXPECT_EQ(as(-9223372036854775808.0).get_as<std::int64_t>("r"), std::numeric_limits<std::int64_t>::min());
    for (const double value :
         {128.0, -129.0, 0.5, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
        EXPECT_THROW(as(value).get_as<std::int8_t>("r"), gf::InvalidResult) << value;
    EXPECT_THROW(as(9223372036854775808.0).get_as<std::int64_t>("r"), gf::InvalidResult);
    EXPECT_THROW(as(18446744073709551616.0).get_as<std::uint64_t>("r"), gf::InvalidResult);
    EXPECT_THROW(as(-1).get_as<std::uint64_t>("r"), gf::InvalidResult);
    EXPECT_THROW(results_of("f(v: i64) -> r = v", {{"v", -1}}).get_as<std::uint32_t>("r"), gf::InvalidResult);
}

TEST(GetAs, refuses_what_get_refuses) {
    const std::vector<std::int32_t> k{1, 2};
    const gf::Results r = results_of("f(k: i32[n]) -> y = k + 1, least = min(k where k > 5)", {{"k", k}});
    EXPECT_THROW(r.get_as<double>("least"), gf::EmptyReduction);
    EXPECT_THROW(r.get_as<double>("y"), gf::InvalidResult);
    EXPECT_THROW(r.get_as<double>("z"), gf::InvalidResult);
}

TEST(Handles, read_results_as_the_type_that_was_checked_when_they_were_named) {
    gf::Graph g;
    const gf::Value x = g.input<std::int32_t>("x", {g.dim("n")});
    const gf::Result<std::int64_t> cubes = g.output<std::int64_t>("cubes", gf::sum(x * x * x));
    const gf::ArrayResult<std::int32_t> doubled = g.output_array<std::int32_t>("doubled", x + x);
    expect_refused<gf::InvalidGraph>([&] { g.output<float>("mean", gf::mean(x)); },
                                     {"the output 'mean'", "is f64, and is to be read as f32", "or cast the value"});
    expect_refused<gf::InvalidGraph>([&] { g.output<std::int32_t>("same", x); }, {"has dims", "use output_array<T>"});
    expect_refused<gf::InvalidGraph>([&] { g.output_array<double>("mean", gf::mean(x)); },
                                     {"no dims", "use output<T>"});
    expect_refused<gf::InvalidGraph>([&] { g.output<double>("none", gf::Value()); }, {"has no value"});
    const auto mean = g.output<double>("mean", gf::mean(x)); // the refused output has not taken the name
    const std::vector<std::int32_t> data{1, 2, 3};
    const gf::Results r = gf::compile(g, {.device = "cpu"}).run({{"x", data}});
    EXPECT_EQ(r[cubes], 36);
    EXPECT_EQ(r[doubled][2], 6);
    EXPECT_EQ(r[mean], 2);
    EXPECT_EQ(r.entries().size(), 3u);
}

TEST(Copies, are_of_any_number_of_dims_and_of_bool) {
    const std::vector<float> table{1, -2, 3, -4, 5, -6};
    const gf::Results r =
        results_of("f(t: f32[i, j]) -> y = t * 2, p = t > 0", {{"t", gf::view(table.data(), {2, 3})}});
    EXPECT_EQ(r.to_vector<float>("y"), (std::vector<float>{2, -4, 6, -8, 10, -12}));
    EXPECT_EQ(r.to_vector<bool>("p"), (std::vector<bool>{true, false, true, false, true, false}));
    std::vector<float> six(6), five(5);
    r.copy_to("y", std::span(six));
    EXPECT_EQ(six[5], -12);
    expect_refused<gf::InvalidResult>([&] { r.copy_to("y", std::span(five)); }, {"has 6 elements", "copied to 5"});
    expect_refused<gf::InvalidResult>([&] { r.to_vector<double>("y"); }, {"\"y\" is f32", "asked for as f64"});
}

TEST(Copies, of_nothing_are_empty) {
    const std::vector<float> none;
    EXPECT_TRUE(results_of("f(x: f32[n]) -> y = x + 1", {{"x", none}}).to_vector<float>("y").empty());
}

/// Counts allocations; can be set to refuse them.
class Counting : public std::pmr::memory_resource {
public:
    std::size_t given = 0, taken_back = 0;
    bool refuses = false;

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (refuses) throw std::bad_alloc();
        given += bytes;
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* address, std::size_t bytes, std::size_t alignment) override {
        taken_back += bytes;
        std::pmr::new_delete_resource()->deallocate(address, bytes, alignment);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

TEST(MemoryResource, gives_array_results_their_memory_and_gets_it_back) {
    Counting counting;
    const std::vector<float> x{1, 2, 3};
    {
        const gf::Executable exe =
            gf::compile(gf::parse("f(x: f32[n]) -> y = x * 2, s = sum(x)"), {.device = "cpu", .memory = {&counting}});
        std::optional<gf::Results> first = exe.run({{"x", x}});
        EXPECT_EQ(counting.given, 12u);
        const gf::Results second = exe.run({{"x", x}}); // the first is alive, so this run allocates
        EXPECT_EQ(counting.given, 24u);
        first.reset();
        std::vector<float> y(3);
        const gf::Results bound = exe.run({{"x", x}}, {{"y", y}});
        EXPECT_EQ(y[2], 6);
        EXPECT_EQ(counting.given, 24u);
        EXPECT_EQ(second.span<float>("y")[2], 6);

        counting.refuses = true;
        EXPECT_THROW(exe.run({{"x", x}}), std::bad_alloc);
        counting.refuses = false;
        EXPECT_EQ(exe.run({{"x", x}}).span<float>("y")[1], 4);
    }
    EXPECT_EQ(counting.taken_back, counting.given);
}

TEST(Options, threads_are_as_many_as_asked_for_and_change_no_result) {
    const gf::Graph g = gf::parse("f(x: f32[n]) -> s = sum(x), m = mean(x)");
    std::vector<float> x(1 << 17);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1001) * 0.125F;
    const gf::Results one = gf::compile(g, {.device = "cpu", .threads = 1}).run({{"x", x}});
    for (const int threads : {2, 3}) {
        const gf::Executable exe = gf::compile(g, {.device = "cpu", .threads = threads});
        EXPECT_NE(exe.device().find(std::to_string(threads) + " threads"), std::string::npos) << exe.device();
        const gf::Results r = exe.run({{"x", x}});
        EXPECT_EQ(r.get<float>("s"), one.get<float>("s"));
        EXPECT_EQ(r.get<float>("m"), one.get<float>("m"));
    }
    expect_refused<gf::InvalidOption>([&] { gf::compile(g, {.device = "cpu", .threads = -1}); }, {"-1 threads"});
}

} // namespace
