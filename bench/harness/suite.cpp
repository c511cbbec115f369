// Suite on Google Benchmark: registration, one measurement a case, and reporters that print the plain names.
#include "harness/suite.hpp"

#include <exception>
#include <iostream>
#include <regex>
#include <utility>

#include <benchmark/benchmark.h>

#include "harness/cuda.hpp"
#include "plain_names.hpp"

namespace bench {

namespace {

bool is_for_people(const Run& run) { return run.repetitions == 1 || run.aggregate_name == "median"; }

std::function<bool(const std::string&)> matcher(const std::string& filter) {
    if (filter.empty() || filter == "all") return [](const std::string&) { return true; };
    const bool negated = filter.front() == '-';
    return [negated, pattern = std::regex(negated ? filter.substr(1) : filter)](const std::string& name) {
        return std::regex_search(name, pattern) != negated;
    };
}

/// A case's measurement, made by the first of its benchmarks that runs.
struct Measurement {
    Spec spec;
    std::set<std::string> wanted;
    bool done = false;
    Times times{};
    std::string problem{};

    /// False if it failed; too little device memory is no failure.
    bool measure(const Settings& settings) {
        done = true;
        try {
            times = spec.measure(spec, wanted, settings);
            return true;
        } catch (const NoRoom& reason) {
            problem = std::string("skipped: ") + reason.what();
        } catch (const std::exception& error) {
            problem = error.what();
        }
        std::cerr << spec.name("*") << ": " << problem << '\n';
        return problem.starts_with("skipped: ");
    }
};

void report(benchmark::State& state, const Measurement& measurement, const std::string& contender, std::size_t round) {
    if (!measurement.problem.empty()) {
        state.SkipWithError(measurement.problem.c_str());
        return;
    }
    const Series& series = measurement.times.at(contender);
    for (auto iteration : state) {
        (void)iteration;
        state.SetIterationTime(series.microseconds.at(round) * 1e-6);
    }
    state.counters["bytes"] = static_cast<double>(measurement.spec.moved);
    state.counters["elements"] = static_cast<double>(measurement.spec.elements);
    for (const auto& [name, value] : series.counters) state.counters[name] = value;
    if (!series.label.empty()) state.SetLabel(series.label);
}

} // namespace

std::string Spec::name(const std::string& contender) const {
    return workload + "/" + type + "/bytes:" + std::to_string(bytes) + "/" + mode + "/" + contender;
}

void Suite::add(Spec spec) {
    if (spec.bytes <= settings_.max_bytes) specs_.push_back(std::move(spec));
}

std::vector<std::string> Suite::names(const std::string& filter) const {
    const auto matches = matcher(filter);
    std::vector<std::string> found;
    for (const Spec& spec : specs_)
        for (const std::string& contender : spec.contenders)
            if (matches(spec.name(contender))) found.push_back(spec.name(contender));
    return found;
}

bool Suite::run(const std::string& filter, bool writes_file) {
    const auto matches = matcher(filter);
    bool success = true;
    std::size_t registered = 0;
    for (const Spec& spec : specs_) {
        const auto measurement = std::make_shared<Measurement>(Measurement{spec, {}});
        for (const std::string& contender : spec.contenders) {
            if (!matches(spec.name(contender))) continue;
            measurement->wanted.insert(contender);
            const auto one_round = [this, &success, measurement, contender,
                                    round = std::size_t{0}](benchmark::State& state) mutable {
                if (!measurement->done && !measurement->measure(settings_)) success = false;
                report(state, *measurement, contender, round++);
            };
            benchmark::RegisterBenchmark(spec.name(contender).c_str(), one_round)
                ->Iterations(1)
                ->Repetitions(spec.repetitions)
                ->UseManualTime()
                ->Unit(benchmark::kMicrosecond);
            ++registered;
        }
    }
    if (registered == 0) {
        std::cerr << "no benchmark matches '" << filter << "' up to " << settings_.max_bytes << " bytes\n";
        return false;
    }
    PlainNames<benchmark::ConsoleReporter, is_for_people> console;
    PlainNames<benchmark::JSONReporter, is_round> file;
    benchmark::RunSpecifiedBenchmarks(&console, writes_file ? &file : nullptr, "all");
    return success;
}

} // namespace bench
