// Google Benchmark's reporters with the registered names.
#pragma once

#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

namespace bench {

using Run = benchmark::BenchmarkReporter::Run;

/// Reports the runs that `keep` accepts, without Google Benchmark's suffixes of names (iterations:1, repeats:9,
/// manual_time).
template <class Reporter, bool (*keep)(const Run&)> class PlainNames final : public Reporter {
public:
    void ReportRuns(const std::vector<Run>& all) override {
        std::vector<Run> runs;
        for (Run run : all) {
            if (!keep(run)) continue;
            benchmark::BenchmarkName plain;
            plain.function_name = run.run_name.function_name;
            run.run_name = plain;
            runs.push_back(std::move(run));
        }
        if (!runs.empty()) Reporter::ReportRuns(runs);
    }
};

inline bool is_round(const Run& run) { return run.run_type == Run::RT_Iteration; }

} // namespace bench
