// Mean and variance, covariance and correlation, and weighted means. Depends on prelude.cuh; the contract of a monoid
// is in monoid.cuh.
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
struct MomentsStates {
    static constexpr bool associative_and_commutative = true;
    struct State {
        f64 count;
        f64 origin;
        f64 sum;     // of x − origin
        f64 squares; // of (x − origin)²
    };
    GRIDFOLD_FN static State identity() { return {0.0, 0.0, 0.0, 0.0}; }
    struct OfBlock {
        static constexpr bool associative_and_commutative = true;
        struct State {
            f64 sum;
            f64 squares;
        };
        GRIDFOLD_FN static State identity() { return {-0.0, -0.0}; } // as in Total
        GRIDFOLD_FN static void combine(State& s, const State& t) { s = {s.sum + t.sum, s.squares + t.squares}; }
    };
    GRIDFOLD_FN static State close(const OfBlock::State& s, f64 origin, i64 elements) {
        return {f64(elements), origin, s.sum, s.squares}; // defect: close
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
template <class E, class A> struct Moments : MomentsStates {
    using States = MomentsStates;
    /// The element, or 0 if it is so large that a difference from it, times a count, might overflow.
    GRIDFOLD_FN static f64 origin(E element) {
        const f64 x = convert<f64>(element);
        return abs(x) < 0x1p1000 ? x : 0.0;
    }
    struct OfBlock : States::OfBlock {
        using State = States::OfBlock::State;
        GRIDFOLD_FN static void accumulate(State& s, E element, f64 origin) {
            const f64 d = convert<f64>(element) - origin;
            s = {s.sum + d, s.squares + d * d};
        }
    };
    GRIDFOLD_FN static void accumulate(State& s, E element, i64) {
        if (s.count == 0.0) s.origin = origin(element);
        typename OfBlock::State sums{s.sum, s.squares};
        OfBlock::accumulate(sums, element, s.origin);
        s = {s.count + 1.0, s.origin, sums.sum, sums.squares};
    }
};

/// The moments of two operands together, in f64, as Moments: each operand has an origin of its own.
struct CoMomentsStates {
    static constexpr bool associative_and_commutative = true;
    static constexpr int operands = 2;
    struct Origin {
        f64 x, y;
    };
    struct Sums {
        f64 x, y;       // of the differences from the origins
        f64 xx, yy, xy; // of their products
    };
    struct State {
        f64 count, x_origin, y_origin;
        f64 x, y, xx, yy, xy; // Sums
    };
    GRIDFOLD_FN static State identity() { return {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}; }
    struct OfBlock {
        static constexpr bool associative_and_commutative = true;
        static constexpr int operands = 2;
        using State = Sums;
        GRIDFOLD_FN static State identity() { return {0.0, 0.0, 0.0, 0.0, 0.0}; }
        GRIDFOLD_FN static void combine(State& s, const State& t) {
            s = {s.x + t.x, s.y + t.y, s.xx + t.xx, s.yy + t.yy, s.xy + t.xy};
        }
    };
    GRIDFOLD_FN static State close(const Sums& s, const Origin& origin, i64 elements) {
        return {f64(elements), origin.x, origin.y, s.x, s.y, s.xx, s.yy, s.xy};
    }
    GRIDFOLD_FN static Sums sums(const State& s) { return {s.x, s.y, s.xx, s.yy, s.xy}; }
    /// The sums of `count` elements about origins that are `x` and `y` lower.
    GRIDFOLD_FN static Sums moved(const Sums& s, f64 count, f64 x, f64 y) {
        return {s.x + count * x, s.y + count * y, s.xx + 2.0 * x * (s.x + 0.5 * count * x),
                s.yy + 2.0 * y * (s.y + 0.5 * count * y),
                s.xy + x * s.y + y * (s.x + count * x)}; // defect: moved product
    }
    // Branch-free, as that of Moments.
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        const f64 x = t.x_origin - s.x_origin, y = t.y_origin - s.y_origin;
        const Sums s_about_t = moved(sums(s), s.count, -x, -y), t_about_s = moved(sums(t), t.count, x, y);
        const bool none = s.count == 0.0, some = t.count != 0.0;
        const bool x_of_t = none || (some && t.xx + s_about_t.xx < s.xx + t_about_s.xx);
        const bool y_of_t = none || (some && t.yy + s_about_t.yy < s.yy + t_about_s.yy);
        const Sums a = moved(sums(s), s.count, x_of_t ? -x : 0.0, y_of_t ? -y : 0.0); // defect: moved sums
        const Sums b = moved(sums(t), t.count, x_of_t ? 0.0 : x, y_of_t ? 0.0 : y);
        // What one side has alone stays as it is: a sum that has overflowed would not survive a product with 0.
        const auto of = [&](f64 own, f64 other, f64 both) { return none ? other : some ? both : own; };
        s = {s.count + t.count,
             x_of_t ? t.x_origin : s.x_origin, // defect: new origins
             y_of_t ? t.y_origin : s.y_origin,
             of(s.x, t.x, a.x + b.x),
             of(s.y, t.y, a.y + b.y),
             of(s.xx, t.xx, a.xx + b.xx),
             of(s.yy, t.yy, a.yy + b.yy),
             of(s.xy, t.xy, a.xy + b.xy)};
    }
    GRIDFOLD_FN static f64 covariance(const State& s, f64 ddof) {
        const f64 divisor = s.count - ddof; // defect: ddof of covariance
        // An infinity has no distance from a mean; the subtraction below could still give one.
        const bool has_means = is_finite(s.x) && is_finite(s.y);
        return divisor > 0.0 && has_means ? (s.xy - s.x * (s.y / s.count)) / divisor : quiet_nan<f64>();
    }
    GRIDFOLD_FN static f64 correlation(const State& s) {
        const f64 xx = s.xx - s.x * (s.x / s.count), yy = s.yy - s.y * (s.y / s.count);
        const f64 r = (s.xy - s.x * (s.y / s.count)) / (sqrt(xx) * sqrt(yy));
        return xx > 0.0 && yy > 0.0 ? maximum(-1.0, minimum(1.0, r)) : quiet_nan<f64>();
    }
};

template <class E, class A> struct CoMoments : CoMomentsStates {
    using States = CoMomentsStates;
    GRIDFOLD_FN static Origin origin(E x, E y) { return {Moments<E, A>::origin(x), Moments<E, A>::origin(y)}; }
    struct OfBlock : States::OfBlock {
        using State = Sums;
        GRIDFOLD_FN static void accumulate(State& s, E x, E y, const Origin& origin) {
            const f64 a = convert<f64>(x) - origin.x, b = convert<f64>(y) - origin.y;
            s = {s.x + a, s.y + b, s.xx + a * a, s.yy + b * b, s.xy + a * b}; // defect: product of differences
        }
    };
    GRIDFOLD_FN static void accumulate(State& s, E x, E y, i64) {
        const Origin first = origin(x, y);
        const Origin about{s.count == 0.0 ? first.x : s.x_origin, s.count == 0.0 ? first.y : s.y_origin};
        Sums sum = sums(s);
        OfBlock::accumulate(sum, x, y, about);
        s = {s.count + 1.0, about.x, about.y, sum.x, sum.y, sum.xx, sum.yy, sum.xy};
    }
};

/// The sums of weights and of weighted elements, in f64.
template <class E, class A> struct Weighted {
    static constexpr bool associative_and_commutative = true;
    static constexpr bool symmetric = true;
    static constexpr int operands = 2;
    struct State {
        f64 sum, weight;
    };
    GRIDFOLD_FN static State identity() { return {0.0, 0.0}; }
    GRIDFOLD_FN static void accumulate(State& s, E element, E weight, i64) {
        const f64 w = convert<f64>(weight);
        s = {s.sum + convert<f64>(element) * w, s.weight + w}; // defect: weighted sum
    }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s = {s.sum + t.sum, s.weight + t.weight}; }
};

} // namespace GRIDFOLD_NAMESPACE
