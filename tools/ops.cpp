// Rows of the tables in words. The result of a reduction over nothing is determined by running it.
#include "ops.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>
#include <gridfold/fusion/executable.hpp>
#include <gridfold/ops/nearest.hpp>
#include <gridfold/ops/op.hpp>
#include <gridfold/ops/text.hpp>
#include <gridfold/ops/type_rule.hpp>

#include "print.hpp"

namespace gf::tool {
namespace {

/// A type rule in words.
struct RuleWords {
    TypeRule rule;
    std::string_view operands, computed, gives;
};
constexpr RuleWords rules[] = {
    {TypeRule::same, "any type", "the promoted type of the operands", "that type"},
    {TypeRule::number, "any type but bool", "the promoted type of the operands", "that type"},
    {TypeRule::quotient, "any type", "the promoted type of the operands; f64 for integers and bool", "that type"},
    {TypeRule::floating, "any type",
     "the promoted type of the operands; f16 for bool and 8-bit integers, f32 for 16-bit ones, f64 for wider ones",
     "that type"},
    {TypeRule::integer, "integers and bool", "the promoted type of the operands", "that type"},
    {TypeRule::shift, "integers", "the promoted type of the operands", "that type"},
    {TypeRule::compare, "any type", "the promoted type of the operands", "bool"},
    {TypeRule::logical, "any type", "bool: whether an operand is not 0", "bool"},
    {TypeRule::test, "any type", "the type of the operand", "bool"},
    {TypeRule::select, "bool, then two of any type", "the promoted type of the last two", "that type"},
};

const RuleWords& words_of(TypeRule rule) { return *std::ranges::find(rules, rule, &RuleWords::rule); }

constexpr std::string_view f32_or_f64 =
    "f32 for f16, bf16 and f32, f64 for other types; f64 for all with `accumulate = f64`";

std::string_view words_of(AccumulatorRule rule) {
    switch (rule) {
    case AccumulatorRule::sum:
        return "i64 or u64 for integers and bool, f32 for f16, bf16 and f32, f64 for f64; f64 for all with "
               "`accumulate = f64`";
    case AccumulatorRule::element: return "the element's type";
    case AccumulatorRule::floating: return f32_or_f64;
    case AccumulatorRule::f64: return "f64";
    case AccumulatorRule::boolean: return "bool: whether an element is not 0";
    }
    return "";
}

std::string_view words_of(ResultRule rule) {
    switch (rule) {
    case ResultRule::accumulator: return "the accumulator's type";
    case ResultRule::element: return "the element's type";
    case ResultRule::floating: return f32_or_f64;
    case ResultRule::index: return "i64";
    case ResultRule::boolean: return "bool";
    case ResultRule::payload: return "the last operand's type";
    }
    return "";
}

std::string_view words_of(OperandRule rule) {
    switch (rule) {
    case OperandRule::own: return "any type";
    case OperandRule::promoted: return "any types, promoted as in NumPy 2";
    case OperandRule::floating: return "any types, promoted; f64 for bool and integers";
    case OperandRule::payload: return "any types";
    }
    return "";
}

/// "sum(a)", "covariance(a, b, ddof = 0)"
std::string as_call(const ReduceOp& row) {
    constexpr std::string_view operands[] = {"a", "a, b", "a, b, c"};
    return fmt::format("{}({}{})", row.name, operands[row.monoid->operands - 1],
                       row.argument == ReduceArgument::none ? "" : fmt::format(", {} = 0", to_text(row.argument)));
}

struct Operator {
    std::string_view symbol;
    const MapOp* map;
};
constexpr Operator operators[] = {
#define GRIDFOLD_BINARY_OPERATOR(symbol, name, precedence) {#symbol, &map_op::name},
#define GRIDFOLD_UNARY_OPERATOR(symbol, name) {#symbol, &map_op::name},
#include <gridfold/ops/operator.def>
#undef GRIDFOLD_UNARY_OPERATOR
#undef GRIDFOLD_BINARY_OPERATOR
};

/// "a + b", "-a"; "" for a map without an operator.
std::string as_operator(const MapOp& map) {
    const auto* const found = std::ranges::find(operators, &map, &Operator::map);
    if (found == std::end(operators)) return "";
    return map.arity == 1 ? fmt::format("{}a", found->symbol) : fmt::format("a {} b", found->symbol);
}

/// "clamp(a, b, c)"
std::string as_call(const MapOp& map) {
    constexpr std::string_view operands[] = {"a", "a, b", "a, b, c"};
    return fmt::format("{}({})", map.name, operands[map.arity - 1]);
}

/// The result of the reduction if its mask accepts nothing.
std::string of_nothing(const ReduceOp& row) {
    const auto given = [&](std::string_view type) {
        constexpr std::string_view operands[] = {"x", "x, x", "x, x, x"};
        const Graph graph = parse(
            fmt::format("f(x: {}[n]) -> y = {}({} where x > x)", type, row.name, operands[row.monoid->operands - 1]));
        const std::int32_t element = 0; // 0 in f32, too
        const View one(const_cast<std::int32_t*>(&element), *dtype_from_text(type), {1}, Memory::host, false);
        return scalar_text(compile(graph, {.device = "cpu"}).run({{"x", one}}).entries().front());
    };
    const std::string of_integers = given("i32"), of_floats = given("f32");
    return of_integers == of_floats ? of_integers : fmt::format("{} of floats, {} of integers", of_floats, of_integers);
}

/// The rule for an extent of 0.
std::string_view of_no_extent(const ReduceOp& row) {
    return row.needs_elements ? "refused if there is a result" : "the same";
}

constexpr std::string_view other_functions[][3] = {
    {"f32", "f32(a), i64(a), …", "a converted to that type; floats saturate on the way to integers, and NaN gives 0"},
    {"index", "index(n)", "the index along the dim n, as i64"},
    {"extent", "extent(n)", "the extent of the dim n, as i64; where no value has the name, n alone means the same"},
    {"dot", "dot(a, b)", "sum(a * b), with the same attributes"},
    {"top_k", "top_k(a, rank)",
     "the largest elements in descending order, along a dim of fixed extent, at most 16; attributes as largest"},
    {"shift", "shift(x, n, -1, edge = 0)",
     "element i - 1 along n, for any offset; outside of n a number, clamp (the nearest element) or wrap (from the "
     "other end)"},
};

constexpr std::string_view same_bits = "The CPU and every GPU give the same bits.";

std::string describe(const MapOp& map) {
    const RuleWords& rule = words_of(map.rule);
    const std::string symbol = as_operator(map);
    return fmt::format("{}{}, a map: {}\n"
                       "  operands     {}\n"
                       "  computed in  {}\n"
                       "  gives        {}\n",
                       as_call(map), symbol.empty() ? "" : fmt::format(" or {}", symbol), map.doc, rule.operands,
                       rule.computed, rule.gives);
}

std::string describe(const ReduceOp& row) {
    return fmt::format("{}, a reduction: {}\n"
                       "  operands         {}; where = mask (bool){}{}\n"
                       "  accumulates in   {}\n"
                       "  gives            {}\n"
                       "  all masked out   {}\n"
                       "  an extent of 0   {}\n",
                       as_call(row), row.doc, words_of(row.monoid->rule),
                       row.argument == ReduceArgument::none ? "" : fmt::format("; {} = integer", to_text(row.argument)),
                       row.on_empty == OnEmpty::undefined ? "; otherwise = number, instead of the last two lines" : "",
                       words_of(row.accumulator), words_of(row.result), of_nothing(row), of_no_extent(row));
}

/// Cells as a line of a Markdown table.
std::string table_line(std::initializer_list<std::string> cells) {
    std::string line = "|";
    for (const std::string& cell : cells) {
        line += ' ';
        for (const char c : cell) line += c == '|' ? std::string("\\|") : std::string(1, c);
        line += " |";
    }
    return line + '\n';
}

std::string code(std::string_view text) { return text.empty() ? "" : fmt::format("`{}`", text); }

} // namespace

std::string list_ops() {
    std::string text = "Maps: what is computed for each element\n";
    for (const MapOp* const map : all_maps()) {
        const std::string symbol = as_operator(*map);
        text += fmt::format("  {:<20} {:<7} {:<9} {}\n", as_call(*map), symbol, to_text(map->rule), map->doc);
    }
    for (const auto& [function, call, doc] : other_functions) text += fmt::format("  {:<38} {}\n", call, doc);
    text += "\nReductions: what is folded over all elements, over those where a mask holds: sum(x where x > 0),\n"
            "or over some dims: sum(x over [k])\n";
    for (const ReduceOp* const row : all_reductions())
        text += fmt::format("  {:<38} {}; all masked out: {}; an extent of 0: {}\n", fmt::format("{}(a)", row->name),
                            row->doc, of_nothing(*row), of_no_extent(*row));
    text += "\nThe types that a map takes, computes in and gives:\n";
    for (const RuleWords& rule : rules)
        text += fmt::format("  {:<10} {} -> {} -> {}\n", to_text(rule.rule), rule.operands, rule.computed, rule.gives);
    return text + fmt::format("\n{}\nAll about one: gridfold ops NAME\n", same_bits);
}

std::string describe_ops(const std::string& name) {
    std::string text;
    std::vector<std::string_view> names;
    for (const auto& [function, call, doc] : other_functions) {
        names.push_back(function);
        const bool is_cast = function == "f32" && dtype_from_text(name);
        if (is_cast || function == name) text += fmt::format("{}: {}\n", call, doc);
    }
    const auto add = [&](const auto& row, bool matches) {
        names.push_back(row.name);
        if (!matches) return;
        if (!text.empty()) text += '\n';
        text += describe(row);
    };
    for (const MapOp* const map : all_maps())
        add(*map, map->name == name || std::ranges::any_of(operators, [&](const Operator& o) {
                      return o.map == map && o.symbol == name;
                  }));
    for (const ReduceOp* const row : all_reductions()) add(*row, row->name == name);
    if (const std::string_view own = detail::own_name(name); text.empty() && !own.empty())
        throw InvalidOption(fmt::format("'{}' is not a map or a reduction", name), "",
                            fmt::format("here it is '{}'", own));
    if (text.empty()) {
        const std::string near = detail::suggestion(name, names);
        throw InvalidOption(fmt::format("'{}' is not a map or a reduction", name), "",
                            near.empty() ? "gridfold ops lists all" : near);
    }
    return text;
}

std::string ops_page() {
    std::string text =
        "<!-- Made by `gridfold ops --markdown` from map.def, reduce.def and operator.def: change those, and make "
        "it again. -->\n"
        "# Maps and reductions\n\n"
        "`gridfold ops` prints this list, and `gridfold ops NAME` all about one operation.\n\n"
        "## Maps\n\n"
        "A map computes a value for each element. ";
    text += fmt::format("{} [functions.md](functions.md) bounds the errors of elementary functions.\n\n", same_bits);
    text += "| map | operator | types | gives |\n| --- | --- | --- | --- |\n";
    for (const MapOp* const map : all_maps())
        text += table_line(
            {code(as_call(*map)), code(as_operator(*map)), std::string(to_text(map->rule)), std::string(map->doc)});
    text += "\nThe types, by name:\n\n"
            "| types | operands | computed in | result |\n| --- | --- | --- | --- |\n";
    for (const RuleWords& rule : rules)
        text += table_line({std::string(to_text(rule.rule)), std::string(rule.operands), std::string(rule.computed),
                            std::string(rule.gives)});
    text += "\nTypes are promoted as in NumPy 2. Functions that are not rows of the table:\n\n| function | gives |\n| "
            "--- | --- |\n";
    for (const auto& [function, call, doc] : other_functions) text += table_line({code(call), std::string(doc)});
    text += "\n## Reductions\n\n"
            "A reduction folds all elements of its operand, or those where a mask holds: `sum(x where x > 0)`. Where "
            "nothing is left to fold, it gives what \"all masked out\" says, or the number of `otherwise`: "
            "`max(x where x > 0, otherwise = 0)`.\n\n"
            "| reduction | accumulates in | result | all masked out | extent of 0 | gives |\n"
            "| --- | --- | --- | --- | --- | --- |\n";
    for (const ReduceOp* const row : all_reductions())
        text += table_line({code(as_call(*row)), std::string(words_of(row->accumulator)),
                            std::string(words_of(row->result)), of_nothing(*row), std::string(of_no_extent(*row)),
                            std::string(row->doc)});
    return text;
}

} // namespace gf::tool
