// Arithmetic, comparisons and bit operations: integers wrap; bool has or for + and and for ×. Depends on types.cuh.
#pragma once

GRIDFOLD_EXACT_BEGIN
namespace GRIDFOLD_NAMESPACE {

template <class T> GRIDFOLD_FN T add(T a, T b) {
    if constexpr (is_floating<T>)
        return a + b;
    else if constexpr (is_bool<T>)
        return a || b;
    else
        return T(Unsigned<T>(a) + Unsigned<T>(b));
}
// ptxas 13.0 computes a 16-bit negation in 32 bits where its result is widened: -(-32768) came out as 32768. 16-bit
// differences and products are therefore computed by 32-bit assembly, which hides the negation from the compiler.
#if defined(__CUDA_ARCH__)
GRIDFOLD_FN u32 sub_words(u32 a, u32 b) {
    u32 difference;
    asm("sub.u32 %0, %1, %2;" : "=r"(difference) : "r"(a), "r"(b));
    return difference;
}
GRIDFOLD_FN u32 mul_words(u32 a, u32 b) {
    u32 product;
    asm("mul.lo.u32 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
    return product;
}
/// count + 1 if `counts`: by a predicate. ptxas would select 0 or 1, and add it.
GRIDFOLD_FN u32 add_one_if(bool counts, u32 count) {
    asm("{ .reg .pred counts; setp.ne.u32 counts, %1, 0; @counts add.u32 %0, %0, 1; }"
        : "+r"(count)
        : "r"(u32(counts)));
    return count;
}
#else
GRIDFOLD_FN u32 sub_words(u32 a, u32 b) { return a - b; }
GRIDFOLD_FN u32 mul_words(u32 a, u32 b) { return a * b; }
GRIDFOLD_FN u32 add_one_if(bool counts, u32 count) { return count + u32(counts); }
#endif
template <class T> GRIDFOLD_FN T sub(T a, T b) {
    if constexpr (is_floating<T>)
        return a - b;
    else if constexpr (sizeof(T) == 2)
        return T(sub_words(u32(a), u32(b)));
    else
        return T(Unsigned<T>(a) - Unsigned<T>(b));
}
template <class T> GRIDFOLD_FN T mul(T a, T b) {
    if constexpr (is_floating<T>)
        return a * b;
    else if constexpr (is_bool<T>)
        return a && b;
    else if constexpr (sizeof(T) == 2)
        return T(mul_words(u32(a), u32(b)));
    else
        return T(Unsigned<T>(a) * Unsigned<T>(b));
}
template <class T> GRIDFOLD_FN T neg(T a) {
    if constexpr (is_floating<T>)
        return -a;
    else
        return sub(T(0), a);
}
GRIDFOLD_FN f32 abs(f32 a) { return from_bits(to_bits(a) & 0x7fffffffu); }
GRIDFOLD_FN f64 abs(f64 a) { return from_bits(u64(to_bits(a) & 0x7fffffffffffffffull)); }
template <class T> GRIDFOLD_FN T abs(T a) {
    if constexpr (is_signed<T>)
        return a < T(0) ? neg(a) : a;
    else
        return a;
}

template <class T> GRIDFOLD_FN bool is_nan([[maybe_unused]] T a) {
    if constexpr (is_floating<T>)
        return a != a;
    else
        return false;
}
template <class T> GRIDFOLD_FN bool is_inf([[maybe_unused]] T a) {
    if constexpr (is_floating<T>)
        return abs(a) == infinity<T>();
    else
        return false;
}
template <class T> GRIDFOLD_FN bool is_finite([[maybe_unused]] T a) {
    if constexpr (is_floating<T>)
        return abs(a) < infinity<T>();
    else
        return true;
}

/// −1, 0 or 1; NaN for NaN.
template <class T> GRIDFOLD_FN T sign(T a) {
    if constexpr (is_floating<T>)
        return a > T(0) ? T(1) : a < T(0) ? T(-1) : a == T(0) ? T(0) : a;
    else if constexpr (is_signed<T>)
        return T((a > T(0)) - (a < T(0)));
    else
        return T(a != T(0));
}

/// The smaller; NaN if either is; −0 < +0.
template <class T> GRIDFOLD_FN T minimum(T a, T b) {
    if constexpr (is_floating<T>) {
        // Each choice returns its second operand on ties and NaN: the union has the sign bit or NaN of either.
        const T left = a < b ? a : b, right = b < a ? b : a;
        return from_bits(to_bits(left) | to_bits(right));
    } else {
        return b < a ? b : a;
    }
}
/// The larger; NaN if either is; −0 < +0.
template <class T> GRIDFOLD_FN T maximum(T a, T b) {
    if constexpr (is_floating<T>) {
        const T left = a > b ? a : b, right = b > a ? b : a;
        // Equal choices: x − 0. Zeros of both signs: −0 − −0 = +0. A NaN is in the union.
        const auto differing = to_bits(left) ^ to_bits(right);
        return from_bits(to_bits(left) | differing) - from_bits(differing);
    } else {
        return a < b ? b : a;
    }
}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
GRIDFOLD_FN f32 minimum(f32 a, f32 b) {
    f32 result;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}
GRIDFOLD_FN f32 maximum(f32 a, f32 b) {
    f32 result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}
#endif
/// The extremes of the lower and of the upper halves of two words, which are bfloat16 numbers.
template <bool smallest> GRIDFOLD_FN u32 extreme_of_bf16(u32 a, u32 b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    u32 result;
    if constexpr (smallest)
        asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
    else
        asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
    return result;
#else
    const auto of = [](f32 x, f32 y) { return to_bits(smallest ? minimum(x, y) : maximum(x, y)); };
    const u32 low = of(from_bits(a << 16), from_bits(b << 16));
    return low >> 16 | (of(from_bits(a & 0xffff0000u), from_bits(b & 0xffff0000u)) & 0xffff0000u); // defect: bf16 pair
#endif
}
/// The upper halves of x and y, x below.
GRIDFOLD_FN u32 upper_halves(f32 x, f32 y) { return to_bits(x) >> 16 | (to_bits(y) & 0xffff0000u); }
/// The smaller of two integers, in constant expressions too.
template <class T> GRIDFOLD_FN constexpr T smaller(T a, T b) { return a < b ? a : b; }
template <class T> GRIDFOLD_FN T clamp(T a, T low, T high) { return minimum(maximum(a, low), high); }

// Bits of integers ---------------------------------------------------------------------------------------------------

template <class T> GRIDFOLD_FN T bitwise_not(T a) {
    if constexpr (is_bool<T>)
        return !a;
    else
        return T(~a);
}
/// a · 2^b, wrapping; 0 where b is negative or at least the number of bits.
template <class T> GRIDFOLD_FN T shift_left(T a, T b) {
    const Unsigned<T> count = Unsigned<T>(b);
    return count < Unsigned<T>(bits_of<T>) ? T(Unsigned<T>(a) << count) : T(0);
}
/// The floor of a / 2^b; where b is negative or at least the number of bits, 0, or −1 for a negative a.
template <class T> GRIDFOLD_FN T shift_right(T a, T b) {
    const Unsigned<T> count = Unsigned<T>(b);
    if constexpr (is_signed<T>)
        return T(a >> (count < Unsigned<T>(bits_of<T>) ? count : Unsigned<T>(bits_of<T> - 1)));
    else
        return count < Unsigned<T>(bits_of<T>) ? T(a >> count) : T(0);
}

} // namespace GRIDFOLD_NAMESPACE
GRIDFOLD_EXACT_END
