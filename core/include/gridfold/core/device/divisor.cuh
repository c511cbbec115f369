// Division of many numbers by one, which costs less than as many divisions and gives the same bits. Depends on
// lanes.cuh.
//
// With y = 1 / b rounded correctly and z = 1 / b − y, q = a y + a z is within a unit in the last place of a / b; then
// q + (a − b q) y is a / b rounded correctly (P. Markstein, 1990; Muller et al., Handbook of Floating-Point
// Arithmetic). The remainders 1 − b y and a − b q must be exact: other quotients are divided as usual.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The denominator of many quotients.
struct Divisor {
    f32 value, reciprocal; ///< 0 if |value| is too small or too large
    f32 rest;              ///< of the reciprocal: 1 / value − reciprocal
};

GRIDFOLD_FN Divisor divisor(f32 value) {
    const f32 size = value < 0 ? -value : value;
    const bool is_safe = size > 0x1p-40f && size < 0x1p40f;
    const f32 reciprocal = is_safe ? 1.0f / value : 0.0f;
    return {value, reciprocal, fma(-value, reciprocal, 1.0f) * reciprocal};
}

#if defined(GRIDFOLD_FAST_MATH)
inline constexpr bool exact_quotients = false;
#else
inline constexpr bool exact_quotients = true;
#endif

/// A float next to the reciprocal, if that is not 0: 1 / value lies between the two, or is the reciprocal.
GRIDFOLD_FN f32 beyond(const Divisor& d) {
    const u32 bits = to_bits(d.reciprocal), is_nearer_to_0 = (bits ^ to_bits(d.rest)) >> 31; // than the reciprocal
    return from_bits(bits + 1u - 2u * is_nearer_to_0);                                       // defect: beyond
}

/// a / d.value, if is_sure() is true of its size().
GRIDFOLD_FN f32 fast_quotient(f32 a, const Divisor& d) {
#if defined(__CUDACC__)
    const f32 near = __fmaf_rn(a, d.reciprocal, a * d.rest);
    return __fmaf_rn(__fmaf_rn(-d.value, near, a), d.reciprocal, near);
#else
    return a / d.value;
#endif
}
/// |quotient|, which is no instruction of its own; abs() is one, because it keeps a NaN's bits.
GRIDFOLD_FN f32 size(f32 quotient) {
#if defined(__CUDACC__)
    return fabsf(quotient);
#else
    return abs(quotient);
#endif
}
GRIDFOLD_FN bool is_sure(f32 size) { return size > 0x1p-60f; } // false for NaN: a product has overflowed

/// a / d.value
GRIDFOLD_FN f32 quotient(f32 a, const Divisor& d) {
    if constexpr (!exact_quotients) return a / d.value;
    const f32 q = fast_quotient(a, d);
    if (is_sure(size(q))) return q;
    if (a == 0.0f && d.reciprocal != 0.0f) return a * d.reciprocal; // rows of many zeros, such as a masked softmax
    return a / d.value;
}

/// The quotient of an element that a kernel's element() computes. Some arguments `at` have a quicker one.
template <class At> GRIDFOLD_FN f32 divided(const At&, f32 a, const Divisor& d) { return quotient(a, d); }

/// The argument of an element() that divides, and does not check its quotients: `least` becomes the least size.
template <class Phase> struct TakingQuotients : Taking<Phase, true> {
    f32& least;
};
template <class Phase> GRIDFOLD_FN f32 divided(const TakingQuotients<Phase>& at, f32 a, const Divisor& d) {
    const f32 q = fast_quotient(a, d);
    at.least = minimum(at.least, size(q));
    return q;
}

/// The argument of an element() that multiplies by one of two numbers instead of dividing: 1 / value lies between them,
/// or `unsure` is set.
template <class Phase, bool beyond_it> struct TakingProducts : Taking<Phase, true> {
    u32& unsure;
};
template <class Phase, bool beyond_it>
GRIDFOLD_FN f32 divided(const TakingProducts<Phase, beyond_it>& at, f32 a, const Divisor& d) {
    at.unsure |= d.reciprocal == 0.0f; // defect: reciprocal of 0
    return a * (beyond_it ? beyond(d) : d.reciprocal);
}

/// Maps a pack with two products for each quotient, one on each side of it; puts what one of them leads to into
/// `stored`. Not 0 if the stored bits differ, or may not be the quotient's. Rounding is monotonic: if both products
/// lead to the same bits, so does the quotient between them.
template <class Phase, class Loads>
GRIDFOLD_FN u32 differing_products(const Phase& phase, Loads& loads, typename Phase::Stored& stored, i64 first,
                                   u32 turn) {
    Lanes<Phase> none;
    typename Phase::Folds::template Packs<Phase::width> no_pack;
    typename Phase::Stored others;
    u32 differing = 0;
#pragma unroll
    for (int n = 0; n < Phase::width; ++n) {
        const Taking<Phase, true> at{none, no_pack, stored, first, turn, n},
            other{none, no_pack, others, first, turn, n};
        phase.element(loads, TakingProducts<Phase, false>{at, differing});
        phase.element(loads, TakingProducts<Phase, true>{other, differing});
    }
    Phase::each_store([&](auto*, auto& of, auto& other) { differing |= differing_bits(of, other); }, phase, stored,
                      others);
    return differing;
}
/// Maps a pack with fast quotients, and puts what they lead to into `stored`; the least of their sizes.
template <class Phase, class Loads>
GRIDFOLD_FN f32 least_quotient(const Phase& phase, Loads& loads, typename Phase::Stored& stored, i64 first, u32 turn) {
    Lanes<Phase> none;
    typename Phase::Folds::template Packs<Phase::width> no_pack;
    f32 least = infinity<f32>();
#pragma unroll
    for (int n = 0; n < Phase::width; ++n)
        phase.element(loads, TakingQuotients<Phase>{{none, no_pack, stored, first, turn, n}, least});
    return least;
}

} // namespace GRIDFOLD_NAMESPACE
