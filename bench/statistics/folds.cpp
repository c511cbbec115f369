// Many folds of one column in one sweep: the dozen of the CPU benchmark, and 1 … 64 of one kind.
#include <cmath>

#include "dozen.hpp"
#include "harness/case.hpp"
#include "harness/ceiling.hpp"
#include "harness/gridfold.hpp"
#include "harness/workloads.hpp"

namespace bench {

namespace {

/// The expected results in the order of dozen(). The product is 0, or overflows before it reaches a 0.
std::vector<Expected> expected_dozen(const Input<float>& x, bool indices) {
    const Digits digits = x.digits();
    const double sum = digits.total([](double d) { return d; }), squares = digits.total([](double d) { return d * d; });
    std::vector<Expected> expected{about(sum, digits.total([](double d) { return std::abs(d); })),
                                   about(squares),
                                   about(std::sqrt(squares)),
                                   about(digits.mean()),
                                   about(digits.variance()),
                                   about(std::sqrt(digits.variance())),
                                   exactly(digits.least()),
                                   exactly(digits.most()),
                                   exactly(digits.total([](double d) { return d > 0; }))};
    if (indices) {
        expected.push_back(exactly(static_cast<double>(x.first(digits.least()))));
        expected.push_back(exactly(static_cast<double>(x.first(digits.most()))));
    } else {
        expected.push_back(exactly(digits.total([](double d) { return d != 0; }) > 0));
        expected.push_back(exactly(digits.total([](double d) { return d == 0; }) == 0));
    }
    expected.push_back(anything);
    return expected;
}

Make make_dozen(std::int64_t elements, bool indices) {
    return [=](Case& made) {
        const Input<float> x(elements, made.copies());
        add_gridfold(made, dozen(indices), x, expected_dozen(x, indices));
        if (made.wants("ceiling")) made.add(read_ceilings([x](int copy) { return x.copy(copy); }, x.bytes()));
    };
}

/// The constant of fold j: exact, and so are a digit's product and sum with it.
double constant_of(int j) { return 1 + j / 4.0; }

/// Fold j is the sum of x * c if j is even, else the maximum of x + c: no two folds share an expression.
gf::Graph folds(int count) {
    gf::Graph g("folds");
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    for (int j = 0; j < count; ++j)
        g.output("fold_" + std::to_string(j), j % 2 == 0 ? gf::sum(x * constant_of(j)) : gf::max(x + constant_of(j)));
    return g;
}

Make make_folds(std::int64_t elements, int count) {
    return [=](Case& made) {
        const Input<float> x(elements, made.copies());
        const Digits digits = x.digits();
        std::vector<Expected> expected;
        for (int j = 0; j < count; ++j) {
            const double c = constant_of(j);
            expected.push_back(j % 2 == 0 ? about(digits.total([c](double d) { return d * c; }),
                                                  digits.total([c](double d) { return std::abs(d * c); }))
                                          : exactly(digits.most() + c));
        }
        add_gridfold(made, folds(count), x, expected);
        if (made.wants("ceiling")) made.add(read_ceilings([x](int copy) { return x.copy(copy); }, x.bytes()));
    };
}

CaseFacts facts_of(const std::string& workload, int exponent, std::vector<std::string> contenders) {
    const std::int64_t bytes = std::int64_t{1} << exponent;
    return {.workload = workload,
            .type = Element<float>::name,
            .bytes = bytes,
            .elements = bytes / std::int64_t{sizeof(float)},
            .contenders = std::move(contenders)};
}

} // namespace

void add_folds(Suite& suite) {
    for (const bool indices : {false, true})
        for (const int exponent : {16, 20, 24, 28, 30, 32, 34}) {
            const CaseFacts facts = facts_of(indices ? "dozen_arg" : "dozen", exponent, {"gridfold", "ceiling"});
            suite.add(graph_case(facts, make_dozen(facts.elements, indices)));
        }
    for (const int count : {1, 2, 4, 8, 16, 32, 64})
        for (const int exponent : {16, 20, 24, 28, 30}) {
            std::vector<std::string> contenders{"gridfold", "ceiling"};
            if (count <= 8) contenders.push_back("gridfold_unfused");
            CaseFacts facts = facts_of("folds_" + std::to_string(count), exponent, contenders);
            if (count <= 8) facts.extra = 2 * count; // an operand a fold, for the Prepared and for the captured graph
            suite.add(graph_case(facts, make_folds(facts.elements, count)));
        }
}

} // namespace bench
