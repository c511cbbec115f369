// NVRTC compiles every map for every type it computes in, and every monoid for the types it folds, for each
// architecture that the library supports, without a warning.
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <gridfold/core/device_text.hpp>
#include <gridfold/core/error.hpp>
#include <gridfold/core/nvrtc.hpp>
#include <gridfold/ops/type_rule.hpp>

#include "own_ops.hpp"

namespace {

using gf::DType;

std::set<DType> compute_types() {
    std::set<DType> types;
    for (const DType type : gf::all_dtypes()) types.insert(gf::value_type(type));
    return types;
}

bool is_compiled(const gf::MapOp& row, DType type) {
    if (row.user_kernels) return (*row.user_kernels)[static_cast<std::size_t>(type)] != nullptr;
    return gf::computes_in(row.rule, type);
}

/// One kernel for each compute type of the row. It reads and writes memory, so that nothing is optimised away.
std::string map_kernels(const gf::MapOp& row) {
    using gf::TypeRule;
    const bool to_bool = row.rule == TypeRule::compare || row.rule == TypeRule::logical || row.rule == TypeRule::test;
    const std::string first = row.rule == TypeRule::select ? "bool" : "T";
    const std::string parameters[] = {first + " a", first + " a, T b", first + " a, T b, T c"};
    std::string text = fmt::format("template <class T> GRIDFOLD_FN {} map_{}({}) {{ return {}; }}\n",
                                   to_bool ? "bool" : "T", row.name, parameters[row.arity - 1], row.expression);
    for (const DType type : compute_types()) {
        if (!is_compiled(row, type)) continue;
        const std::string_view t = type == DType::boolean ? "bool" : to_text(type);
        const std::string_view arguments[] = {"a[0]", "a[0], b[0]", "a[0], b[0], c[0]"};
        text +=
            fmt::format("extern \"C\" __global__ void {}_{}({}* out, const {}* a, const {}* b, const {}* c) {{ *out = "
                        "map_{}<{}>({}); }}\n",
                        row.name, t, to_bool ? "bool" : t, row.rule == TypeRule::select ? "bool" : t, t, t, row.name, t,
                        arguments[row.arity - 1]);
    }
    return text;
}

/// One kernel for each element type and accumulator of a reduction: all five parts of the monoid.
std::string reduce_kernels(const gf::ReduceOp& row) {
    std::string text = fmt::format("template <class M, class R> GRIDFOLD_FN R finalize_{}(const typename M::State& s, "
                                   "[[maybe_unused]] f64 argument) {{ return {}; }}\n",
                                   row.name, row.finalize);
    for (const DType element : compute_types()) {
        std::set<std::pair<DType, DType>> types; // of accumulator and result
        const bool pays = row.monoid->rule == gf::OperandRule::payload;
        if (!gf::folds_elements(row.monoid->rule, row.monoid->operands, element)) continue;
        const std::vector<DType> operands(std::size_t(row.monoid->operands), element);
        for (const std::optional<DType> chosen : {std::optional<DType>(), std::optional(DType::f64)}) try {
                const gf::ReduceTyping typing = gf::reduce_typing(row, operands, chosen);
                types.emplace(typing.accumulator, gf::value_type(typing.result));
            } catch (const gf::InvalidGraph&) { // the reduction takes only its default
            }
        for (const auto& [accumulator, result] : types) {
            const auto spell = [](DType type) { return type == DType::boolean ? "bool" : to_text(type); };
            const std::string monoid = fmt::format("{}<{}, {}>", row.monoid->name, spell(element), spell(accumulator));
            text += fmt::format(
                "static_assert(sizeof({0}::State) == {1}, \"words\");\n"
                "extern \"C\" __global__ void {2}_{3}_{4}_{5}({5}* out, {0}::State* states, const {3}* x) {{\n"
                "    auto s = {0}::identity();\n"
                "    {0}::accumulate(s, {6}, 7);\n"
                "    {0}::combine(s, states[1]);\n"
                "    states[0] = s;\n"
                "    *out = finalize_{2}<{0}, {5}>(s, 1.0);\n"
                "}}\n",
                monoid, 4 * row.monoid->state_words(element, accumulator), row.name, spell(element), spell(accumulator),
                spell(result),
                row.monoid->operands == 1 ? "x[0]"
                : pays                    ? "x[0], payload_of(x[1])"
                                          : "x[0], x[1]");
        }
    }
    return text;
}

/// The prelude and every row's kernels.
const std::string& tables_text() {
    static const std::string text = [] {
        std::string maps, reductions;
        std::set<std::string_view> built_in, own;
        for (const gf::MapOp* row : gf::all_maps()) maps += map_kernels(*row);
        for (const gf::ReduceOp* row : gf::all_reductions()) {
            (row->monoid->builtin < 0 ? own : built_in).insert(gf::monoid_source(*row->monoid));
            reductions += reduce_kernels(*row);
        }
        std::string all;
        for (const std::string_view source : built_in) all += source;
        all += "namespace gf::device {\n";
        for (const std::string_view source : own) all += source;
        all += maps + reductions + "}\n";
        return gf::detail::prelude_text() + gf::detail::function_text(all) + all;
    }();
    return text;
}

const std::vector<std::string> options{"--std=c++17", "--fmad=false"};

} // namespace

class NvrtcTables : public testing::TestWithParam<const char*> {};

TEST_P(NvrtcTables, CompileForEveryType) {
    if (const std::string reason = gf::nvrtc::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    try {
        const gf::nvrtc::Compiled compiled = gf::nvrtc::compile(tables_text(), GetParam(), options);
        EXPECT_FALSE(compiled.image.empty());
        EXPECT_EQ(compiled.log, "");
    } catch (const gf::CompileError& error) {
        FAIL() << error.what() << '\n' << error.log();
    }
}

// function_text.cpp lists every file that a file of functions depends on.
TEST(NvrtcFunctions, compile_with_the_files_that_they_depend_on_alone) {
    if (const std::string reason = gf::nvrtc::unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    int compiled = 0;
    for (const gf::MapOp* row : gf::all_maps()) {
        const std::string kernels = map_kernels(*row);
        const std::string functions = gf::detail::function_text(kernels);
        if (functions.empty()) continue;
        const std::string text = gf::detail::prelude_text() + functions + "namespace gf::device {\n" + kernels + "}\n";
        EXPECT_NO_THROW(gf::nvrtc::compile(text, "compute_90", options)) << row->name;
        ++compiled;
    }
    EXPECT_GE(compiled, 25);
}

INSTANTIATE_TEST_SUITE_P(Architectures, NvrtcTables, testing::Values("sm_75", "sm_80", "sm_90", "sm_100", "sm_120"),
                         [](const auto& architecture) { return std::string(architecture.param); });
