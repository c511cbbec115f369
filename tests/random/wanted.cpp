// The names of everything that random graphs must reach: rows(), everything(). See coverage.hpp.
#include "coverage.hpp"

#include <array>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <gridfold/core/device_text.hpp>
#include <gridfold/core/error.hpp>
#include <gridfold/core/view.hpp>
#include <gridfold/ops/type_rule.hpp>

#include "generate.hpp"

namespace gf::oracle {

namespace {

/// The compute type of a map whose operands all have `type`; nothing if the rule refuses it.
std::optional<DType> compute_type(const MapOp& row, DType type) {
    std::vector<OperandType> operands(static_cast<std::size_t>(row.arity), OperandType(type));
    if (row.rule == TypeRule::select) operands[0] = OperandType(DType::boolean);
    try {
        return map_typing(row, operands).compute;
    } catch (const InvalidGraph&) {
        return {};
    }
}

bool takes_accumulator(const ReduceOp& row, DType element, DType accumulator) {
    const std::vector<DType> operands(static_cast<std::size_t>(row.monoid->operands), element);
    try {
        return reduce_typing(row, operands, accumulator).accumulator != reduce_typing(row, operands, {}).accumulator;
    } catch (const InvalidGraph&) {
        return false;
    }
}

/// The rules of simplify: row, constant and kind of number.
constexpr std::array simplified{
    "add with 0 as integer",
    "add with -0 as floating",
    "add with 0 as floating",
    "sub with 0 as integer",
    "sub with 0 as floating",
    "mul with 1 as integer",
    "mul with 1 as floating",
    "mul with 0 as integer",
    "mul with all ones as integer",
    "divide with 1 as floating",
    "floor_div with 1 as integer",
    "bitwise_and with all ones as integer",
    "bitwise_and with 0 as integer",
    "bitwise_or with 0 as integer",
    "bitwise_or with all ones as integer",
    "bitwise_xor with 0 as integer",
    "shift_left with 0 as integer",
    "shift_right with 0 as integer",
    "logical_and with all ones as integer",
    "logical_and with 0 as integer",
    "logical_or with 0 as integer",
    "logical_or with all ones as integer",
    "logical_xor with 0 as integer",
};

void want_combinations(std::vector<std::string>& wanted) {
    for (const MapOp* row : all_maps()) {
        if (row->builtin < 0) continue;
        std::set<std::string> types;
        for (const DType type : all_dtypes())
            if (const auto compute = compute_type(*row, type))
                types.insert(fmt::format("map {} in {}", row->name, to_text(*compute)));
        wanted.insert(wanted.end(), types.begin(), types.end());
        if (row->facts.idempotent)
            wanted.push_back(fmt::format("{} {}", row->name, row->arity == 1 ? "twice" : "of equals"));
    }
    for (const ReduceOp* row : all_reductions()) {
        if (row->builtin < 0) continue;
        for (const DType type : all_dtypes()) {
            if (row->monoid->rule == OperandRule::floating && !is_floating(type)) continue; // it is converted
            const std::string reduce = fmt::format("reduce {} of {}", row->name, to_text(type));
            wanted.push_back(reduce);
            wanted.push_back(reduce + " masked");
            for (const DType accumulator : all_dtypes())
                if (takes_accumulator(*row, type, accumulator))
                    wanted.push_back(fmt::format("{} in {}", reduce, to_text(accumulator)));
        }
        for (int argument = 0; row->argument != ReduceArgument::none && argument < 3; ++argument)
            wanted.push_back(fmt::format("{} {} of {}", to_text(row->argument), argument, row->name));
        for (const char* how : {"of all", "masked"})
            wanted.push_back(fmt::format("fold {} {}", row->monoid->name, how));
    }
    for (const DType from : all_dtypes())
        for (const DType to : all_dtypes())
            if (from != to) wanted.push_back(fmt::format("cast {} to {}", to_text(from), to_text(to)));
    for (const DType type : all_dtypes()) wanted.push_back(fmt::format("constant {}", to_text(type)));
    for (const char* special : {"nan", "inf", "-inf", "0", "-0", "1", "all ones", "lowest", "highest"})
        wanted.push_back(fmt::format("constant {}", special));
}

void want_branches(std::vector<std::string>& wanted) {
    for (const std::string_view rule : simplified) {
        const MapOp& row = *find_map(rule.substr(0, rule.find(' ')));
        for (const int slot : {0, 1})
            if (slot == 1 || row.facts.commutative) wanted.push_back(fmt::format("{} {}", rule, slot));
    }
    for (const char* what : {"neg twice",
                             "logical_not twice",
                             "bitwise_not twice",
                             "select of equals",
                             "select with all ones as integer 0",
                             "select with 0 as integer 0",
                             "select with 0 as floating 0",
                             "select with all ones as floating 0",
                             "cast of a cast",
                             "mask true",
                             "mask false",
                             "mask a scalar",
                             "mask of fewer dims",
                             "reduce a scalar",
                             "input permuted",
                             "input broadcast",
                             "input empty",
                             "dim fixed",
                             "one value as two outputs",
                             "output in an order of its own",
                             "shift with a number",
                             "shift that clamps",
                             "shift that wraps",
                             "shift of a shift",
                             "shift of a map",
                             "prologue constant",
                             "prologue parameter",
                             "prologue read",
                             "prologue map",
                             "prologue cast",
                             "prologue round",
                             "body load in order",
                             "body load by strides",
                             "body index of one",
                             "body index of several",
                             "body map",
                             "body cast",
                             "body round",
                             "epilogue map",
                             "epilogue cast",
                             "epilogue round",
                             "epilogue finalize a value",
                             "epilogue finalize what may be nothing",
                             "epilogue finalize integer maybe empty",
                             "prologue read integer maybe empty",
                             "prologue read floating maybe empty",
                             "fold of a prologue value",
                             "fold masked by a prologue value",
                             "steps alone",
                             "steps beside others",
                             "schedule width 4",
                             "schedule width 8",
                             "schedule width 16",
                             "schedule in flight 1",
                             "schedule in flight 2 to 3",
                             "schedule in flight 4 to 11",
                             "schedule in flight 12 to 16",
                             "words above 0",
                             "words above 1",
                             "words above 6",
                             "words above 8",
                             "words above 16",
                             "words above 24",
                             "words odd",
                             "sweep that stores",
                             "sweep that yields without folding",
                             "sweep that stores and folds",
                             "sweep of several stores",
                             "sweep of no dims",
                             "sweep without arrays in order",
                             "sweep of 0 arrays",
                             "sweep of 4 arrays",
                             "sweep of many arrays",
                             "sweep because of another domain",
                             "sweep because of fit a GPU's registers",
                             "sweep because of most 64 arrays",
                             "sweep because of →",
                             "yield maybe empty",
                             "yield a value",
                             "plan of 1 sweep",
                             "plan of many sweeps"})
        wanted.emplace_back(what);
    for (const char* section : {"prologue", "epilogue"}) {
        for (const char* what : {"map integer", "map floating", "cast integer", "cast floating", "round floating"})
            wanted.push_back(fmt::format("{} {} maybe empty", section, what));
        for (const int slot : {0, 1, 2}) wanted.push_back(fmt::format("{} select of maybe empty {}", section, slot));
    }
    for (int rank = 1; rank <= max_rank; ++rank) wanted.push_back(fmt::format("rank {}", rank));
    for (int stage = 0; stage <= 6; ++stage) wanted.push_back(fmt::format("stages {}", stage));
    for (int outputs = 1; outputs <= 20; ++outputs) wanted.push_back(fmt::format("outputs {}", outputs));
}

} // namespace

std::vector<std::string> rows(const GenerateOptions& options) {
    std::vector<std::string> wanted{"other constant", "other index", "other mask", "rank 1", "rank 2", "rank 3"};
    for (const MapOp* row : all_maps())
        if (row->builtin >= 0 && (options.functions || !detail::calls_functions(row->expression)))
            wanted.push_back(fmt::format("map {}", row->name));
    for (const ReduceOp* row : all_reductions())
        if (row->builtin >= 0 && (options.functions || row != &reduce_op::logsumexp))
            wanted.push_back(fmt::format("reduce {}", row->name));
    for (const DType type : all_dtypes())
        for (const char* role : {"input", "scalar", "compute", "cast to", "store", "yield"})
            wanted.push_back(fmt::format("{} {}", role, to_text(type)));
    return wanted;
}

std::vector<std::string> everything() {
    std::vector<std::string> wanted = rows({});
    want_combinations(wanted);
    want_branches(wanted);
    return wanted;
}

} // namespace gf::oracle
