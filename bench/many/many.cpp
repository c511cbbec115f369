// Workload many: five statistics of each of 1,000 columns of 10,000 elements, in one launch or in 1,000 launches.
// Workloads many_of_<length>: the same statistics of columns of that length, 10,000,000 elements in all.
#include <memory>
#include <string>
#include <utility>

#include "harness/case.hpp"
#include "harness/ceiling.hpp"
#include "harness/gridfold.hpp"
#include "harness/workloads.hpp"
#include "many/planted_rows.hpp"
#include "many/segmented_cub.hpp"
#include "statistics/five.hpp"

namespace bench {

namespace {

constexpr std::int64_t elements = 10'000'000;

std::vector<gf::Bindings> columns_of(const Input<float>& x, int copy, std::int64_t length) {
    std::vector<gf::Bindings> problems;
    for (std::int64_t first = 0; first < elements; first += length)
        problems.push_back({{"x", gf::device_view(x.copy(copy) + first, {length})}});
    return problems;
}

std::vector<Expected> expected_of(const std::vector<RowFacts>& all) {
    std::vector<Expected> expected;
    for (const RowFacts& column : all)
        for (const double number : {column.sum, column.squares, column.least, column.most, column.positive})
            expected.push_back(exactly(number));
    return expected;
}

Contender one_by_one(const Input<float>& x, std::int64_t length) {
    const gf::Executable exe = gf::compile(five_statistics(), on_gpu());
    const auto prepared = std::make_shared<std::vector<gf::Prepared>>();
    for (const gf::Bindings& column : columns_of(x, 0, length)) prepared->push_back(exe.prepare(column));
    return {.name = "gridfold_one_by_one",
            .enqueue =
                [prepared, x](cudaStream_t stream, int) {
                    for (gf::Prepared& column : *prepared) column.enqueue(stream);
                },
            .results =
                [prepared](int) {
                    std::vector<gf::Results> all;
                    for (gf::Prepared& column : *prepared) all.push_back(column.results());
                    return scalars(all);
                },
            .calls = 1};
}

Make make_many(std::int64_t length) {
    return [length](Case& made) {
        const std::int64_t columns = elements / length;
        Input<float> x(elements, made.copies());
        const std::vector<Expected> expected = expected_of(plant_rows(x, columns));
        const BindMany bind = [x, length](int copy) { return columns_of(x, copy, length); };
        if (made.wants("gridfold")) made.add(gridfold_many_contender(five_statistics(), made.copies(), bind), expected);
        if (made.wants("cub")) made.add(five_cub_segmented(x, columns, made.copies()), expected);
        if (made.wants("cub_struct"))
            for (Contender& variant : five_cub_struct_segmented(x, columns, made.copies()))
                made.add(std::move(variant), expected);
        if (made.wants("gridfold_one_by_one")) made.add(one_by_one(x, length), expected);
        if (made.wants("ceiling")) made.add(read_ceilings([x](int copy) { return x.copy(copy); }, x.bytes()));
    };
}

CaseFacts facts_of(std::string workload, std::vector<std::string> contenders) {
    return {.workload = std::move(workload),
            .type = Element<float>::name,
            .bytes = elements * std::int64_t{sizeof(float)},
            .elements = elements,
            .contenders = std::move(contenders)};
}

} // namespace

void add_many(Suite& suite) {
    constexpr std::int64_t usual = 10'000;
    suite.add(graph_case(facts_of("many", {"gridfold", "gridfold_one_by_one", "cub", "cub_struct", "ceiling"}),
                         make_many(usual)));
    suite.add(call_case(facts_of("many", {"gridfold"}), make_many(usual)));
    for (const std::int64_t length : {1'000, 100'000, 1'000'000})
        suite.add(
            graph_case(facts_of("many_of_" + std::to_string(length), {"gridfold", "cub", "cub_struct", "ceiling"}),
                       make_many(length)));
}

} // namespace bench
