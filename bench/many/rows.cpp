// Workloads row_sums and row_maxima: one function of each of 1,000 rows of a matrix of each type. The ladder's
// contender uses one block a row; gridfold runs each row as a problem.
#include <cstring>
#include <stdexcept>

#include "harness/case.hpp"
#include "harness/ceiling.hpp"
#include "harness/cuda.hpp"
#include "harness/gridfold.hpp"
#include "harness/workloads.hpp"
#include "ladder/batched_rows.hpp"
#include "many/planted_rows.hpp"
#include "many/segmented_cub.hpp"

namespace bench {

namespace {

constexpr std::int64_t rows = 1000, columns = 10000;
constexpr const char* ladder_name = "ladder_batched_rows";

bool is_sum(const ladder::RowFold& fold) { return std::strcmp(fold.function, "sum") == 0; }

template <class T> Contender gridfold_rows(bool sum, const Input<T>& x, int copies) {
    using Gridfold = typename Element<T>::Gridfold;
    gf::Graph g(sum ? "row_sums" : "row_maxima");
    const gf::Value value = g.input<Gridfold>("x", {g.dim("n")});
    g.output("of_row", sum ? gf::sum(value) : gf::max(value));
    const BindMany bind = [x](int copy) {
        std::vector<gf::Bindings> problems;
        for (std::int64_t row = 0; row < rows; ++row)
            problems.push_back({{"x", gf::device_view(x.copy(copy) + row * columns, {columns})}});
        return problems;
    };
    return gridfold_many_contender(g, copies, bind);
}

template <class T, class Result> Contender ladder_rows(const ladder::RowFold& fold, const Input<T>& x, int copies) {
    const auto results = device_array<Result>(rows * copies);
    return {.name = ladder_name,
            .enqueue =
                [x, results, enqueue = fold.enqueue](cudaStream_t stream, int copy) {
                    enqueue(stream, x.copy(copy), rows, columns, results.get() + rows * copy);
                },
            .results =
                [results](int copy) {
                    const std::vector<Result> host = to_host(results.get() + rows * copy, rows);
                    return std::vector<double>(host.begin(), host.end());
                }};
}

template <class T> Make make_rows(const ladder::RowFold& fold) {
    return [&fold](Case& made) {
        using Sum = typename Element<T>::Sum;
        const bool sum = is_sum(fold);
        if (fold.result_bytes != (sum ? sizeof(Sum) : sizeof(T)))
            throw std::logic_error("a fold of rows of another type");
        Input<T> x(rows * columns, made.copies());
        std::vector<Expected> expected;
        for (const RowFacts& row : plant_rows(x, rows)) expected.push_back(exactly(sum ? row.sum : row.most));
        if (made.wants("gridfold")) made.add(gridfold_rows(sum, x, made.copies()), expected);
        if (made.wants(ladder_name))
            made.add(sum ? ladder_rows<T, Sum>(fold, x, made.copies()) : ladder_rows<T, T>(fold, x, made.copies()),
                     expected);
        if (made.wants("cub")) made.add(rows_cub(sum, x, rows, made.copies()), expected);
        if (made.wants("ceiling")) made.add(read_ceilings([x](int copy) { return x.copy(copy); }, x.bytes()));
    };
}

} // namespace

void add_rows(Suite& suite) {
    const auto make = [](const ladder::RowFold& fold) {
        const std::string type = fold.type;
        if (type == Element<float>::name) return make_rows<float>(fold);
        if (type == Element<double>::name) return make_rows<double>(fold);
        if (type == Element<std::int32_t>::name) return make_rows<std::int32_t>(fold);
        throw std::logic_error("rows of " + type);
    };
    for (const ladder::RowFold& fold : ladder::row_folds())
        suite.add(graph_case({.workload = is_sum(fold) ? "row_sums" : "row_maxima",
                              .type = fold.type,
                              .bytes = rows * columns * static_cast<std::int64_t>(fold.element_bytes),
                              .elements = rows * columns,
                              .contenders = {"gridfold", ladder_name, "cub", "ceiling"}},
                             make(fold)));
}

} // namespace bench
