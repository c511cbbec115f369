// Workload round_trip: the sum of cubes of 64K f32 from the call until the caller has the result, for the three ways of
// calling gridfold. The times include the look-up of the result by name.
#include <memory>
#include <stdexcept>

#include "harness/case.hpp"
#include "harness/gridfold.hpp"
#include "harness/workloads.hpp"
#include "sum/contenders.hpp"

namespace bench {

namespace {

constexpr std::int64_t elements = 65536;

double cube_total(const Input<float>& x) {
    return x.digits().total([](double d) { return d * d * d; });
}

/// Exact: the sum of so few cubes of digits is less than 2^24.
void expect(const gf::Results& results, double right) {
    if (static_cast<double>(results.get<float>("cubes")) != right) throw std::runtime_error("a wrong sum of cubes");
}

void make_round_trip(Case& made) {
    const Input<float> a(elements, 1, 0), b(elements, 1, 1);
    const double cubes_of_a = cube_total(a), cubes_of_b = cube_total(b);
    gf::Graph g("cubes");
    const gf::Value x = g.input<float>("x", {g.dim("n")});
    g.output("cubes", gf::sum(x * x * x));
    const gf::Executable exe = gf::compile(g, on_gpu());
    const auto prepare = [&] { return std::make_shared<gf::Prepared>(exe.prepare({{"x", a.view(0)}})); };

    if (made.wants("gridfold_prepared"))
        made.add(
            {.name = "gridfold_prepared", .call = [a, cubes_of_a, p = prepare()] { expect(p->run(), cubes_of_a); }});
    if (made.wants("gridfold_rebound"))
        made.add({.name = "gridfold_rebound",
                  .call = [a, b, cubes_of_a, cubes_of_b, p = prepare(), flip = std::make_shared<bool>(false)] {
                      *flip = !*flip;
                      p->rebind("x", *flip ? b.view(0) : a.view(0));
                      expect(p->run(), *flip ? cubes_of_b : cubes_of_a);
                  }});
    if (made.wants("gridfold_run"))
        made.add({.name = "gridfold_run", .call = [a, cubes_of_a, exe] {
                      expect(exe.run({{"x", a.view(0)}}), cubes_of_a);
                  }});
    if (made.wants("cub")) made.add(cub_cubes(a, 1), {exactly(cubes_of_a)});
}

} // namespace

void add_round_trip(Suite& suite) {
    suite.add(call_case({.workload = "round_trip",
                         .type = Element<float>::name,
                         .bytes = elements * std::int64_t{sizeof(float)},
                         .elements = elements,
                         .contenders = {"gridfold_prepared", "gridfold_rebound", "gridfold_run", "cub"}},
                        make_round_trip));
}

} // namespace bench
