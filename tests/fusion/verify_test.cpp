// The verifier refuses plans and graphs broken by hand, each by the rule it breaks.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include <gridfold/core/error.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>

#include "plan/verify.hpp"

namespace gf {
namespace {

using namespace plan;

Plan whole() {
    return fuse(
        parse("f(x: f16[n], c: bool[n], a: f32) -> z = (f32(x) - mean(x)) * a, m = argmin(x where c), k = count(c)"));
}

Plan rows() { return fuse(parse("f(x: f16[n], y: f32[n, k]) -> m = mean(y where y > 0.0 over [k]), z = y + 1")); }

void expect_broken(std::string_view rule, const std::function<void(Plan&)>& breaking, Plan (*make)() = whole) {
    Plan plan = make();
    ASSERT_NO_THROW(verify(plan));
    breaking(plan);
    try {
        verify(plan);
        ADD_FAILURE() << "not refused: " << rule;
    } catch (const InternalError& error) {
        EXPECT_NE(std::string(error.what()).find(rule), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("f(x: f16[n]"), std::string::npos) << "no graph text";
    }
}

Instruction& first(Plan& plan, Opcode opcode, std::size_t sweep = 0) {
    for (Instruction& i : plan.sweeps[sweep].code)
        if (i.opcode == opcode) return i;
    throw InternalError("no such instruction");
}

/// A value of the first sweep that varies along its dims.
ValueId of_element(const Plan& plan) { return values_where(plan.sweeps[0], is_per_element).at(0); }

/// The first sweep's yield of a scalar that may be empty.
Yield& yield_of_empty(Plan& plan) {
    for (Yield& yield : plan.sweeps[0].yields)
        if (yield.empty.valid()) return yield;
    throw InternalError("no such yield");
}

TEST(VerifyPlan, refuses_broken_instructions) {
    expect_broken("operands come before their users",
                  [](Plan& p) { first(p, Opcode::map, 1).operands[0] = ValueId(99); });
    expect_broken("operands come before their users",
                  [](Plan& p) { first(p, Opcode::map, 1).operands[0] = ValueId(-2); });
    expect_broken("has its row's operands", [](Plan& p) { first(p, Opcode::map, 1).operands[1] = ValueId(-1); });
    expect_broken("operands fill the first places", [](Plan& p) {
        first(p, Opcode::map, 1).operands = {ValueId(), first(p, Opcode::map, 1).operands[0]};
    });
    expect_broken("has its row's operands", [](Plan& p) { first(p, Opcode::map, 1).map = nullptr; });
    expect_broken("the type it computes in",
                  [](Plan& p) { first(p, Opcode::map, 1).compute = first(p, Opcode::map, 1).type = DType::f64; });
    expect_broken("live as f32", [](Plan& p) { first(p, Opcode::load).type = DType::f16; });
    expect_broken("an array is declared", [](Plan& p) { first(p, Opcode::load).array = ArrayId(99); });
    expect_broken("a load has its array's type", [](Plan& p) { first(p, Opcode::load).array = ArrayId(1); });
    expect_broken("the domain of its opcode", [](Plan& p) { first(p, Opcode::load).domain = {}; });
    expect_broken("the domain of its opcode", [](Plan& p) { first(p, Opcode::read, 1).domain = DimSet::of(0); });
    expect_broken("the domain of its opcode", [](Plan& p) { first(p, Opcode::map, 1).domain = DimSet::of(1); });
    expect_broken("the phase of its opcode", [](Plan& p) { first(p, Opcode::finalize).phase = 0; });
    expect_broken("the phase of its opcode", [](Plan& p) { first(p, Opcode::load).phase = 1; });
    expect_broken("names what its opcode takes", [](Plan& p) { first(p, Opcode::load).scalar = ScalarId(0); });
    expect_broken("names what its opcode takes", [](Plan& p) { first(p, Opcode::load).array = ArrayId(); });
    expect_broken("what is finalised is folded", [](Plan& p) { first(p, Opcode::finalize).fold = FoldId(7); });
    expect_broken("read off a fold of its monoid",
                  [](Plan& p) { first(p, Opcode::finalize).reduce = &reduce_op::sum; });
    expect_broken("an extent is i64", [](Plan& p) { p.parameters.push_back({"extent(n)", DType::i64, DimId(99)}); });
    expect_broken("a parameter is declared",
                  [](Plan& p) { first(p, Opcode::parameter, 1).parameter = ParameterId(1); });
    expect_broken("of a scalar that may be empty", [](Plan& p) {
        Instruction& read = first(p, Opcode::read, 1);
        read.opcode = Opcode::is_empty;
        read.type = DType::boolean;
    });
    expect_broken("ordered by phase", [](Plan& p) { p.sweeps[0].code.push_back(first(p, Opcode::constant)); });
    expect_broken("every value is used", [](Plan& p) { p.sweeps[0].code.push_back(first(p, Opcode::finalize)); });
}

TEST(VerifyPlan, refuses_broken_steps_of_loads) {
    expect_broken("only a load has steps", [](Plan& p) { first(p, Opcode::finalize).steps = {{DimId(0), 1, false}}; });
    expect_broken("along its array's dims", [](Plan& p) { first(p, Opcode::load).steps = {{DimId(1), 1, false}}; });
    expect_broken("along its array's dims", [](Plan& p) { first(p, Opcode::load).steps = {{DimId(0), 0, true}}; });
}

TEST(VerifyPlan, refuses_what_no_backend_runs_in_one_sweep) {
    expect_broken("waits for no fold of its sweep", [](Plan& p) {
        for (Instruction& i : p.sweeps[0].code)
            if (i.map == &map_op::select) {
                i.operands[0] = p.sweeps[0].folds[1].mask;
                i.domain = DimSet::of(0);
            }
    });
    expect_broken("one phase of folds", [](Plan& p) { // a fold of a finalised value
        Sweep& sweep = p.sweeps[0];
        sweep.folds.push_back({.monoid = reduce_op::any.monoid,
                               .element = DType::boolean,
                               .accumulator = DType::boolean,
                               .value = yield_of_empty(p).empty,
                               .phase = 1});
    });
    expect_broken("the phase of what it folds", [](Plan& p) {
        Sweep& sweep = p.sweeps[0];
        sweep.folds.push_back({reduce_op::any.monoid, DType::boolean, DType::boolean, yield_of_empty(p).empty});
    });
    expect_broken("the domain of its opcode", [](Plan& p) { p.sweeps[0].folds[0].kept = DimSet::of(0); });
}

TEST(VerifyPlan, refuses_broken_folds_that_keep_dims) {
    const auto of_result = [](Plan& p) { return values_where(p.sweeps[0], is_per_result).at(0); };
    const auto store = [](Plan& p, ArrayRole role, std::size_t rank) -> Store& {
        for (Store& s : p.sweeps[0].stores)
            if (p.arrays[s.array].role == role && p.arrays[s.array].dims.size() == rank) return s;
        throw InternalError("no such store");
    };
    expect_broken(
        "keep the same dims",
        [](Plan& p) {
            Fold fold = p.sweeps[0].folds[0];
            fold.kept = {};
            p.sweeps[0].folds.push_back(fold);
        },
        rows);
    expect_broken(
        "the domain of its opcode", [&](Plan& p) { p.sweeps[0].code[of_result(p)].domain = DimSet::of(1); }, rows);
    expect_broken(
        "has the dims of its value",
        [&](Plan& p) { store(p, ArrayRole::output, 1).value = store(p, ArrayRole::output, 2).value; }, rows);
    expect_broken(
        "has the dims of its value",
        [&](Plan& p) { store(p, ArrayRole::output, 2).value = store(p, ArrayRole::output, 1).value; }, rows);
}

TEST(VerifyPlan, refuses_broken_folds_stores_and_yields) {
    expect_broken("element type is its value's",
                  [](Plan& p) { p.sweeps[0].folds[0].element = first(p, Opcode::finalize).element = DType::f64; });
    expect_broken("accumulate in f32", [](Plan& p) {
        p.sweeps[0].folds[0].accumulator = first(p, Opcode::finalize).accumulator = DType::f16;
    });
    expect_broken("folds differ", [](Plan& p) { p.sweeps[0].folds.push_back(p.sweeps[0].folds[0]); });
    expect_broken("a mask is bool", [](Plan& p) { p.sweeps[0].folds[0].mask = p.sweeps[0].folds[0].value; });
    expect_broken("what a fold reads is a value", [](Plan& p) { p.sweeps[0].folds[0].value = ValueId(99); });
    expect_broken("a fold takes its monoid's operands",
                  [](Plan& p) { p.sweeps[0].folds[0].others[0] = p.sweeps[0].folds[0].value; });
    expect_broken("a store covers the domain",
                  [](Plan& p) { p.sweeps[1].stores[0].value = values_where(p.sweeps[1], is_once_before).at(0); });
    expect_broken("stored once", [](Plan& p) { p.sweeps[1].stores.push_back(p.sweeps[1].stores[0]); });
    expect_broken("inputs are not stored", [](Plan& p) { p.sweeps[0].stores.push_back({of_element(p), ArrayId(1)}); });
    expect_broken("a store has its array's type", [](Plan& p) { p.arrays[2].type = DType::f64; });
    expect_broken("a scalar is yielded once", [](Plan& p) { p.sweeps[0].yields.push_back(p.sweeps[0].yields[0]); });
    expect_broken("a yield has its scalar's type", [](Plan& p) { p.scalars[0].type = DType::u8; });
    expect_broken("yielded with whether it is", [](Plan& p) { yield_of_empty(p).empty = ValueId(); });
    expect_broken("whether a scalar is empty is bool",
                  [](Plan& p) { yield_of_empty(p).empty = yield_of_empty(p).value; });
    expect_broken("varies along no dim", [](Plan& p) { yield_of_empty(p).empty = of_element(p); });
    expect_broken("varies along no dim", [](Plan& p) { p.sweeps[0].yields[0].value = of_element(p); });
}

TEST(VerifyPlan, refuses_broken_order_and_results) {
    expect_broken("`after` lists", [](Plan& p) { p.sweeps[1].after.clear(); });
    expect_broken("`after` lists", [](Plan& p) { p.sweeps[1].after = {SweepId(0), SweepId(1)}; });
    expect_broken("yielded by an earlier sweep", [](Plan& p) { std::swap(p.sweeps[0], p.sweeps[1]); });
    expect_broken("every scalar is yielded", [](Plan& p) { p.scalars.push_back({DType::f32, false}); });
    expect_broken("every array but an input is stored", [](Plan& p) {
        p.arrays.push_back({"t", DType::f32, {DimId(0)}, ArrayRole::temporary});
    });
    expect_broken("a temporary is row-major", [](Plan& p) {
        p.dims.push_back({"m", {}, {}});
        p.arrays.push_back({"t", DType::f32, {DimId(1), DimId(0)}, ArrayRole::temporary});
    });
    expect_broken("a store's array has the dims of its value", [](Plan& p) {
        p.dims.push_back({"m", {}, {}});
        p.arrays[p.sweeps[1].stores[0].array].dims = {DimId(1), DimId(0)};
    });
    expect_broken("a scalar or an array", [](Plan& p) { p.outputs[0].scalar = ScalarId(0); });
    expect_broken("a result is an output", [](Plan& p) { p.outputs[0].array = ArrayId(0); });
    expect_broken("which elements are there is bool", [](Plan& p) { p.outputs[0].validity = p.outputs[0].array; });
    expect_broken("results have names", [](Plan& p) { p.outputs[1].name = p.outputs[0].name; });
    expect_broken("a dim is listed once", [](Plan& p) { p.sweeps[0].dims = {DimId(0), DimId(0)}; });
    expect_broken("dims are of the domain", [](Plan& p) { p.sweeps[0].dims.clear(); });
}

TEST(VerifyGraph, refuses_results_whose_dims_are_not_their_values) {
    for (const std::vector<DimId>& order : std::vector<std::vector<DimId>>{
             {DimId(0)}, {DimId(1), DimId(1)}, {DimId(1), DimId(0), DimId(1)}, {DimId(1), DimId(7)}}) {
        Graph graph = parse("f(x: f32[n, m]) -> y[m, n] = x");
        ASSERT_NO_THROW(verify(graph));
        graph.append_output("z", NodeId(0), order);
        EXPECT_THROW(verify(graph), InternalError);
    }
}

void expect_broken_graph(std::string_view rule, Node node, const std::vector<int>& numbers) {
    Graph graph = parse("f(x: f32[n], y: f64[m], c: bool[m]) -> s = sum(x)");
    ASSERT_NO_THROW(verify(graph));
    std::vector<NodeId> operands;
    for (const int number : numbers) operands.emplace_back(number);
    graph.append(std::move(node), operands);
    try {
        verify(graph);
        ADD_FAILURE() << "not refused: " << rule;
    } catch (const InternalError& error) {
        EXPECT_NE(std::string(error.what()).find(rule), std::string::npos) << error.what();
    }
}

Node node_of(NodeKind kind, DType type, std::vector<DimId> dims) {
    Node node{};
    node.kind = kind;
    node.type = type;
    node.dims = std::move(dims);
    return node;
}

TEST(VerifyGraph, refuses_broken_nodes) {
    const DimId n(0), m(1);
    Node add = node_of(NodeKind::map, DType::f32, {n});
    add.map = &map_op::add;
    expect_broken_graph("a map has its row's operands", add, {0});
    expect_broken_graph("the dims of its operands", add, {0, 1});
    add.dims = {n, m};
    expect_broken_graph("the type it computes in", add, {0, 1});
    add.dims = {};
    expect_broken_graph("the dims of its operands", add, {0, 0});
    add.dims = {n};
    add.type = DType::f64;
    expect_broken_graph("the type of its row's rule", add, {0, 0});
    expect_broken_graph("an index is i64", node_of(NodeKind::index, DType::i64, {n}), {});
    expect_broken_graph("an extent is i64", node_of(NodeKind::extent, DType::i64, {}), {});
    expect_broken_graph("its kind's operands", node_of(NodeKind::cast, DType::f64, {n}), {0, 0});
    expect_broken_graph("without dims is a scalar", node_of(NodeKind::input, DType::f64, {}), {});
    Node moved = node_of(NodeKind::shift, DType::f32, {n});
    moved.dim = n, moved.offset = 1;
    expect_broken_graph("a shift has its value's type",
                        [&] {
                            Node other = moved;
                            other.type = DType::f64;
                            return other;
                        }(),
                        {0});
    moved.offset = 0;
    expect_broken_graph("a shift moves by some elements", moved, {0});
    moved.offset = 1, moved.dim = DimId(1);
    expect_broken_graph("a shift is along a dim of its value", moved, {0});
    Node sum = node_of(NodeKind::reduce, DType::f32, {});
    sum.reduce = &reduce_op::sum;
    expect_broken_graph("a masked one a mask", sum, {0, 2});
    sum.masked = true;
    expect_broken_graph("a mask is bool", sum, {0, 0});
    expect_broken_graph("the dims of a mask", sum, {0, 2});
    sum.masked = false;
    sum.argument = 1;
    expect_broken_graph("an argument", sum, {0});
}

} // namespace
} // namespace gf
