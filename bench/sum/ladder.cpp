// The classic ladder (bench/ladder) at its authors' 4 Mi elements, beside gridfold and CUB.
#include <cmath>

#include "harness/case.hpp"
#include "harness/ceiling.hpp"
#include "harness/gridfold.hpp"
#include "harness/library.hpp"
#include "harness/workloads.hpp"
#include "ladder/steps.hpp"
#include "sum/contenders.hpp"

namespace bench {

namespace {

constexpr std::int64_t elements = std::int64_t{4} << 20;

std::string contender_name(const ladder::Step& step) { return std::string("ladder_") + step.name; }

/// A step's scratch is zeroed, as it asks for, and each copy's own. A step that is not worth timing beyond this size is slow at
/// it: one call has to do.
Contender step_contender(const ladder::Step& step, const Input<float>& x, int copies) {
    const auto sums = device_array<float>(copies);
    const LibraryCall call = [x, sums, enqueue = step.enqueue](void* scratch, std::size_t& bytes, int copy,
                                                               cudaStream_t stream) {
        if (scratch)
            enqueue(stream, x.copy(copy), x.elements(), sums.get() + copy, scratch);
        else
            bytes = ladder::scratch_bytes;
        return cudaSuccess;
    };
    Contender contender = library_contender<float>(contender_name(step), copies, {call}, sums,
                                                   [](float sum) { return std::vector{static_cast<double>(sum)}; });
    if (step.largest <= elements) contender.calls = 1;
    if (*step.published) contender.variant = std::string("published: ") + step.published;
    return contender;
}

void make_ladder(Case& made) {
    const Input<float> x(elements, made.copies());
    const Digits digits = x.digits();
    const std::vector<Expected> expected{
        about(digits.total([](double d) { return d; }), digits.total([](double d) { return std::abs(d); }))};
    gf::Graph g("sum");
    g.output("sum", gf::sum(g.input<float>("x", {g.dim("n")})));
    add_gridfold(made, g, x, expected);
    if (made.wants("cub")) made.add(cub_sum(x, made.copies()), expected);
    if (made.wants("ceiling")) made.add(read_ceilings([x](int copy) { return x.copy(copy); }, x.bytes()));
    for (const ladder::Step& step : ladder::steps())
        if (made.wants(contender_name(step))) made.add(step_contender(step, x, made.copies()), expected);
}

} // namespace

void add_ladder(Suite& suite) {
    std::vector<std::string> contenders{"gridfold", "cub", "ceiling"};
    for (const ladder::Step& step : ladder::steps())
        if (elements <= step.largest) contenders.push_back(contender_name(step));
    suite.add(graph_case({.workload = "ladder",
                          .type = Element<float>::name,
                          .bytes = elements * std::int64_t{sizeof(float)},
                          .elements = elements,
                          .contenders = contenders,
                          .extra = 1}, // scratch
                         make_ladder));
}

} // namespace bench
