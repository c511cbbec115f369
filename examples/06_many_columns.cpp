// Many small problems in one call: five statistics of each column of a table with columns of different lengths. On a
// GPU that is one launch for all columns; each column gets the same bits as in a separate run.
//
//     06_many_columns [columns]
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <vector>

#include <gridfold/gridfold.hpp>

int main(int argc, char** argv) {
    const std::size_t columns = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;

    gf::Graph g("column");
    auto x = g.input<float>("x", {g.dim("n")});
    auto limit = g.scalar<float>("limit");
    g.output("sum", gf::sum(x));
    g.output("mean", gf::mean(x));
    g.output("least", gf::min(x));
    g.output("most", gf::max(x));
    g.output("above", gf::count(x > limit));
    const gf::Executable exe = gf::compile(g);

    std::vector<std::vector<float>> table;
    std::vector<gf::Bindings> problems;
    for (std::size_t c = 0; c < columns; ++c) {
        std::vector<float> column(1000 + 37 * (c % 100));
        for (std::size_t i = 0; i < column.size(); ++i) column[i] = static_cast<float>((i * 7919 + c) % 1000);
        table.push_back(std::move(column));
    }
    for (std::size_t c = 0; c < columns; ++c) problems.push_back({{"x", table[c]}, {"limit", static_cast<float>(c)}});

    const std::vector<gf::Results> results = exe.run_many(problems);

    std::int64_t above = 0;
    for (std::size_t c = 0; c < columns; ++c) {
        const gf::Results alone = exe.run(problems[c]);
        const auto mean = alone.get<float>("mean"), of_many = results[c].get<float>("mean");
        if (std::memcmp(&mean, &of_many, sizeof mean) != 0) {
            std::cerr << "column " << c << " has another mean alone\n";
            return 1;
        }
        above += results[c].get<std::int64_t>("above");
    }
    std::cout << columns << " columns on " << exe.device() << ": " << above
              << " elements are above their column's number\n";
}
