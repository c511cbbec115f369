// Folds over some dims on a GPU: workloads sum_over_AxBxC, max_over_…, variance_over_… and five_over_… of arrays of
// A × B × C elements, of which B are folded, and …_over_AxBxCxD, of which B and D are. Rows have C = 1; columns A = 1.
// CUB folds rows only.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "harness/case.hpp"
#include "harness/ceiling.hpp"
#include "harness/cuda.hpp"
#include "harness/gridfold.hpp"
#include "harness/workloads.hpp"
#include "many/segmented_cub.hpp"

namespace bench {

namespace {

struct Shape {
    std::int64_t outer, folded, inner, innermost = 1;
    std::int64_t elements() const { return outer * folded * inner * innermost; }
    std::int64_t results() const { return outer * inner; }
    std::string name() const {
        return fmt::format("{}x{}x{}{}", outer, folded, inner, innermost == 1 ? "" : fmt::format("x{}", innermost));
    }
};

/// 2^28 elements each, or nearly; then those that others are slow at, and rows of no power of 2.
constexpr Shape shapes[] = {
    {1 << 25, 8, 1},       {1 << 22, 64, 1},      {1 << 20, 256, 1},      {1 << 18, 1'024, 1},   {1 << 16, 4'096, 1},
    {1 << 14, 1 << 14, 1}, {2'049, 131'071, 1},   {256, 1 << 20, 1},      {8, 1 << 25, 1},       {1, 1 << 25, 8},
    {1, 1 << 22, 64},      {1, 1 << 20, 256},     {1, 1 << 16, 4'096},    {1, 1 << 14, 1 << 14}, {1, 2'049, 131'071},
    {1, 256, 1 << 20},     {1, 8, 1 << 25},       {1'024, 64, 3'136},     {1 << 16, 64, 64},     {100'000'000, 2, 1},
    {80'000'000, 3, 1},    {2'113'664, 127, 1},   {2'080'768, 129, 1},    {5'341, 50'257, 1},    {1'000, 10'000, 1},
    {1'000, 1'000, 1},     {1, 25'088 * 448, 24}, {1, 87'381 * 1'024, 3}, {1, 1'024, 64, 49},    {1, 1'024, 64, 196},
    {1, 1'024, 64, 3'136}, {13'421'773, 20, 1},   {2'684'355, 100, 1},    {894'785, 300, 1},     {671'088, 400, 1},
    {268'167, 1'001, 1},   {53'676, 5'001, 1},    {1, 524'288, 513},      {1, 268'167, 1'001},   {1, 209'000, 1'296},
    {1, 131'072, 2'049},   {1, 53'676, 5'001},    {1, 5'341, 50'257},
};

constexpr std::string_view statistics[] = {"sum", "max", "variance", "five"};

/// The names of a statistic's results.
std::vector<std::string> results_of(std::string_view statistic) {
    if (statistic == "five") return {"sum", "squares", "least", "most", "positive"};
    return {std::string(statistic)};
}

template <class T> gf::Graph graph(std::string_view statistic, const Shape& shape) {
    gf::Graph g("dims");
    const gf::Dim outer = g.dim("outer"), folded = g.dim("folded");
    using Gridfold = typename Element<T>::Gridfold;
    std::vector<gf::Dim> dims, over_dims{folded};
    if (shape.outer > 1 || shape.inner == 1) dims.push_back(outer);
    dims.push_back(folded);
    if (shape.inner > 1) dims.push_back(g.dim("inner"));
    if (shape.innermost > 1) over_dims.push_back(dims.emplace_back(g.dim("innermost")));
    const gf::Value x = g.input("x", gf::dtype_of<Gridfold>, dims);
    const gf::ReduceOptions over{.over = over_dims};
    if (statistic != "five") {
        const gf::Value result = statistic == "sum"   ? gf::sum(x, over)
                                 : statistic == "max" ? gf::max(x, over)
                                                      : gf::variance(x, over);
        g.output(std::string(statistic), gf::cast<float>(result));
        return g;
    }
    g.output("sum", gf::cast<float>(gf::sum(x, over)));
    g.output("squares", gf::cast<float>(gf::sum_of_squares(x, over)));
    g.output("least", gf::cast<float>(gf::min(x, over)));
    g.output("most", gf::cast<float>(gf::max(x, over)));
    g.output("positive", gf::cast<float>(gf::count(x > 0, over)));
    return g;
}

/// Some of the results: the first, the last, and others between.
std::vector<std::int64_t> sample(const Shape& shape) {
    constexpr std::int64_t most = 50;
    std::vector<std::int64_t> numbers;
    const std::int64_t last = shape.results() - 1, count = std::min(most, last + 1);
    for (std::int64_t i = 0; i < count; ++i) numbers.push_back(count == 1 ? 0 : last * i / (count - 1));
    return numbers;
}

double count_of(const Shape& shape) { return double(shape.folded * shape.innermost); }

/// The expected results of the sample, statistic by statistic, from the digits.
std::vector<Expected> expected_of(std::string_view statistic, const Shape& shape) {
    std::vector<Expected> all;
    for (const std::string& name : results_of(statistic))
        for (const std::int64_t result : sample(shape)) {
            double sum = 0, absolute = 0, squares = 0, least = 9, most = -9, positive = 0;
            const std::int64_t row = result / shape.inner * shape.folded;
            for (std::int64_t i = 0; i < shape.folded * shape.innermost; ++i) {
                const std::int64_t outside = (row + i / shape.innermost) * shape.inner + result % shape.inner;
                const std::int64_t element = outside * shape.innermost + i % shape.innermost;
                const double d = digit_of(std::uint64_t(element), 0) + lowest_digit;
                sum += d;
                absolute += std::abs(d);
                squares += d * d;
                least = std::min(least, d);
                most = std::max(most, d);
                positive += d > 0;
            }
            all.push_back(name == "sum"        ? about(sum, absolute)
                          : name == "squares"  ? about(squares)
                          : name == "variance" ? about(squares / count_of(shape) - std::pow(sum / count_of(shape), 2))
                          : name == "least"    ? exactly(least)
                          : name == "positive" ? about(positive)
                                               : exactly(most));
        }
    return all;
}

template <class T>
Contender gridfold_over(std::string_view statistic, const Shape& shape, const Input<T>& x, int copies) {
    const auto extents = [shape](bool all) {
        std::vector<std::int64_t> n;
        if (shape.outer > 1 || shape.inner == 1) n.push_back(shape.outer);
        if (all) n.push_back(shape.folded);
        if (shape.inner > 1) n.push_back(shape.inner);
        if (all && shape.innermost > 1) n.push_back(shape.innermost);
        return gf::Extents(n);
    };
    const std::vector<std::string> names = results_of(statistic);
    const std::int64_t results = shape.results(), each = results * std::int64_t(names.size());
    const auto out = device_array<float>(each * copies);
    const Bind inputs = [x, extents](int copy) {
        using Gridfold = typename Element<T>::Gridfold;
        return gf::Bindings{{"x", gf::device_view(reinterpret_cast<Gridfold*>(x.copy(copy)), extents(true))}};
    };
    const Bind outputs = [=](int copy) {
        gf::Bindings bound;
        for (std::size_t i = 0; i < names.size(); ++i)
            bound.emplace_back(names[i],
                               gf::device_view(out.get() + copy * each + std::int64_t(i) * results, extents(false)));
        return bound;
    };
    Contender contender = gridfold_contender("gridfold", graph<T>(statistic, shape), on_gpu(), copies, inputs, outputs);
    contender.results = [=](int copy) {
        std::vector<double> all;
        for (std::size_t i = 0; i < names.size(); ++i) {
            const std::vector<float> host = to_host(out.get() + copy * each + std::int64_t(i) * results, results);
            for (const std::int64_t number : sample(shape)) all.push_back(host[std::size_t(number)]);
        }
        return all;
    };
    return contender;
}

template <class T> Contender cub_over(std::string_view statistic, const Shape& shape, const Input<T>& x, int copies) {
    Contender contender = rows_cub(statistic == "sum", x, shape.outer, copies);
    contender.results = [shape, all = contender.results](int copy) {
        const std::vector<double> rows = all(copy);
        std::vector<double> some;
        for (const std::int64_t number : sample(shape)) some.push_back(rows[std::size_t(number)]);
        return some;
    };
    return contender;
}

/// Kernels that read the elements, and write as much as the results if that is more than a hundredth of them.
template <class T>
std::vector<Contender> ceilings(std::string_view statistic, const Shape& shape, const Input<T>& x, int copies) {
    const auto from = [x](int copy) { return x.copy(copy); };
    const std::int64_t bytes = x.bytes() / 16 * 16, arrays = std::int64_t(results_of(statistic).size());
    const std::int64_t each = shape.results() * 4 / 16 * 16; // bytes
    if (100 * arrays * each < bytes) return read_ceilings(from, bytes);
    const auto out = device_array<char>(arrays * each * copies);
    return read_and_write_ceilings(
        from, bytes, [=](int copy) { return out.get() + copy * arrays * each; }, arrays, each);
}

template <class T> Make make_dims(std::string_view statistic, const Shape& shape) {
    return [statistic, shape](Case& made) {
        const Input<T> x(shape.elements(), made.copies());
        const std::vector<Expected> expected = expected_of(statistic, shape);
        if (made.wants("gridfold")) made.add(gridfold_over<T>(statistic, shape, x, made.copies()), expected);
        if constexpr (!std::is_same_v<T, __nv_bfloat16>)
            if (made.wants("cub")) made.add(cub_over<T>(statistic, shape, x, made.copies()), expected);
        if (made.wants("ceiling")) made.add(ceilings(statistic, shape, x, made.copies()));
    };
}

template <class T> void add_dims_of(Suite& suite) {
    constexpr bool cub_has_type = !std::is_same_v<T, __nv_bfloat16>;
    for (const std::string_view statistic : statistics)
        for (const Shape& shape : shapes) {
            std::vector<std::string> contenders{"gridfold", "ceiling"};
            const bool is_cubs = statistic == "sum" || statistic == "max";
            if (cub_has_type && shape.inner == 1 && is_cubs) contenders.push_back("cub");
            const double written = 4.0 * double(shape.results()) * double(results_of(statistic).size());
            suite.add(graph_case({.workload = fmt::format("{}_over_{}", statistic, shape.name()),
                                  .type = Element<T>::name,
                                  .bytes = shape.elements() * std::int64_t{sizeof(T)},
                                  .elements = shape.elements(),
                                  .contenders = std::move(contenders),
                                  .writes = written / double(shape.elements() * std::int64_t{sizeof(T)}),
                                  .extra = 1},
                                 make_dims<T>(statistic, shape)));
        }
}

} // namespace

void add_dims(Suite& suite) {
    add_dims_of<float>(suite);
    add_dims_of<__nv_bfloat16>(suite);
    add_dims_of<double>(suite);
}

} // namespace bench
