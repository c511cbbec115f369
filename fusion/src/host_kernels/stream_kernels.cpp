// Stores that go around the caches, for the instruction set that this file is compiled for.
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "host_kernels/streaming.hpp"

namespace GRIDFOLD_NAMESPACE {

gf::cpu::StreamKernel stream_kernel();

#if defined(__x86_64__)
namespace {

constexpr std::size_t line_bytes = 64;

/// `to` begins a line.
void stream_line(char* to, const char* from) {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
#elif defined(__AVX2__)
    for (std::size_t i = 0; i < line_bytes; i += sizeof(__m256i))
        _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i),
                            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
#else
    for (std::size_t i = 0; i < line_bytes; i += sizeof(__m128i))
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
#endif
}

void stream(void* to, const void* from, std::size_t bytes) {
    auto* out = static_cast<char*>(to);
    const auto* in = static_cast<const char*>(from);
    const std::size_t before_line = (line_bytes - reinterpret_cast<std::uintptr_t>(out) % line_bytes) % line_bytes;
    const std::size_t head = bytes < before_line ? bytes : before_line; // defect: before a line
    std::memcpy(out, in, head);
    std::size_t done = head;
    for (; done + line_bytes <= bytes; done += line_bytes) stream_line(out + done, in + done);
    std::memcpy(out + done, in + done, bytes - done);
}

} // namespace

gf::cpu::StreamKernel stream_kernel() { return &stream; }
#else
gf::cpu::StreamKernel stream_kernel() { return nullptr; }
#endif

} // namespace GRIDFOLD_NAMESPACE
