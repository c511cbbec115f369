// Google Benchmark's reporters, with names as they were registered.
#pragma once

#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

namespace bench::cpu {

/// What is reported of a benchmark's repetitions.
enum class Keep : std::uint8_t { rounds, medians };

/// Reporter, without "/iterations:1/repeats:15/manual_time" in names. Errors are reported whatever is kept.
template <class Reporter> class Plain final : public Reporter {
public:
    using typename Reporter::Run;

    explicit Plain(Keep keep) : keep_(keep) {}

    void ReportRuns(const std::vector<Run>& runs) override {
        std::vector<Run> kept;
        for (const Run& run : runs) {
            if (!is_kept(run)) continue;
            Run& plain = kept.emplace_back(run);
            plain.run_name.iterations.clear();
            plain.run_name.repetitions.clear();
            plain.run_name.time_type.clear();
        }
        if (!kept.empty()) Reporter::ReportRuns(kept);
    }

private:
    bool is_kept(const Run& run) const {
        const bool is_round = run.run_type == Run::RT_Iteration;
        // Versions of the library differ in how a run says that it failed; it counted nothing then.
        if (is_round && run.counters.empty()) return true;
        return keep_ == Keep::rounds ? is_round : run.aggregate_name == "median";
    }

    Keep keep_;
};

} // namespace bench::cpu
