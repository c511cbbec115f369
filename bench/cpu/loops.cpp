// Compiled with -O3 -march=native: each loop is vectorised for this machine.
#include "loops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace loops {

unsigned long read_words(const float* x, std::size_t n) {
    const auto* words = reinterpret_cast<const unsigned long*>(x);
    const std::size_t count = n / 2;
    unsigned long total = 0;
#pragma omp parallel for simd reduction(+ : total) schedule(static)
    for (std::size_t i = 0; i < count; ++i) total += words[i];
    return total;
}

float sum(const float* x, std::size_t n) {
    float total = 0;
#pragma omp parallel for simd reduction(+ : total) schedule(static)
    for (std::size_t i = 0; i < n; ++i) total += x[i];
    return total;
}

float sum_of_cubes(const float* x, std::size_t n) {
    float total = 0;
#pragma omp parallel for simd reduction(+ : total) schedule(static)
    for (std::size_t i = 0; i < n; ++i) total += x[i] * x[i] * x[i];
    return total;
}

float sum_of_squares(const float* x, std::size_t n) {
    float total = 0;
#pragma omp parallel for simd reduction(+ : total) schedule(static)
    for (std::size_t i = 0; i < n; ++i) total += x[i] * x[i];
    return total;
}

float l2_norm(const float* x, std::size_t n) { return std::sqrt(sum_of_squares(x, n)); }

double mean(const float* x, std::size_t n) {
    double total = 0;
#pragma omp parallel for simd reduction(+ : total) schedule(static)
    for (std::size_t i = 0; i < n; ++i) total += static_cast<double>(x[i]);
    return total / static_cast<double>(n);
}

/// In one pass, about the first element.
double variance(const float* x, std::size_t n) {
    const double origin = static_cast<double>(x[0]), elements = static_cast<double>(n);
    double total = 0, squares = 0;
#pragma omp parallel for simd reduction(+ : total, squares) schedule(static)
    for (std::size_t i = 0; i < n; ++i) {
        const double d = static_cast<double>(x[i]) - origin;
        total += d;
        squares += d * d;
    }
    return (squares - total * total / elements) / elements;
}

double stddev(const float* x, std::size_t n) { return std::sqrt(variance(x, n)); }

float min(const float* x, std::size_t n) {
    float least = std::numeric_limits<float>::infinity();
#pragma omp parallel for simd reduction(min : least) schedule(static)
    for (std::size_t i = 0; i < n; ++i) least = x[i] < least ? x[i] : least;
    return least;
}

float max(const float* x, std::size_t n) {
    float most = -std::numeric_limits<float>::infinity();
#pragma omp parallel for simd reduction(max : most) schedule(static)
    for (std::size_t i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
    return most;
}

long count_positive(const float* x, std::size_t n) {
    long count = 0;
#pragma omp parallel for simd reduction(+ : count) schedule(static)
    for (std::size_t i = 0; i < n; ++i) count += x[i] > 0 ? 1 : 0;
    return count;
}

bool any(const float* x, std::size_t n) {
    int found = 0;
#pragma omp parallel for simd reduction(| : found) schedule(static)
    for (std::size_t i = 0; i < n; ++i) found |= x[i] != 0 ? 1 : 0;
    return found != 0;
}

bool all(const float* x, std::size_t n) {
    int held = 1;
#pragma omp parallel for simd reduction(& : held) schedule(static)
    for (std::size_t i = 0; i < n; ++i) held &= x[i] != 0 ? 1 : 0;
    return held != 0;
}

float product(const float* x, std::size_t n) {
    float total = 1;
#pragma omp parallel for simd reduction(* : total) schedule(static)
    for (std::size_t i = 0; i < n; ++i) total *= x[i];
    return total;
}

} // namespace loops
