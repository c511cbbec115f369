// Contender `gridfold`: the library's CPU backend. A timed call is Prepared::run and reading all scalar results;
// compiling and binding are not timed. For `many`, a timed call is Executable::run_many, which binds, and reading all
// results.
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gridfold/gridfold.hpp>

#include "../dozen.hpp"
#include "../own_range.hpp"
#include "workloads.hpp"

namespace bench::cpu {
namespace {

gf::DType dtype(Type type) {
    switch (type) {
    case Type::i8: return gf::DType::i8;
    case Type::i32: return gf::DType::i32;
    case Type::i64: return gf::DType::i64;
    case Type::f16: return gf::DType::f16;
    case Type::f32: return gf::DType::f32;
    case Type::f64: return gf::DType::f64;
    }
    return {};
}

gf::Graph graph(Workload workload, Type type) {
    gf::Graph g{std::string(to_text(workload))};
    if (workload == Workload::dozen) return dozen(false);
    if (workload == Workload::range) return own_range();
    if (workload == Workload::built_in_range) return built_in_range();
    const gf::Dim n = g.dim("n");
    const gf::Value x = g.input("x", dtype(type), {&n, 1});
    switch (workload) {
    case Workload::sum: g.output("sum", gf::sum(x)); break;
    case Workload::cubes: g.output("cubes", gf::sum(x * x * x)); break;
    case Workload::five:
        g.output("sum", gf::sum(x));
        g.output("sum_of_squares", gf::sum_of_squares(x));
        g.output("min", gf::min(x));
        g.output("max", gf::max(x));
        g.output("positive", gf::count(x > 0));
        break;
    case Workload::dozen:
    case Workload::range:
    case Workload::built_in_range: break;
    case Workload::zscore: g.output("z", (x - gf::mean(x)) / gf::stddev(x)); break;
    case Workload::log1p_zscore: {
        const gf::Value y = gf::log1p(gf::clamp(x, clamp_low, clamp_high));
        g.output("z", (y - gf::mean(y)) / gf::stddev(y));
        break;
    }
    case Workload::many: g.output("sum", gf::sum(x)); break;
    }
    return g;
}

template <class T> double as(std::uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return static_cast<double>(value);
}

double value_of(const gf::Results::Entry& entry) {
    if (entry.type == gf::DType::f32) return as<float>(entry.bits);
    if (entry.type == gf::DType::f64) return as<double>(entry.bits);
    return as<std::int64_t>(entry.bits); // bools and counts: their bytes are zero-extended
}

Call many(const Task& task) {
    const auto* const x = static_cast<const float*>(task.x);
    std::vector<gf::Bindings> problems;
    for (std::size_t row = 0; row < row_count(task.n); ++row)
        problems.push_back(
            {{"x", gf::host_view(x + row * row_elements, {static_cast<std::int64_t>(row_size(row, task.n))})}});
    return [exe = gf::compile(graph(task.workload, task.type), {.device = "cpu"}), problems = std::move(problems),
            sums = std::vector<float>(row_count(task.n))]() mutable {
        const std::vector<gf::Results> results = exe.run_many(problems);
        for (std::size_t row = 0; row < results.size(); ++row) sums[row] = results[row].get<float>("sum");
        return numbers_of_sums(sums);
    };
}

} // namespace

Call gridfold(const Task& task) {
    if (task.workload == Workload::many) return many(task);
    const auto n = static_cast<std::int64_t>(task.n);
    gf::Bindings outputs;
    if (has_array(task.workload)) outputs.emplace_back("z", gf::host_view(task.z, {n}));
    const Call prepared_call = with_column(task, [&](const auto* x) -> Call {
        const gf::Executable exe = gf::compile(graph(task.workload, task.type), {.device = "cpu"});
        return [prepared = std::make_shared<gf::Prepared>(exe.prepare({{"x", gf::host_view(x, {n})}}, outputs))] {
            const gf::Results results = prepared->run();
            Numbers numbers{};
            std::size_t i = 0;
            for (const gf::Results::Entry& entry : results.entries())
                if (!entry.is_array) numbers[i++] = value_of(entry);
            return numbers;
        };
    });
    return prepared_call;
}

} // namespace bench::cpu
