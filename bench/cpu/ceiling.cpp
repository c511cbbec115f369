// Contender `ceiling`: loops that only read the column, a vector of 64 bytes at a time, and add up its 64-bit words.
// One thread is fastest for a column in the caches of a core; several streams a thread keep more memory accesses in
// flight.
#include <cstring>

#include <benchmark/benchmark.h>
#include <omp.h>

#include "workloads.hpp"

namespace bench::cpu {
namespace {

constexpr std::size_t line_bytes = 64;
using Line = std::uint64_t __attribute__((vector_size(line_bytes)));

/// Adds line i of x. (Returning a Line would depend on the instruction set: compilers warn without AVX-512.)
void add_line(Line& sum, const char* x, std::size_t i) {
    Line words;
    std::memcpy(&words, x + i * line_bytes, line_bytes);
    sum += words;
}

/// The sum of lines [begin, end), read as several parallel streams.
template <std::size_t streams> std::uint64_t read(const char* x, std::size_t begin, std::size_t end) {
    Line sums[streams]{};
    const std::size_t lines = (end - begin) / streams;
    for (std::size_t i = 0; i < lines; ++i)
        for (std::size_t s = 0; s < streams; ++s) add_line(sums[s], x, begin + s * lines + i);
    for (std::size_t i = begin + streams * lines; i < end; ++i) add_line(sums[0], x, i);
    std::uint64_t total = 0;
    for (const Line& sum : sums)
        for (std::size_t word = 0; word < line_bytes / sizeof(std::uint64_t); ++word) total += sum[word];
    return total;
}

template <std::size_t streams> Call reader(const Task& task, int threads) {
    return [x = static_cast<const char*>(task.x), lines = task.n * size_of(task.type) / line_bytes, threads] {
        std::uint64_t total = 0;
        if (threads == 1) {
            total = read<streams>(x, 0, lines);
        } else {
            const auto parts = static_cast<std::size_t>(threads);
#pragma omp parallel for reduction(+ : total) schedule(static, 1) num_threads(threads)
            for (std::size_t p = 0; p < parts; ++p)
                total += read<streams>(x, lines * p / parts, lines * (p + 1) / parts);
        }
        return Numbers{static_cast<double>(total)};
    };
}

} // namespace

std::vector<Call> read_loops(const Task& task) {
    const int all = omp_get_max_threads();
    return {reader<4>(task, 1), reader<8>(task, 1), reader<1>(task, all), reader<4>(task, all), reader<8>(task, all)};
}

} // namespace bench::cpu
