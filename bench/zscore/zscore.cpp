// Workload zscore: a reduction, and a map of the same column that needs its result. It takes two sweeps.
#include "zscore/zscore.hpp"

#include <cmath>

#include "harness/case.hpp"
#include "harness/ceiling.hpp"
#include "harness/gridfold.hpp"
#include "harness/workloads.hpp"

namespace bench {

namespace {

gf::Graph zscore() {
    gf::Graph g("zscore");
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    g.output("y", (x - gf::mean(x)) / gf::stddev(x));
    return g;
}

Make make_zscore(std::int64_t elements) {
    return [elements](Case& made) {
        const Input<float> x(elements, made.copies()), y(elements, made.copies());
        const Digits digits = x.digits();
        const auto add = [&](Contender contender) {
            contender.results = [x, y, mean = digits.mean(), stddev = std::sqrt(digits.variance())](int copy) {
                return std::vector{count_wrong_and_spoil(x, y, copy, mean, stddev)};
            };
            made.add(std::move(contender), {exactly(0)});
        };
        if (made.wants("gridfold"))
            add(gridfold_contender(
                "gridfold", zscore(), on_gpu(), made.copies(),
                [x](int copy) {
                    return gf::Bindings{{"x", x.view(copy)}};
                },
                [y](int copy) {
                    return gf::Bindings{{"y", y.view(copy)}};
                }));
        if (made.wants("cub_and_kernel")) add(zscore_cub_and_kernel(x, y, made.copies()));
        const Address from = [x](int copy) { return x.copy(copy); };
        if (made.wants("ceiling")) made.add(read_ceilings(from, x.bytes()));
        if (made.wants("copy_ceiling"))
            made.add(copy_ceilings(
                from, [y](int copy) { return y.copy(copy); }, x.bytes()));
    };
}

CaseFacts facts_of(std::int64_t bytes, std::vector<std::string> contenders) {
    return {.workload = "zscore",
            .type = Element<float>::name,
            .bytes = bytes,
            .elements = bytes / std::int64_t{sizeof(float)},
            .contenders = std::move(contenders),
            .writes = 1,
            .extra = 1};
}

} // namespace

void add_zscore(Suite& suite) {
    for (const std::int64_t bytes : powers_of_two(16, 34)) {
        const CaseFacts facts = facts_of(bytes, {"gridfold", "cub_and_kernel", "copy_ceiling", "ceiling"});
        suite.add(graph_case(facts, make_zscore(facts.elements)));
    }
    for (const std::int64_t elements : powers_of_two(16, 28, 4))
        suite.add(call_case(facts_of(elements * std::int64_t{sizeof(float)}, {"gridfold", "cub_and_kernel"}),
                            make_zscore(elements)));
}

} // namespace bench
