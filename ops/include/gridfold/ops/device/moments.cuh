// Mean and variance. Depends on prelude.cuh; the contract of a monoid is in monoid.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// Count, mean and summed squared distance from the mean, in f64, without E[x²] − E[x]².
///
/// Sums of d and d², the differences from an origin: one of the elements (or 0 instead of a huge one, an infinity or
/// NaN). One pass, and no division until the end. The lanes of a block share its first element as origin, so their sums
/// add up; a masked lane's origin is its own first element. combine() moves one side to the origin of the other,
/// whichever gives the smaller sum of squares, so that an outlier is soon replaced. The sum of squares about an element
/// is at most n + 1 times the one about the mean, in practice a few times; that ratio is the precision lost to
/// cancellation. A mean loses digits below the last digit of its origin.
template <class E, class A> struct Moments {
    static constexpr bool associative_and_commutative = true;
    struct State {
        f64 count;
        f64 origin;
        f64 sum;     // of x − origin
        f64 squares; // of (x − origin)²
    };
    GRIDFOLD_FN static State identity() { return {0.0, 0.0, 0.0, 0.0}; }
    /// The element, or 0 if it is so large that a difference from it, times a count, might overflow.
    GRIDFOLD_FN static f64 origin(E element) {
        const f64 x = convert<f64>(element);
        return abs(x) < 0x1p1000 ? x : 0.0;
    }
    struct OfBlock {
        static constexpr bool associative_and_commutative = true;
        struct State {
            f64 sum;
            f64 squares;
        };
        GRIDFOLD_FN static State identity() { return {0.0, 0.0}; }
        GRIDFOLD_FN static void accumulate(State& s, E element, f64 origin) {
            const f64 d = convert<f64>(element) - origin;
            s = {s.sum + d, s.squares + d * d};
        }
        GRIDFOLD_FN static void combine(State& s, const State& t) { s = {s.sum + t.sum, s.squares + t.squares}; }
    };
    GRIDFOLD_FN static State close(const typename OfBlock::State& s, f64 origin, i64 elements) {
        return {f64(elements), origin, s.sum, s.squares}; // defect: close
    }
    GRIDFOLD_FN static void accumulate(State& s, E element, i64) {
        if (s.count == 0.0) s.origin = origin(element);
        typename OfBlock::State sums{s.sum, s.squares};
        OfBlock::accumulate(sums, element, s.origin);
        s = {s.count + 1.0, s.origin, sums.sum, sums.squares};
    }
    // Branch-free: branches would take most of its time, on the GPU and on the CPU.
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        const f64 way = t.origin - s.origin, s_way = s.count * way, t_way = t.count * way;
        const f64 squares_about_s = s.squares + (t.squares + 2.0 * way * (t.sum + 0.5 * t_way)); // defect: squares
        const f64 squares_about_t = t.squares + (s.squares - 2.0 * way * (s.sum - 0.5 * s_way));
        const bool about_t = s.count == 0.0 || (t.count != 0.0 && squares_about_t < squares_about_s); // defect: about t
        s = {s.count + t.count, about_t ? t.origin : s.origin,            // defect: new origin
             about_t ? t.sum + (s.sum - s_way) : s.sum + (t.sum + t_way), // defect: moved sum
             about_t ? squares_about_t : squares_about_s};
    }
    GRIDFOLD_FN static f64 mean(const State& s) { return s.origin + s.sum / s.count; }
    GRIDFOLD_FN static f64 variance(const State& s, f64 ddof) {
        const bool is_infinite =
            s.squares == infinity<f64>() && is_finite(s.sum); // the subtraction below would give NaN
        const f64 squares = is_infinite ? s.squares : s.squares - s.sum * (s.sum / s.count),
                  divisor = s.count - ddof; // defect: ddof
        return divisor > 0.0 ? (squares > 0.0 || squares != squares ? squares : 0.0) / divisor : quiet_nan<f64>();
    }
};

} // namespace GRIDFOLD_NAMESPACE
