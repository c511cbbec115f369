// Conversions between element types as kernels over arrays, for the instruction set that this file is compiled for.
#include "host_kernels/element_types.hpp"

#if defined(__AVX512F__)
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
template <Type> struct Half;
template <> struct Half<Type::f16> {
    GRIDFOLD_FN static f32 widen(u16 bits) { return f16_to_f32(bits); }
    GRIDFOLD_FN static u16 narrow(f32 value) { return f32_to_f16(value); }
};
template <> struct Half<Type::bf16> {
    GRIDFOLD_FN static f32 widen(u16 bits) { return bf16_to_f32(bits); }
    GRIDFOLD_FN static u16 narrow(f32 value) { return f32_to_bf16(value); }
};

template <Type type> void widen(void* out, const void* in, std::size_t n) {
    auto* r = static_cast<f32*>(out);
    const auto* x = static_cast<const u16*>(in);
    std::size_t i = 0;
#if defined(__AVX512F__)
    if constexpr (type == Type::f16)
        for (; i + 16 <= n; i += 16)
            _mm512_storeu_ps(
                r + i, _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i))));
#endif
    GRIDFOLD_INDEPENDENT
    for (; i < n; ++i) r[i] = Half<type>::widen(x[i]);
}

template <Type type> void narrow(void* out, const void* in, std::size_t n) {
    auto* r = static_cast<u16*>(out);
    const auto* x = static_cast<const f32*>(in);
    GRIDFOLD_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) r[i] = Half<type>::narrow(x[i]);
}

template <Type to, class From> void round(void* out, const void* in, std::size_t n) {
    auto* r = static_cast<f32*>(out);
    const auto* x = static_cast<const From*>(in);
    GRIDFOLD_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
        if constexpr (to == Type::f16)
            r[i] = round_f16(x[i]);
        else
            r[i] = round_bf16(x[i]);
    }
}

template <Type from, Type to> constexpr ConvertKernel entry() {
    if constexpr (is_stored_only(from) && to == Type::f32)
        return &widen<from>;
    else if constexpr (from == Type::f32 && is_stored_only(to))
        return &narrow<to>;
    else if constexpr (is_stored_only(from) || is_stored_only(to))
        return nullptr;
    else if constexpr (from == Type::boolean && to == Type::boolean)
        return &normalise;
    else
        return &cast<Element<to>, Element<from>>;
}

template <Type from, Type to> constexpr ConvertKernel round_entry() {
    if constexpr (is_stored_only(from))
        return nullptr;
    else
        return &round<to, Element<from>>;
}

/// The conversions from one type, by result type.
template <Type from> struct Row {
    static constexpr ConvertKernel entries[] = {
#define GRIDFOLD_DTYPE(to, ...) entry<from, Type::to>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
};

} // namespace kernels

ConvertKernel cast_kernel(int from, int to) {
    static constexpr const ConvertKernel* rows[] = {
#define GRIDFOLD_DTYPE(from, ...) kernels::Row<Type::from>::entries,
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
    return rows[from][to];
}

ConvertKernel round_kernel(int from, int to) {
    static constexpr ConvertKernel to_f16[] = {
#define GRIDFOLD_DTYPE(from, ...) kernels::round_entry<Type::from, Type::f16>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
    static constexpr ConvertKernel to_bf16[] = {
#define GRIDFOLD_DTYPE(from, ...) kernels::round_entry<Type::from, Type::bf16>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
    if (Type(to) == Type::f16) return to_f16[from];
    return Type(to) == Type::bf16 ? to_bf16[from] : nullptr;
}

} // namespace GRIDFOLD_NAMESPACE
