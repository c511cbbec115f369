// `gridfold ops`: every row of the tables, in words.
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <gridfold/ops/op.hpp>

#include "tool/command.hpp"

namespace {

using gf::test::Outcome;

class ToolOps : public gf::test::Command {};

TEST_F(ToolOps, lists_every_map_and_reduction_with_its_documentation) {
    const Outcome outcome = gridfold("ops");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const auto expect_line = [&](std::string_view name, std::string_view doc) {
        const std::size_t line = outcome.out.find(fmt::format("\n  {}(", name));
        ASSERT_NE(line, std::string::npos) << name;
        EXPECT_LT(outcome.out.find(doc, line), outcome.out.find('\n', line + 1)) << name;
    };
    for (const gf::MapOp* const map : gf::all_maps()) expect_line(map->name, map->doc);
    for (const gf::ReduceOp* const row : gf::all_reductions())
        if (row->name != "min" && row->name != "max") expect_line(row->name, row->doc); // the maps come first
    EXPECT_NE(outcome.out.find("  min(a)  "), std::string::npos);
    for (const char* function : {"index(n)", "extent(n)"})
        EXPECT_NE(outcome.out.find(fmt::format("  {}  ", function)), std::string::npos);
}

TEST_F(ToolOps, says_all_about_one) {
    expect_output("ops exp",
                  "exp(a), a map: e to the power a\n"
                  "  operands     any type\n"
                  "  computed in  the promoted type of the operands; f16 for bool and 8-bit integers, f32 for "
                  "16-bit ones, f64 for wider ones\n"
                  "  gives        that type\n");
    expect_output("ops variance",
                  "variance(a, ddof = 0), a reduction: the mean squared distance from the mean, over n - ddof\n"
                  "  operands         any type; where = mask (bool); ddof = integer; otherwise = number, "
                  "instead of the last two lines\n"
                  "  accumulates in   f64\n"
                  "  gives            f32 for f16, bf16 and f32, f64 for other types; f64 for all with "
                  "`accumulate = f64`\n"
                  "  all masked out   nan\n"
                  "  an extent of 0   refused if there is a result\n");
}

TEST_F(ToolOps, knows_names_of_both_kinds_and_symbols) {
    const std::string both = gridfold("ops min").out;
    EXPECT_NE(both.find("min(a, b), a map: "), std::string::npos) << both;
    EXPECT_NE(both.find("\n\nmin(a), a reduction: "), std::string::npos) << both;
    EXPECT_NE(both.find("nan of floats, empty of integers"), std::string::npos) << both;
    const std::string minus = gridfold("ops -- -").out;
    EXPECT_NE(minus.find("sub(a, b) or a - b, a map: "), std::string::npos) << minus;
    EXPECT_NE(minus.find("neg(a) or -a, a map: "), std::string::npos) << minus;
}

TEST_F(ToolOps, gives_what_nothing_folds_to) {
    for (const auto& [name, value] : {std::pair("sum", "0"),
                                      {"product", "1"},
                                      {"any", "false"},
                                      {"all", "true"},
                                      {"count", "0"},
                                      {"l2_norm", "0"},
                                      {"argmax", "empty"},
                                      {"mean", "nan"}})
        EXPECT_NE(gridfold(std::string("ops ") + name).out.find(fmt::format("  all masked out   {}\n", value)),
                  std::string::npos)
            << name;
}

TEST_F(ToolOps, knows_functions_that_are_no_rows) {
    expect_output("ops index", "index(n): the index along the dim n, as i64\n");
    EXPECT_NE(gridfold("ops extent").out.find("extent(n): the extent of the dim n"), std::string::npos);
    for (const char* type : {"f32", "u8", "bool"})
        EXPECT_NE(gridfold(std::string("ops ") + type).out.find("a converted to that type"), std::string::npos) << type;
}

TEST_F(ToolOps, lists_what_is_given_where_all_is_masked_out_and_for_an_extent_of_0) {
    const std::string list = gridfold("ops").out;
    for (const char* line :
         {"the sum; all masked out: 0; an extent of 0: the same\n",
          "the arithmetic mean; all masked out: nan; an extent of 0: refused if there is a result\n"})
        EXPECT_NE(list.find(line), std::string::npos) << line;
}

TEST_F(ToolOps, names_the_nearest_of_what_it_does_not_know) {
    expect_failure(1, "ops sqr", {"'sqr' is not a map or a reduction", "did you mean 'sqrt'?"});
    expect_failure(1, "ops avg", {"'avg' is not a map or a reduction; here it is 'mean'"});
    expect_failure(1, "ops quantile", {"'quantile' is not a map or a reduction; gridfold ops lists all"});
    expect_failure(1, "ops --markdown sum", {"--markdown"});
}

} // namespace
