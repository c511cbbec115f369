// Workload sixteen: statistics of several columns of different types, one of them masked by another column.
#include "statistics/sixteen.hpp"

#include <cmath>

#include "harness/case.hpp"
#include "harness/ceiling.hpp"
#include "harness/gridfold.hpp"
#include "harness/workloads.hpp"

namespace bench {

namespace {

gf::Graph sixteen() {
    gf::Graph g("sixteen");
    const gf::Dim n = g.dim("n");
    const gf::Value a = g.input<float>("a", {n}), b = g.input<float>("b", {n}), c = g.input<std::int32_t>("c", {n}),
                    d = g.input<std::uint8_t>("d", {n});
    g.output("a_sum", gf::sum(a));
    g.output("a_mean", gf::mean(a));
    g.output("a_variance", gf::variance(a));
    g.output("a_min", gf::min(a));
    g.output("a_max", gf::max(a));
    g.output("b_sum", gf::sum(b));
    g.output("b_min", gf::min(b));
    g.output("b_max", gf::max(b));
    g.output("b_positive", gf::count(b > 0));
    g.output("c_sum", gf::sum(c));
    g.output("c_min", gf::min(c));
    g.output("c_max", gf::max(c));
    g.output("c_argmax", gf::argmax(c));
    g.output("d_count", gf::count(d > 3));
    g.output("d_max", gf::max(d));
    g.output("a_sum_masked", gf::sum(a, {.where = d > 3}));
    return g;
}

std::vector<Expected> expected_sixteen(const Table& table) {
    const auto value = [](double x) { return x; };
    const auto magnitude = [](double x) { return std::abs(x); };
    const Digits a = table.a.digits(), b = table.b.digits(), c = table.c.digits(), d = table.d.digits(),
                 masked = table.a.digits_where(table.d);
    return {about(a.total(value), a.total(magnitude)),
            about(a.mean()),
            about(a.variance()),
            exactly(a.least()),
            exactly(a.most()),
            about(b.total(value), b.total(magnitude)),
            exactly(b.least()),
            exactly(b.most()),
            exactly(b.total([](double x) { return x > 0; })),
            exactly(c.total(value)),
            exactly(c.least()),
            exactly(c.most()),
            exactly(static_cast<double>(table.c.first(c.most()))),
            exactly(d.total([](double x) { return x > 3; })),
            exactly(d.most()),
            about(masked.total(value), masked.total(magnitude))};
}

Make make_sixteen(std::int64_t rows) {
    return [rows](Case& made) {
        if (made.wants("gridfold") || made.wants("cub")) {
            const Table table(rows, made.copies());
            const std::vector<Expected> expected = expected_sixteen(table);
            const Bind bind = [table](int copy) {
                return gf::Bindings{{"a", table.a.view(copy)},
                                    {"b", table.b.view(copy)},
                                    {"c", table.c.view(copy)},
                                    {"d", table.d.view(copy)}};
            };
            if (made.wants("gridfold"))
                made.add(gridfold_contender("gridfold", sixteen(), on_gpu(), made.copies(), bind), expected);
            if (made.wants("cub")) made.add(sixteen_cub(table, made.copies()), expected);
        }
        if (made.wants("ceiling")) { // the same bytes, as one column
            const Input<std::uint8_t> bytes(rows * Table::row_bytes, made.copies());
            made.add(read_ceilings([bytes](int copy) { return bytes.copy(copy); }, bytes.bytes()));
        }
    };
}

} // namespace

void add_sixteen(Suite& suite) {
    for (const std::int64_t rows : powers_of_two(16, 28, 4))
        suite.add(graph_case({.workload = "sixteen",
                              .type = "mixed",
                              .bytes = rows * Table::row_bytes,
                              .elements = rows,
                              .contenders = {"gridfold", "cub", "ceiling"},
                              .extra = 1}, // the ceiling's column
                             make_sixteen(rows)));
}

} // namespace bench
