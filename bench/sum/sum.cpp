// Workloads of one fold of one column: sums of every type, sum of cubes, sums of an unaligned column, and of one whose
// length is not a multiple of a slab.
#include <cmath>
#include <type_traits>

#include "harness/case.hpp"
#include "harness/ceiling.hpp"
#include "harness/gridfold.hpp"
#include "harness/workloads.hpp"
#include "sum/contenders.hpp"

namespace bench {

namespace {

template <class T> gf::Graph sum_of(bool cubes) {
    gf::Graph g(cubes ? "cubes" : "sum");
    const gf::Value x = g.input<typename Element<T>::Gridfold>("x", {g.dim("n")});
    g.output("sum", gf::sum(cubes ? x * x * x : x));
    return g;
}

template <class T> std::vector<Expected> expected_sum(const Input<T>& x, bool cubes) {
    const auto value = [cubes](double d) { return cubes ? d * d * d : d; };
    const Digits digits = x.digits();
    const double sum = digits.total(value);
    if (std::is_integral_v<T>) return {exactly(sum)};
    return {about(sum, digits.total([&](double d) { return std::abs(value(d)); }))};
}

template <class T> Make make_sum(std::int64_t elements) {
    return [elements](Case& made) {
        const Input<T> x(elements, made.copies());
        const std::vector<Expected> expected = expected_sum(x, false);
        add_gridfold(made, sum_of<T>(false), x, expected);
        if (made.wants("cub")) made.add(cub_sum(x, made.copies()), expected);
        if constexpr (std::is_same_v<T, float>)
            if (made.wants("thrust")) made.add(thrust_sum(x), expected);
        if (made.wants("ceiling")) made.add(read_ceilings([x](int copy) { return x.copy(copy); }, x.bytes()));
    };
}

template <class T> Make make_cubes(std::int64_t elements) {
    return [elements](Case& made) {
        const Input<T> x(elements, made.copies());
        const std::vector<Expected> expected = expected_sum(x, true);
        add_gridfold(made, sum_of<T>(true), x, expected);
        if (made.wants("cub")) made.add(cub_cubes(x, made.copies()), expected);
        if constexpr (std::is_same_v<T, float>)
            if (made.wants("thrust")) made.add(thrust_cubes(x), expected);
        if (made.wants("ceiling")) made.add(read_ceilings([x](int copy) { return x.copy(copy); }, x.bytes()));
    };
}

/// A column one element past an aligned address, and the same digits at an aligned address.
template <class T> Make make_misaligned(std::int64_t elements) {
    return [elements](Case& made) {
        if (made.wants("gridfold")) {
            const Input<T> x(elements, made.copies(), 0, 1);
            add_gridfold(made, sum_of<T>(false), x, expected_sum(x, false));
        }
        if (made.wants("gridfold_aligned")) {
            const Input<T> x(elements, made.copies());
            made.add(gridfold_contender("gridfold_aligned", sum_of<T>(false), on_gpu(), made.copies(),
                                        [x](int copy) {
                                            return gf::Bindings{{"x", x.view(copy)}};
                                        }),
                     expected_sum(x, false));
        }
    };
}

/// The facts of a case of one column.
template <class T> CaseFacts column(const char* workload, std::int64_t bytes, std::vector<std::string> contenders) {
    return {.workload = workload,
            .type = Element<T>::name,
            .bytes = bytes,
            .elements = bytes / std::int64_t{sizeof(T)},
            .contenders = std::move(contenders)};
}

template <class T> void add_sum(Suite& suite) {
    for (const std::int64_t bytes : powers_of_two(8, 34))
        suite.add(graph_case(column<T>("sum", bytes, {"gridfold", "cub", "ceiling"}),
                             make_sum<T>(bytes / std::int64_t{sizeof(T)})));
}

/// Unfused, a cube has two intermediates, for the Prepared and again for the captured graph.
template <class T> void add_cubes(Suite& suite) {
    for (const std::int64_t bytes : powers_of_two(8, 34)) {
        CaseFacts facts = column<T>("cubes", bytes, {"gridfold", "gridfold_unfused", "cub", "ceiling"});
        facts.extra = 4;
        suite.add(graph_case(facts, make_cubes<T>(facts.elements)));
    }
}

/// Lengths in decimal steps: 1, 2, 5, 10 thousand and so on.
template <class T> void add_ragged(Suite& suite) {
    for (std::int64_t thousands = 1; thousands <= 1'000'000; thousands *= 10)
        for (const std::int64_t first_digit : {1, 2, 5})
            if (const std::int64_t elements = first_digit * thousands * 1000; elements <= 1'000'000'000)
                suite.add(graph_case(
                    column<T>("ragged_sum", elements * std::int64_t{sizeof(T)}, {"gridfold", "cub", "ceiling"}),
                    make_sum<T>(elements)));
}

template <class T> void add_misaligned(Suite& suite) {
    for (const int exponent : {12, 16, 20, 24, 28, 30, 32, 34}) {
        CaseFacts facts = column<T>("misaligned_sum", std::int64_t{1} << exponent, {"gridfold", "gridfold_aligned"});
        facts.extra = 1;
        suite.add(graph_case(facts, make_misaligned<T>(facts.elements)));
    }
}

} // namespace

void add_sums(Suite& suite) {
    add_sum<std::int8_t>(suite);
    add_sum<std::uint8_t>(suite);
    add_sum<std::int16_t>(suite);
    add_sum<std::int32_t>(suite);
    add_sum<std::int64_t>(suite);
    add_sum<__half>(suite);
    add_sum<__nv_bfloat16>(suite);
    add_sum<float>(suite);
    add_sum<double>(suite);
    add_cubes<float>(suite);
    add_cubes<std::int32_t>(suite);
    add_ragged<std::int8_t>(suite);
    add_ragged<__half>(suite);
    add_ragged<float>(suite);
    add_ragged<double>(suite);
    add_misaligned<std::int8_t>(suite);
    add_misaligned<__half>(suite);
    add_misaligned<float>(suite);
    add_misaligned<double>(suite);
    for (const std::int64_t elements : powers_of_two(16, 28, 4)) {
        suite.add(
            call_case(column<float>("sum", elements * 4, {"gridfold", "cub", "thrust"}), make_sum<float>(elements)));
        suite.add(call_case(column<float>("cubes", elements * 4, {"gridfold", "cub", "thrust"}),
                            make_cubes<float>(elements)));
    }
}

} // namespace bench
