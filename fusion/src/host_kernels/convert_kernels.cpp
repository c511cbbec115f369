// Conversions between element types as kernels over arrays, for the instruction set that this file is compiled for.
#include "host_kernels/element_types.hpp"

#if defined(__F16C__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace GRIDFOLD_NAMESPACE {

ConvertKernel cast_kernel(int from, int to);
ConvertKernel round_kernel(int from, int to);

namespace kernels {

template <class To, class From> void cast(void* out, const void* in, std::size_t n) {
    auto* r = static_cast<To*>(out);
    const auto* x = static_cast<const From*>(in);
    GRIDFOLD_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) r[i] = convert<To>(x[i]);
}

/// A bool in memory is any byte; as a value it is 0 or 1.
void normalise(void* out, const void* in, std::size_t n) {
    auto* r = static_cast<u8*>(out);
    const auto* x = static_cast<const u8*>(in);
    GRIDFOLD_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) r[i] = x[i] != 0;
}

/// The conversions of the two types that exist only in memory, between their bits and f32 values.
template <DType> struct Half;
template <> struct Half<DType::f16> {
    GRIDFOLD_FN static f32 widen(u16 bits) { return f16_to_f32(bits); }
    GRIDFOLD_FN static u16 narrow(f32 value) { return f32_to_f16(value); }
};
template <> struct Half<DType::bf16> {
    GRIDFOLD_FN static f32 widen(u16 bits) { return bf16_to_f32(bits); }
    GRIDFOLD_FN static u16 narrow(f32 value) { return f32_to_bf16(value); }
};

template <DType type> void widen(void* out, const void* in, std::size_t n) {
    auto* r = static_cast<f32*>(out);
    const auto* x = static_cast<const u16*>(in);
    std::size_t i = 0;
#if defined(__AVX512F__)
    if constexpr (type == DType::f16)
        for (; i + 16 <= n; i += 16)
            _mm512_storeu_ps(
                r + i, _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i))));
#elif defined(__F16C__)
    if constexpr (type == DType::f16)
        for (; i + 8 <= n; i += 8)
            _mm256_storeu_ps(r + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
#endif
    GRIDFOLD_INDEPENDENT
    for (; i < n; ++i) r[i] = Half<type>::widen(x[i]);
}

template <DType type> void narrow(void* out, const void* in, std::size_t n) {
    auto* r = static_cast<u16*>(out);
    const auto* x = static_cast<const f32*>(in);
    GRIDFOLD_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) r[i] = Half<type>::narrow(x[i]);
}

template <DType to, class From> void round(void* out, const void* in, std::size_t n) {
    auto* r = static_cast<f32*>(out);
    const auto* x = static_cast<const From*>(in);
    GRIDFOLD_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
        if constexpr (to == DType::f16)
            r[i] = round_f16(x[i]);
        else
            r[i] = round_bf16(x[i]);
    }
}

template <DType from, DType to> constexpr ConvertKernel entry() {
    if constexpr (is_half(from) && to == DType::f32)
        return &widen<from>;
    else if constexpr (from == DType::f32 && is_half(to))
        return &narrow<to>;
    else if constexpr (is_half(from) || is_half(to))
        return nullptr;
    else if constexpr (from == DType::boolean && to == DType::boolean)
        return &normalise;
    else
        return &cast<Element<to>, Element<from>>;
}

template <DType from, DType to> constexpr ConvertKernel round_entry() {
    if constexpr (is_half(from))
        return nullptr;
    else
        return &round<to, Element<from>>;
}

/// The conversions from one type, by result type.
template <DType from> struct Row {
    static constexpr ConvertKernel entries[] = {
#define GRIDFOLD_DTYPE(to, ...) entry<from, DType::to>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
};

} // namespace kernels

ConvertKernel cast_kernel(int from, int to) {
    static constexpr const ConvertKernel* rows[] = {
#define GRIDFOLD_DTYPE(from, ...) kernels::Row<DType::from>::entries,
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
    return rows[from][to];
}

ConvertKernel round_kernel(int from, int to) {
    static constexpr ConvertKernel to_f16[] = {
#define GRIDFOLD_DTYPE(from, ...) kernels::round_entry<DType::from, DType::f16>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
    static constexpr ConvertKernel to_bf16[] = {
#define GRIDFOLD_DTYPE(from, ...) kernels::round_entry<DType::from, DType::bf16>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
    if (DType(to) == DType::f16) return to_f16[from];
    return DType(to) == DType::bf16 ? to_bf16[from] : nullptr;
}

} // namespace GRIDFOLD_NAMESPACE
