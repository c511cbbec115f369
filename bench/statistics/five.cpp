// Workload five: the gain from fusing several statistics of one column, and the cost of five compared with one.
#include "statistics/five.hpp"

#include <cmath>

#include "harness/case.hpp"
#include "harness/ceiling.hpp"
#include "harness/gridfold.hpp"
#include "harness/workloads.hpp"

namespace bench {

gf::Graph five_statistics() {
    gf::Graph g("five");
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    g.output("sum", gf::sum(x));
    g.output("sum_of_squares", gf::sum_of_squares(x));
    g.output("min", gf::min(x));
    g.output("max", gf::max(x));
    g.output("positive", gf::count(x > 0));
    return g;
}

std::vector<Expected> expected_five(const Digits& digits) {
    return {about(digits.total([](double d) { return d; }), digits.total([](double d) { return std::abs(d); })),
            about(digits.total([](double d) { return d * d; })), exactly(digits.least()), exactly(digits.most()),
            exactly(digits.total([](double d) { return d > 0; }))};
}

namespace {

gf::Graph sum_of() {
    gf::Graph g("sum");
    g.output("sum", gf::sum(g.input<float>("x", {g.dim("n")})));
    return g;
}

Make make_five(std::int64_t elements) {
    return [elements](Case& made) {
        const Input<float> x(elements, made.copies());
        const std::vector<Expected> expected = expected_five(x.digits());
        add_gridfold(made, five_statistics(), x, expected);
        if (made.wants("gridfold_sum"))
            made.add(gridfold_contender("gridfold_sum", sum_of(), on_gpu(), made.copies(),
                                        [x](int copy) {
                                            return gf::Bindings{{"x", x.view(copy)}};
                                        }),
                     {expected.front()});
        if (made.wants("cub")) made.add(five_cub(x, made.copies()), expected);
        if (made.wants("cub_struct"))
            for (Contender& variant : five_cub_struct(x, made.copies())) made.add(std::move(variant), expected);
        if (made.wants("ceiling")) made.add(read_ceilings([x](int copy) { return x.copy(copy); }, x.bytes()));
    };
}

CaseFacts facts_of(std::int64_t bytes, std::vector<std::string> contenders) {
    return {.workload = "five",
            .type = Element<float>::name,
            .bytes = bytes,
            .elements = bytes / std::int64_t{sizeof(float)},
            .contenders = std::move(contenders),
            .extra = 0.5}; // unfused, x > 0 is stored, for the Prepared and for the captured graph
}

} // namespace

void add_five(Suite& suite) {
    for (const std::int64_t bytes : powers_of_two(8, 34)) {
        const CaseFacts facts =
            facts_of(bytes, {"gridfold", "gridfold_unfused", "gridfold_sum", "cub", "cub_struct", "ceiling"});
        suite.add(graph_case(facts, make_five(facts.elements)));
    }
    for (const std::int64_t elements : powers_of_two(16, 28, 4))
        suite.add(call_case(facts_of(elements * std::int64_t{sizeof(float)}, {"gridfold", "cub", "cub_struct"}),
                            make_five(elements)));
}

} // namespace bench
