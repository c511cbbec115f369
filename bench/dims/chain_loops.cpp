#include "chain_loops.hpp"

#include <cmath>

namespace bench::dims {

void softmax(const float* x, float* y, std::size_t rows, std::size_t length) {
#pragma omp parallel for schedule(static)
    for (std::size_t row = 0; row < rows; ++row) {
        const float* const in = x + row * length;
        float* const out = y + row * length;
        float most = in[0], sum = 0;
#pragma omp simd reduction(max : most)
        for (std::size_t i = 0; i < length; ++i) most = in[i] > most ? in[i] : most;
#pragma omp simd reduction(+ : sum)
        for (std::size_t i = 0; i < length; ++i) {
            out[i] = std::exp(in[i] - most);
            sum += out[i];
        }
        const float scale = 1.0F / sum;
#pragma omp simd
        for (std::size_t i = 0; i < length; ++i) out[i] *= scale;
    }
}

void layer_norm(const float* x, float* y, std::size_t rows, std::size_t length, float epsilon) {
#pragma omp parallel for schedule(static)
    for (std::size_t row = 0; row < rows; ++row) {
        const float* const in = x + row * length;
        float* const out = y + row * length;
        const auto n = static_cast<float>(length);
        float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t i = 0; i < length; ++i) sum += in[i];
        const float mean = sum / n;
#pragma omp simd reduction(+ : squares)
        for (std::size_t i = 0; i < length; ++i) squares += (in[i] - mean) * (in[i] - mean);
        const float scale = 1.0F / std::sqrt(squares / n + epsilon);
#pragma omp simd
        for (std::size_t i = 0; i < length; ++i) out[i] = (in[i] - mean) * scale;
    }
}

} // namespace bench::dims
