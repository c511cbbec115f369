// The classic ladder (bench/ladder) at its authors' 4 Mi elements, and the sum of cubes of 1 Mi i32 by growing numbers
// of threads, compared with gridfold and CUB.
#include <cmath>

#include "harness/case.hpp"
#include "harness/ceiling.hpp"
#include "harness/gridfold.hpp"
#include "harness/library.hpp"
#include "harness/workloads.hpp"
#include "ladder/clocked_cubes.hpp"
#include "ladder/steps.hpp"
#include "sum/contenders.hpp"

namespace bench {

namespace {

constexpr std::int64_t elements = std::int64_t{4} << 20;

template <class Rung> std::string contender_name(const Rung& rung) { return std::string("ladder_") + rung.name; }

std::string variant_of(const char* published) { return *published ? std::string("published: ") + published : ""; }

/// Each copy has its own zeroed scratch. A step at its largest size is slow, so only one call is captured.
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
    contender.variant = variant_of(step.published);
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

constexpr std::int64_t cubed_elements = std::int64_t{1} << 20;

/// Also counts the time by the kernel's own clocks in its last call.
Contender cubes_contender(const ladder::CubesShape& shape, const Input<std::int32_t>& x, int copies) {
    const auto sums = device_array<std::uint64_t>(copies);
    const auto times = device_array<ladder::BlockTime>(shape.blocks);
    return {.name = contender_name(shape),
            .enqueue =
                [=, &shape](cudaStream_t stream, int copy) {
                    ladder::enqueue_cubes(shape, stream, x.copy(copy), x.elements(), sums.get() + copy, times.get());
                },
            .results =
                [sums](int copy) {
                    return std::vector{
                        static_cast<double>(static_cast<std::int64_t>(to_host(sums.get() + copy, 1)[0]))};
                },
            .variant = variant_of(shape.published),
            .calls = shape.blocks == 1 ? 1 : 0,
            .counters =
                [times, blocks = shape.blocks] {
                    return std::map<std::string, double>{{"clock_us", ladder::kernel_us(to_host(times.get(), blocks))}};
                }};
}

void make_cubes_ladder(Case& made) {
    const Input<std::int32_t> x(cubed_elements, made.copies());
    const std::vector<Expected> expected{exactly(x.digits().total([](double d) { return d * d * d; }))};
    gf::Graph g("cubes");
    const gf::Value value = g.input<std::int32_t>("x", {g.dim("n")});
    g.output("sum", gf::sum(value * value * value));
    add_gridfold(made, g, x, expected);
    if (made.wants("cub")) made.add(cub_cubes(x, made.copies()), expected);
    for (const ladder::CubesShape& shape : ladder::cubes_shapes())
        if (made.wants(contender_name(shape))) made.add(cubes_contender(shape, x, made.copies()), expected);
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

    std::vector<std::string> of_cubes{"gridfold", "cub"};
    for (const ladder::CubesShape& shape : ladder::cubes_shapes()) of_cubes.push_back(contender_name(shape));
    suite.add(graph_case({.workload = "cubes_ladder",
                          .type = Element<std::int32_t>::name,
                          .bytes = cubed_elements * std::int64_t{sizeof(std::int32_t)},
                          .elements = cubed_elements,
                          .contenders = of_cubes},
                         make_cubes_ladder));
}

} // namespace bench
