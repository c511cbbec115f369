// Checks, captures and turns.
#include "harness/timing.hpp"

#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "harness/before_timing.hpp"
#include "harness/cuda.hpp"

namespace bench {

namespace {

std::string in_words(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
}

/// Throws unless the results of the last call on that copy are the expected ones.
void check_results(const Contender& contender, int copy) {
    if (!contender.results) return;
    const std::vector<double> results = contender.results(copy);
    if (results.size() != contender.expected.size())
        throw std::runtime_error(contender.name + " has " + std::to_string(results.size()) + " results");
    for (std::size_t i = 0; i < results.size(); ++i) {
        const Expected& right = contender.expected[i];
        if (std::isnan(right.value) || std::abs(results[i] - right.value) <= right.tolerance) continue;
        throw std::runtime_error("wrong result " + std::to_string(i) + " of " + contender.name + " " +
                                 contender.variant + ": " + in_words(results[i]) + ", not " + in_words(right.value));
    }
}

int calls_of(const Contender& contender, const Case& made) {
    return contender.calls > 0 ? std::min(contender.calls, made.copies()) : made.copies();
}

CudaGraphExec capture(const Contender& contender, int calls, cudaStream_t stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    cudaGraph_t captured = nullptr;
    try {
        for (int copy = 0; copy < calls; ++copy) contender.enqueue(stream, copy);
    } catch (...) {
        cudaStreamEndCapture(stream, &captured);
        if (captured) cudaGraphDestroy(captured);
        throw;
    }
    check(cudaStreamEndCapture(stream, &captured));
    const CudaGraph graph(captured);
    cudaGraphExec_t exec = nullptr;
    check(cudaGraphInstantiate(&exec, graph.get(), 0));
    return CudaGraphExec(exec);
}

/// The variant with the best median, for each name.
Times best_variants(const Case& made, const std::vector<std::vector<double>>& microseconds,
                    const std::vector<std::map<std::string, std::vector<double>>>& counted) {
    Times times;
    for (std::size_t i = 0; i < microseconds.size(); ++i) {
        const Contender& contender = made.contenders()[i];
        const auto found = times.find(contender.name);
        if (found == times.end() || median(microseconds[i]) < median(found->second.microseconds)) {
            Series& series = times[contender.name] = {microseconds[i], contender.variant};
            for (const auto& [name, values] : counted[i]) series.counters[name] = median(values);
        }
    }
    return times;
}

using Clock = std::chrono::steady_clock;

double microseconds_of(const std::function<void()>& call) {
    const auto start = Clock::now();
    call();
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

Series percentiles(std::vector<double> microseconds) {
    std::ranges::sort(microseconds);
    const auto at = [&](double fraction) {
        const auto rank = static_cast<std::size_t>(fraction * static_cast<double>(microseconds.size()));
        return microseconds[std::min(rank, microseconds.size() - 1)];
    };
    return {{at(0.5)},
            {},
            {{"p01", at(0.01)},
             {"p05", at(0.05)},
             {"p25", at(0.25)},
             {"p50", at(0.5)},
             {"p75", at(0.75)},
             {"p95", at(0.95)},
             {"p99", at(0.99)},
             {"p999", at(0.999)}}};
}

} // namespace

Times time_graphs(const Case& made, int rounds, bool keep_l2) {
    const std::vector<Contender>& contenders = made.contenders();
    const Stream stream = make_stream();
    const Event start = make_event(), stop = make_event();
    const BeforeTiming before(keep_l2);

    std::vector<CudaGraphExec> graphs;
    for (const Contender& contender : contenders) {
        graphs.push_back(capture(contender, calls_of(contender, made), stream.get()));
        check(cudaGraphLaunch(graphs.back().get(), stream.get()));
        check(cudaStreamSynchronize(stream.get()));
        for (int copy = 0; copy < calls_of(contender, made); ++copy) check_results(contender, copy);
    }

    std::vector<std::vector<double>> microseconds(contenders.size());
    std::vector<std::map<std::string, std::vector<double>>> counted(contenders.size());
    for (int round = 0; round < rounds; ++round)
        for (std::size_t turn = 0; turn < contenders.size(); ++turn) {
            const std::size_t i = (turn + static_cast<std::size_t>(round)) % contenders.size();
            before.enqueue(stream.get());
            check(cudaEventRecord(start.get(), stream.get()));
            check(cudaGraphLaunch(graphs[i].get(), stream.get()));
            check(cudaEventRecord(stop.get(), stream.get()));
            check(cudaEventSynchronize(stop.get()));
            float milliseconds = 0;
            check(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()));
            microseconds[i].push_back(1e3 * static_cast<double>(milliseconds) / calls_of(contenders[i], made));
            if (!contenders[i].counters) continue;
            for (const auto& [name, value] : contenders[i].counters()) counted[i][name].push_back(value);
        }
    return best_variants(made, microseconds, counted);
}

Times time_calls(const Case& made) {
    constexpr int batches = 100;
    const std::vector<Contender>& contenders = made.contenders();
    std::vector<int> batch_sizes;
    for (const Contender& contender : contenders) {
        contender.call();
        check_results(contender, 0);
        std::vector<double> warm;
        for (double total = 0; total < 50e3 && warm.size() < 200;) {
            warm.push_back(microseconds_of(contender.call));
            total += warm.back();
        }
        // 5,000 calls, or fewer if they would take more than a second.
        batch_sizes.push_back(std::clamp(static_cast<int>(1e6 / median(warm) / batches), 2, 50));
    }
    std::vector<std::vector<double>> microseconds(contenders.size());
    for (int batch = 0; batch < batches; ++batch)
        for (std::size_t turn = 0; turn < contenders.size(); ++turn) {
            const std::size_t i = (turn + static_cast<std::size_t>(batch)) % contenders.size();
            for (int n = 0; n < batch_sizes[i]; ++n) microseconds[i].push_back(microseconds_of(contenders[i].call));
        }
    Times times;
    for (std::size_t i = 0; i < contenders.size(); ++i)
        times[contenders[i].name] = percentiles(std::move(microseconds[i]));
    return times;
}

} // namespace bench
