#include "harness.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <stdexcept>

#include <fmt/format.h>

#include "column.hpp"
#include "reference.hpp"

namespace bench::cpu {
namespace {

constexpr bool has_several_statistics(Workload workload) {
    return workload == Workload::five || workload == Workload::dozen || workload == Workload::zscore;
}
/// True for the workloads of `omp_simd`.
constexpr bool has_vector_loops(Workload workload) {
    return workload == Workload::sum || workload == Workload::cubes || has_several_statistics(workload);
}
constexpr bool has_fused_loop(Workload workload) {
    return has_several_statistics(workload) || workload == Workload::log1p_zscore;
}
[[maybe_unused]] constexpr bool has_eigen(Workload workload) {
    return has_vector_loops(workload) || workload == Workload::log1p_zscore;
}

/// Contenders of one name are variants: the fastest is reported.
struct Contender {
    std::string name;
    Call run;
    double tolerance = 1e-5; ///< relative to Reference::scale
    std::size_t batch = 1;   ///< calls that are timed together
    std::vector<double> seconds{};
};

std::vector<Contender> contenders(const Task& task) {
    std::vector<Contender> all{{"gridfold", gridfold(task)}, {"loop", loop(task)}};
    if (has_vector_loops(task.workload)) all.push_back({"omp_simd", omp_simd(task)});
    if (has_fused_loop(task.workload)) all.push_back({"omp_fused", omp_fused(task)});
#if GRIDFOLD_HAS_EIGEN
    // Its sums have the type of the elements: of 2^28 elements they keep two digits.
    if (has_eigen(task.workload)) all.push_back({"eigen", eigen(task), 1.0 / 32});
#endif
    for (Call& read : read_loops(task)) all.push_back({"ceiling", std::move(read)});
    return all;
}

void check(const Contender& contender, const Task& task, const Reference& reference) {
    if (contender.name == "ceiling") {
        if (contender.run()[0] != reference.words) throw std::runtime_error("ceiling: does not read every word");
        return;
    }
    if (task.z != nullptr) std::fill_n(task.z, task.n, 0.0F);
    const Numbers numbers = contender.run();
    for (std::size_t i = 0; i < numbers.size(); ++i)
        if (!(std::abs(numbers[i] - reference.numbers[i]) <= contender.tolerance * reference.scale[i]))
            throw std::runtime_error(
                fmt::format("{}: statistic {} is {}, must be {}", contender.name, i, numbers[i], reference.numbers[i]));
    if (task.z != nullptr && !reference.agrees(task, contender.tolerance))
        throw std::runtime_error(fmt::format("{}: the z-scores are wrong", contender.name));
}

double seconds_of(const Contender& contender, std::size_t calls) {
    Numbers last{};
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < calls; ++i) last = contender.run();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    if (std::isnan(last[0])) throw std::runtime_error(contender.name + ": not a number");
    return time.count() / static_cast<double>(calls);
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

} // namespace

std::string Case::name() const { return fmt::format("{}/{}/bytes:{}/cpu", to_text(workload), to_text(type), bytes); }

std::vector<std::string> contender_names(Workload workload) {
    std::vector<std::string> names{"gridfold", "loop"};
    if (has_vector_loops(workload)) names.emplace_back("omp_simd");
    if (has_fused_loop(workload)) names.emplace_back("omp_fused");
#if GRIDFOLD_HAS_EIGEN
    if (has_eigen(workload)) names.emplace_back("eigen");
#endif
    names.emplace_back("ceiling");
    return names;
}

std::vector<Timings> measure(const Case& what) {
    const Column x(what.type, what.elements());
    const Column z(Type::f32, has_array(what.workload) ? what.elements() : 0);
    const Task task{what.workload, what.type, x.address(), what.elements(), static_cast<float*>(z.address())};
    const Reference reference = refer(task);

    constexpr double shortest_timing = 200e-6;
    std::vector<Contender> all = contenders(task);
    for (Contender& contender : all) {
        check(contender, task, reference);
        // Times the second call: the first includes one-time costs.
        contender.batch = static_cast<std::size_t>(shortest_timing / seconds_of(contender, 1)) + 1;
    }
    for (int round = 0; round < what.rounds; ++round)
        for (Contender& contender : all) contender.seconds.push_back(seconds_of(contender, contender.batch));

    std::vector<Timings> timings;
    for (Contender& contender : all) {
        if (timings.empty() || timings.back().contender != contender.name)
            timings.push_back({contender.name, std::move(contender.seconds)});
        else if (median(contender.seconds) < median(timings.back().seconds))
            timings.back().seconds = std::move(contender.seconds);
    }
    return timings;
}

} // namespace bench::cpu
