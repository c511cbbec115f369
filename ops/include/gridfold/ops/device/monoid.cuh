// The monoids behind the reductions: State, identity, accumulate, combine and what is read off the end. Compiled by the
// host compiler for the CPU backend and by NVRTC for generated kernels.
//
// E is the element type (bool, i8 … u64, f32, f64), A the accumulator type. accumulate sees the elements of one lane in
// increasing index order; combine(s, t) gets s from before t. A State has no padding and at most 64 words.
// Depends on prelude.cuh alone.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// Sum, in A.
template <class E, class A> struct Sum {
    struct State {
        A sum;
    };
    GRIDFOLD_FN static State identity() { return {A(0)}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.sum = add(s.sum, convert<A>(x)); }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.sum = add(s.sum, t.sum); }
};

/// Count, mean and summed squared distance from the mean, in f64, without E[x²] − E[x]².
///
/// A lane sums d and d² about its first finite element (the origin): one pass, no division an element. combine() first
/// turns both sides into (count, mean, squares about the mean), so that a lane's origin never costs another lane's
/// digits, and joins them by Chan, Golub and LeVeque's rule (1979).
template <class E, class A> struct Moments {
    struct State {
        i64 count;
        f64 origin;
        f64 sum;     // of x − origin
        f64 squares; // of (x − origin)²
    };
    GRIDFOLD_FN static State identity() { return {0, 0.0, 0.0, 0.0}; }
    GRIDFOLD_FN static void accumulate(State& s, E element, i64) {
        const f64 x = convert<f64>(element);
        if (s.count == 0) s.origin = is_finite(x) ? x : 0.0;
        const f64 d = x - s.origin;
        s.count += 1;
        s.sum = s.sum + d;
        s.squares = s.squares + d * d;
    }
    GRIDFOLD_FN static f64 mean(const State& s) { return s.origin + s.sum / f64(s.count); }
    GRIDFOLD_FN static f64 centred_squares(const State& s) { return s.squares - s.sum * (s.sum / f64(s.count)); }
    GRIDFOLD_FN static void combine(State& s, const State& t) {
        if (t.count == 0) return;
        if (s.count == 0) {
            s = t;
            return;
        }
        const f64 count = f64(s.count + t.count);
        const f64 left = mean(s), right = mean(t), delta = right - left;
        const f64 share = f64(t.count) / count;
        const f64 middle = is_finite(delta) ? left + delta * share : left + right;
        const f64 squares = centred_squares(s) + centred_squares(t) + delta * delta * (f64(s.count) * share);
        s = {s.count + t.count, middle, 0.0, squares};
    }
    GRIDFOLD_FN static f64 variance(const State& s, f64 ddof) {
        const f64 squares = centred_squares(s);
        const f64 divisor = f64(s.count) - ddof;
        return divisor > 0.0 ? (squares > 0.0 || squares != squares ? squares : 0.0) / divisor : quiet_nan<f64>();
    }
};

} // namespace GRIDFOLD_NAMESPACE
