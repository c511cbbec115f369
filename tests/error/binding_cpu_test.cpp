// Mistakes in bindings. After each refusal the same Executable, or Prepared, gives the right answer.
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "error/refusal.hpp"

namespace {

using gf::test::expect_refused;

/// y = x * w * alpha over [i, j], and its sum; i32 all through.
gf::Executable compile_table() {
    gf::Graph g("table");
    const gf::Dim i = g.dim("i"), j = g.dim("j");
    const gf::Value x = g.input<std::int32_t>("x", {i, j});
    const gf::Value w = g.input<std::int32_t>("w", {j});
    const gf::Value alpha = g.scalar<std::int32_t>("alpha");
    const gf::Value y = x * w * alpha;
    g.output("y", y);
    g.output("total", gf::sum(y));
    return gf::compile(g, {.device = "cpu"});
}

class BindingErrors : public testing::Test {
protected:
    gf::Bindings inputs() { return {{"x", gf::view(x.data(), {2, 3})}, {"w", w}, {"alpha", 2}}; }
    /// The right inputs, with the one named `name` replaced.
    gf::Bindings inputs_with(const gf::Binding& other) {
        gf::Bindings bindings = inputs();
        for (gf::Binding& binding : bindings)
            if (binding.name == other.name) binding = other;
        return bindings;
    }
    void refuse(const gf::Bindings& in, const gf::Bindings& out, std::initializer_list<std::string_view> words) {
        expect_refused<gf::InvalidBinding>([&] { table.run(in, out); }, words);
        expect_refused<gf::InvalidBinding>([&] { static_cast<void>(table.prepare(in, out)); }, words);
        const gf::Results results = table.run(inputs());
        EXPECT_EQ(results.get<std::int64_t>("total"), 2 * (1 * 10 + 2 * 20 + 3 * 30 + 4 * 10 + 5 * 20 + 6 * 30));
        EXPECT_EQ(results.span<std::int32_t>("y")[5], 2 * 6 * 30);
    }

    gf::Executable table = compile_table();
    std::array<std::int32_t, 6> x{1, 2, 3, 4, 5, 6};
    std::array<std::int32_t, 3> w{10, 20, 30};
    std::array<std::int32_t, 6> y{};
};

TEST_F(BindingErrors, an_unknown_name_is_refused_with_the_nearest_one) {
    auto bindings = inputs();
    bindings.emplace_back("alpah", 3);
    refuse(bindings, {}, {"\"alpah\"", "no input, run-time scalar or dim of that name", "did you mean \"alpha\"?"});
}

TEST_F(BindingErrors, an_extra_name_like_no_other_is_refused_with_the_list) {
    auto bindings = inputs();
    bindings.emplace_back("weights_of_the_moon", w);
    refuse(bindings, {}, {"\"weights_of_the_moon\"", "it has x, w, alpha, i, j", "leave the binding out"});
}

TEST_F(BindingErrors, an_unknown_output_is_refused) {
    refuse(inputs(), {{"z", y}}, {"\"z\"", "no array output of that name", "it has y"});
}

TEST_F(BindingErrors, an_output_that_is_a_scalar_is_not_bound) {
    std::array<std::int64_t, 1> total{};
    refuse(inputs(), {{"total", total}}, {"\"total\"", "only array outputs are bound", "get(\"total\")"});
}

TEST_F(BindingErrors, an_input_is_not_bound_as_output) {
    refuse(inputs(), {{"x", y}},
           {"input \"x\" (i32[i, j]) is bound as an output", "inputs are bound in the first list",
            "run(inputs, outputs)"});
}

TEST_F(BindingErrors, an_output_is_not_bound_as_input) {
    auto bindings = inputs();
    bindings.emplace_back("y", y);
    refuse(bindings, {},
           {"output \"y\" (i32[i, j]) is bound as an input", "outputs are bound in the second list",
            "run(inputs, outputs)"});
    bindings = inputs();
    std::array<std::int64_t, 1> total{};
    bindings.emplace_back("total", total);
    refuse(bindings, {}, {"output \"total\" is a scalar", "only array outputs are bound", "get(\"total\")"});
}

TEST(OutputErrors, a_scalar_output_with_the_name_of_a_dim_is_not_bound) {
    const gf::Executable exe = gf::compile(gf::parse("f(x: f32[n]) -> n = count(x > 0.0)"), {.device = "cpu"});
    const std::array<float, 2> x{-1, 1};
    std::array<std::int64_t, 1> room{};
    expect_refused<gf::InvalidBinding>(
        [&] {
            exe.run({{"x", x}}, {{"n", room}});
        },
        {"output \"n\" is a scalar", "only array outputs are bound", "get(\"n\")"});
    EXPECT_EQ(exe.run({{"x", x}}).get<std::int64_t>("n"), 1);
}

TEST_F(BindingErrors, a_missing_array_is_refused) {
    refuse({{"x", gf::view(x.data(), {2, 3})}, {"alpha", 2}}, {},
           {"input \"w\" (i32[j])", "a run needs every input", "add {\"w\", array}"});
}

TEST_F(BindingErrors, a_missing_scalar_is_refused) {
    refuse({{"x", gf::view(x.data(), {2, 3})}, {"w", w}}, {},
           {"run-time scalar \"alpha\" (i32)", "a run needs every input", "add {\"alpha\", 2}"});
}

TEST_F(BindingErrors, an_input_bound_twice_is_refused) {
    auto bindings = inputs();
    bindings.emplace_back("w", w);
    refuse(bindings, {}, {"input \"w\"", "is bound twice", "leave one of the two out"});
}

TEST_F(BindingErrors, a_scalar_bound_twice_is_refused) {
    auto bindings = inputs();
    bindings.emplace_back("alpha", 5);
    refuse(bindings, {}, {"run-time scalar \"alpha\"", "is bound twice"});
}

TEST_F(BindingErrors, another_element_type_is_refused_naming_both) {
    const std::array<float, 3> floats{1, 2, 3};
    refuse(inputs_with({"w", floats}), {},
           {"input \"w\" (i32[j])", "elements of f32", "never converted", "cast in the graph"});
}

TEST_F(BindingErrors, another_element_type_of_an_output_is_refused) {
    std::array<std::int64_t, 6> wide{};
    refuse(inputs(), {{"y", gf::view(wide.data(), {2, 3})}}, {"output \"y\" (i32[i, j])", "elements of i64"});
}

TEST_F(BindingErrors, an_array_of_another_rank_is_refused) {
    refuse(inputs_with({"x", x}), {},
           {"input \"x\" (i32[i, j])", "has 2 dims", "[6]", "one extent for each dim",
            "bind a view with 2 extents, as in gf::view(pointer, {i, j})"});
}

TEST_F(BindingErrors, extents_that_disagree_are_refused_naming_dim_inputs_and_numbers) {
    const std::array<std::int32_t, 2> two{10, 20};
    refuse(inputs_with({"w", two}), {},
           {"dim \"j\" is 3 by input \"x\"", "but 2 by input \"w\"", "a dim has one extent",
            "bind arrays whose extents agree"});
}

TEST_F(BindingErrors, an_output_whose_extents_disagree_is_refused) {
    refuse(inputs(), {{"y", gf::view(y.data(), {3, 2})}}, {"dim \"i\" is 2 by input \"x\"", "but 3 by output \"y\""});
}

TEST_F(BindingErrors, an_extent_by_name_that_disagrees_is_refused) {
    auto bindings = inputs();
    bindings.emplace_back("j", 4);
    refuse(bindings, {}, {"dim \"j\" is 4 by the extent bound by name", "but 3 by input \"x\""});
}

TEST_F(BindingErrors, a_negative_extent_is_refused) {
    refuse(inputs_with({"x", gf::view(x.data(), {-2, 3})}), {},
           {"input \"x\"", "negative extent", "[-2, 3]", "bind extents of 0 or more"});
}

TEST_F(BindingErrors, extents_whose_bytes_overflow_are_refused) {
    refuse(inputs_with({"x", gf::view(x.data(), {std::int64_t{1} << 40, std::int64_t{1} << 40})}), {},
           {"input \"x\"", "more than 2^63 - 1 bytes", "bind the array's true extents"});
}

TEST_F(BindingErrors, an_array_beyond_the_address_space_is_refused) {
    const auto high = reinterpret_cast<std::int32_t*>(std::numeric_limits<std::uintptr_t>::max() - 15);
    refuse(inputs_with({"w", gf::view(high, {std::int64_t{1} << 40})}), {},
           {"input \"w\"", "beyond the end of the address space", "true extents"});
}

TEST_F(BindingErrors, a_null_pointer_is_refused) {
    const std::int32_t* nothing = nullptr;
    refuse(inputs_with({"w", gf::view(nothing, {3})}), {},
           {"input \"w\"", "null pointer", "only arrays without elements may be null", "bind the array's address"});
}

TEST_F(BindingErrors, an_address_that_is_no_multiple_of_the_element_is_refused) {
    std::array<std::int32_t, 5> room{};
    const auto odd = reinterpret_cast<const std::int32_t*>(reinterpret_cast<const char*>(room.data()) + 1);
    refuse(inputs_with({"w", gf::view(odd, {3})}), {},
           {"input \"w\"", "not a multiple of 4 bytes", "aligned to their own size", "bind an aligned copy"});
}

TEST_F(BindingErrors, device_memory_is_refused_by_the_cpu) {
    refuse(inputs_with({"w", gf::device_view(w.data(), {3})}), {},
           {"input \"w\"", "device memory", "runs on the cpu", "bind a host array"});
}

TEST_F(BindingErrors, an_output_in_read_only_memory_is_refused) {
    const std::array<std::int32_t, 6> constant{};
    refuse(inputs(), {{"y", gf::view(constant.data(), {2, 3})}},
           {"output \"y\"", "read-only memory", "bind a view of non-const elements"});
}

TEST_F(BindingErrors, an_output_that_overlaps_an_input_is_refused) {
    refuse(inputs(), {{"y", gf::view(x.data(), {2, 3})}},
           {"output \"y\"", "overlaps input \"x\"", "bind an array of its own"});
}

TEST_F(BindingErrors, an_output_that_overlaps_an_input_by_one_element_is_refused) {
    std::array<std::int32_t, 11> room{};
    refuse(inputs_with({"x", gf::view(room.data(), {2, 3})}), {{"y", gf::view(room.data() + 5, {2, 3})}},
           {"output \"y\"", "overlaps input \"x\""});
}

TEST_F(BindingErrors, an_array_for_a_scalar_is_refused) {
    refuse(inputs_with({"alpha", w}), {},
           {"run-time scalar \"alpha\"", "bound to an array", "bound by value", "{\"alpha\", 2}"});
}

TEST_F(BindingErrors, a_number_for_an_array_is_refused) {
    refuse(inputs_with({"w", 7}), {}, {"input \"w\"", "bound to the number 7", "bind an array"});
}

TEST_F(BindingErrors, an_array_for_the_extent_of_a_dim_is_refused) {
    auto bindings = inputs();
    bindings.emplace_back("j", w);
    refuse(bindings, {}, {"dim \"j\"", "bound to an array", "{\"j\", 1000}"});
}

TEST_F(BindingErrors, a_negative_extent_by_name_is_refused) {
    auto bindings = inputs();
    bindings.emplace_back("j", -3);
    refuse(bindings, {}, {"dim \"j\"", "bound to -3", "an integer from 0"});
}

TEST_F(BindingErrors, an_integer_too_large_for_the_scalar_is_refused) {
    refuse(inputs_with({"alpha", std::int64_t{1} << 31}), {},
           {"run-time scalar \"alpha\" (i32)", "2147483648", "i32 does not hold", "bind one that fits"});
}

TEST_F(BindingErrors, a_fraction_for_an_integer_scalar_is_refused) {
    refuse(inputs_with({"alpha", 0.5}), {}, {"run-time scalar \"alpha\" (i32)", "0.5", "i32 does not hold"});
}

TEST_F(BindingErrors, rebinding_a_name_that_is_unknown_keeps_the_old_bindings) {
    gf::Prepared prepared = table.prepare(inputs());
    expect_refused<gf::InvalidBinding>([&] { prepared.rebind("ww", w); }, {"\"ww\"", "did you mean \"w\"?"});
    EXPECT_EQ(prepared.run().get<std::int64_t>("total"), 920);
}

TEST_F(BindingErrors, rebinding_other_extents_one_by_one_keeps_the_old_bindings) {
    gf::Prepared prepared = table.prepare(inputs());
    const std::array<std::int32_t, 2> two{10, 20};
    expect_refused<gf::InvalidBinding>(
        [&] { prepared.rebind("w", two); },
        {"dim \"j\" is 3", "but 2 by input \"w\"", "in one rebind of {{\"x\", array}, {\"w\", array}}"});
    EXPECT_EQ(prepared.run().get<std::int64_t>("total"), 920);

    const std::vector<gf::Bindings> problems{inputs()};
    gf::PreparedMany many = table.prepare_many(problems);
    expect_refused<gf::InvalidBinding>([&] { many.rebind(0, "w", two); },
                                       {"problem 0 of 1", "in one rebind of {{\"x\", array}, {\"w\", array}}"});
}

TEST_F(BindingErrors, rebinding_other_extents_names_the_extent_that_was_bound) {
    auto with_extent = inputs();
    with_extent.emplace_back("j", 3);
    gf::Prepared prepared = table.prepare(with_extent);
    const std::array<std::int32_t, 2> two{10, 20};
    const gf::View narrow = gf::view(x.data(), {3, 2});
    expect_refused<gf::InvalidBinding>(
        [&] {
            prepared.rebind({{"x", narrow}, {"w", two}});
        },
        {"dim \"j\" is 3 by the extent bound by name",
         "in one rebind of {{\"x\", array}, {\"w\", array}, {\"j\", extent}}"});
    prepared.rebind({{"x", narrow}, {"w", two}, {"j", 2}});
    EXPECT_EQ(prepared.run().get<std::int64_t>("total"), 2 * (9 * 10 + 12 * 20));
}

TEST_F(BindingErrors, a_moved_from_prepared_is_refused) {
    gf::Prepared prepared = table.prepare(inputs());
    const gf::Prepared taken = std::move(prepared);
    expect_refused<gf::InvalidBinding>([&] { prepared.run(); }, {"a moved-from Prepared: ", "prepare another"});
    expect_refused<gf::InvalidBinding>([&] { prepared.rebind("alpha", 3); }, {"a moved-from Prepared"});
    expect_refused<gf::InvalidBinding>([&] { prepared.results(); }, {"a moved-from Prepared"});
    prepared = table.prepare(inputs());
    EXPECT_EQ(prepared.run().get<std::int64_t>("total"), table.run(inputs()).get<std::int64_t>("total"));

    const std::vector<gf::Bindings> problems{inputs()};
    gf::PreparedMany many = table.prepare_many(problems);
    const gf::PreparedMany taken_many = std::move(many);
    EXPECT_EQ(many.size(), 0u);
    expect_refused<gf::InvalidBinding>([&] { many.run(); }, {"a moved-from PreparedMany"});
    expect_refused<gf::InvalidBinding>([&] { many.rebind(0, "alpha", 3); }, {"a moved-from PreparedMany"});
}

TEST_F(BindingErrors, an_executable_is_whole_after_a_move) {
    const gf::Executable taken = std::move(table);
    EXPECT_EQ(table.run(inputs()).get<std::int64_t>("total"), taken.run(inputs()).get<std::int64_t>("total"));
}

TEST_F(BindingErrors, a_list_that_fails_at_its_end_rebinds_nothing) {
    gf::Prepared prepared = table.prepare(inputs());
    const std::array<std::int32_t, 3> other{1, 1, 1};
    expect_refused<gf::InvalidBinding>([&] { prepared.rebind({{"w", other}, {"alpha", 0.5}}); }, {"\"alpha\""});
    EXPECT_EQ(prepared.run().get<std::int64_t>("total"), 920);
}

TEST(ScalarErrors, a_number_of_another_kind_than_the_scalar_is_refused_as_it_was_written) {
    gf::Graph g;
    g.output("y", gf::sum(g.input<std::int8_t>("x", {g.dim("n")}) * g.scalar<std::int8_t>("k")));
    g.output("b", gf::any(g.scalar<bool>("flag") && g.value(gf::NodeId(0)) > 0));
    const gf::Executable exe = gf::compile(g, {.device = "cpu"});
    const std::vector<std::int8_t> x{1, 2};
    const auto run = [&](gf::Literal k, gf::Literal flag) {
        gf::Bindings bindings{{"x", x}, {"k", 0}, {"flag", 0}};
        bindings[1].scalar = k;
        bindings[2].scalar = flag;
        return exe.run(bindings).get<std::int64_t>("y");
    };
    expect_refused<gf::InvalidBinding>([&] { run(~std::uint64_t{0}, true); }, {"\"k\" (i8)", "18446744073709551615"});
    expect_refused<gf::InvalidBinding>([&] { run(200, true); }, {"\"k\" (i8)", "200"});
    expect_refused<gf::InvalidBinding>([&] { run(1, 2); }, {"\"flag\" (bool)", "2"});
    EXPECT_EQ(run(3, true), 9);
}

TEST(ScalarErrors, a_scalar_that_becomes_infinite_as_f32_is_refused) {
    gf::Graph g;
    g.output("y", gf::sum(g.input<float>("x", {g.dim("n")}) * g.scalar<float>("alpha")));
    const gf::Executable exe = gf::compile(g, {.device = "cpu"});
    const std::vector<float> x{1, 2};
    expect_refused<gf::InvalidBinding>(
        [&] {
            exe.run({{"x", x}, {"alpha", 1e300}});
        },
        {"run-time scalar \"alpha\" (f32)", "1e+300", "f32 does not hold"});
    EXPECT_EQ(exe.run({{"x", x}, {"alpha", 0.5}}).get<float>("y"), 1.5F);
}

TEST(ScalarErrors, an_integer_that_becomes_infinite_as_f16_is_refused) {
    gf::Graph g;
    g.output("y", g.scalar("alpha", gf::DType::f16) * 1);
    const gf::Executable exe = gf::compile(g, {.device = "cpu"});
    for (const gf::Literal large : {gf::Literal(100000), gf::Literal(-100000), gf::Literal(~std::uint64_t{0})}) {
        gf::Bindings bindings{{"alpha", 0}};
        bindings[0].scalar = large;
        expect_refused<gf::InvalidBinding>([&] { exe.run(bindings); },
                                           {"run-time scalar \"alpha\" (f16)", "f16 does not hold"});
    }
    EXPECT_EQ(exe.run({{"alpha", 65504}}).get_as<double>("y"), 65504);
    EXPECT_EQ(exe.run({{"alpha", -std::numeric_limits<double>::infinity()}}).get_as<double>("y"),
              -std::numeric_limits<double>::infinity());
    const double nan = exe.run({{"alpha", std::numeric_limits<double>::quiet_NaN()}}).get_as<double>("y");
    EXPECT_NE(nan, nan);
}

} // namespace
