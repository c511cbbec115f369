// Workloads of one fold: max and argmax of one column, the dot product of two columns, and the
// range, by a user's own reduction and by built-in ones.
#include <utility>

#include "harness/case.hpp"
#include "harness/ceiling.hpp"
#include "harness/gridfold.hpp"
#include "harness/workloads.hpp"
#include "own_range.hpp"
#include "sum/contenders.hpp"

namespace bench {

namespace {

gf::Graph extreme(bool argmax) {
    gf::Graph g(argmax ? "argmax" : "max");
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    g.output("result", argmax ? gf::argmax(x) : gf::max(x));
    return g;
}

gf::Graph dot() {
    gf::Graph g("dot");
    const gf::Dim n = g.dim("n");
    g.output("dot", gf::sum(g.input<float>("x", {n}) * g.input<float>("y", {n})));
    return g;
}

Make make_extreme(bool argmax, std::int64_t elements) {
    return [=](Case& made) {
        const Input<float> x(elements, made.copies());
        const double most = x.digits().most();
        const std::vector<Expected> expected{exactly(argmax ? static_cast<double>(x.first(most)) : most)};
        add_gridfold(made, extreme(argmax), x, expected);
        if (made.wants("cub")) made.add(argmax ? cub_argmax(x, made.copies()) : cub_max(x, made.copies()), expected);
        if (made.wants("ceiling")) made.add(read_ceilings([x](int copy) { return x.copy(copy); }, x.bytes()));
    };
}

/// The columns hold the same digits: the product is a sum of squares.
Make make_dot(std::int64_t elements) {
    return [elements](Case& made) {
        if (made.wants("gridfold") || made.wants("cub")) {
            const Input<float> x(elements, made.copies()), y(elements, made.copies());
            const double squares = x.digits().total([](double v) { return v * v; });
            const std::vector<Expected> expected{about(squares)};
            if (made.wants("gridfold"))
                made.add(gridfold_contender("gridfold", dot(), on_gpu(), made.copies(),
                                            [x, y](int copy) {
                                                return gf::Bindings{{"x", x.view(copy)}, {"y", y.view(copy)}};
                                            }),
                         expected);
            if (made.wants("cub"))
                for (Contender& variant : cub_dot(x, y, made.copies())) made.add(std::move(variant), expected);
        }
        if (made.wants("ceiling")) { // the same bytes, as one column
            const Input<float> both(2 * elements, made.copies());
            made.add(read_ceilings([both](int copy) { return both.copy(copy); }, both.bytes()));
        }
    };
}

Make make_range(const gf::Graph& graph, std::int64_t elements) {
    return [graph, elements](Case& made) {
        const Input<float> x(elements, made.copies());
        const Digits digits = x.digits();
        add_gridfold(made, graph, x, {exactly(digits.most() - digits.least())});
        if (made.wants("ceiling")) made.add(read_ceilings([x](int copy) { return x.copy(copy); }, x.bytes()));
    };
}

CaseFacts facts_of(const char* workload, std::int64_t bytes, std::int64_t elements) {
    return {.workload = workload,
            .type = Element<float>::name,
            .bytes = bytes,
            .elements = elements,
            .contenders = {"gridfold", "cub", "ceiling"}};
}

} // namespace

void add_other_folds(Suite& suite) {
    for (const std::int64_t bytes : powers_of_two(10, 32, 2)) {
        const std::int64_t elements = bytes / std::int64_t{sizeof(float)};
        suite.add(graph_case(facts_of("max", bytes, elements), make_extreme(false, elements)));
        suite.add(graph_case(facts_of("argmax", bytes, elements), make_extreme(true, elements)));
        for (const auto& [name, graph] : {std::pair{"range", own_range()}, {"built_in_range", built_in_range()}}) {
            CaseFacts range = facts_of(name, bytes, elements);
            range.contenders = {"gridfold", "ceiling"};
            suite.add(graph_case(range, make_range(graph, elements)));
        }
        CaseFacts facts = facts_of("dot", bytes, elements / 2);
        facts.extra = 1;
        suite.add(graph_case(facts, make_dot(elements / 2)));
    }
}

} // namespace bench
