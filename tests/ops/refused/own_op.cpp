// A user's op that breaks a rule does not compile, and the compiler says which rule. WRONG chooses the mistake; with
// none, 0 or less, the file compiles.
#include <gridfold/ops/op_macros.hpp>

#ifndef WRONG
#define WRONG 0
#endif

#if WRONG == 1
#define DECLARATION
#else
#define DECLARATION static constexpr bool associative_and_commutative = true;
#endif

// clang-format off
#if WRONG == 2
#define STATE struct State { A sum; State() = default; State(const State&) {} };
#elif WRONG == 3
#define STATE struct State { A sum; A more[64]; };
#elif WRONG == 4
#define STATE struct State { i32 count; f64 sum; };
#elif WRONG == 11
#define STATE struct State { A sum; f64 count; };
#elif WRONG == -1
#define STATE struct State { A sum; u32 count, peaks; };
#elif WRONG == -2
#define STATE struct State { A sum, peak; f64 count; };
#else
#define STATE struct State { A sum; };
#endif
// clang-format on

// clang-format off
#if WRONG == 7
#define COMBINE GRIDFOLD_FN static State combine(const State& s, const State& t) { return {s.sum + t.sum}; }
#elif WRONG == 8
#define COMBINE GRIDFOLD_FN static void combine(State s, const State& t) { s.sum = s.sum + t.sum; }
#else
#define COMBINE GRIDFOLD_FN static void combine(State& s, const State& t) { s.sum = s.sum + t.sum; }
#endif
// clang-format on

#if WRONG == 5
namespace somewhere {
#endif

GRIDFOLD_REDUCTION(total, "the sum", DECLARATION STATE
    GRIDFOLD_FN static State identity() { return State{}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.sum = s.sum + convert<decltype(s.sum)>(x); }
    COMBINE
    GRIDFOLD_FN static A finalize(const State& s) { return convert<A>(s.sum); })

#if WRONG == 5
}
#endif

#if WRONG == 6
GRIDFOLD_MAP(nonsense, 1, floating, "no such function", frobnicate(a))
#elif WRONG == 9
GRIDFOLD_MAP(binary, 1, floating, "b is no operand of a unary map", a + b)
#elif WRONG == 12
GRIDFOLD_MAP(quaternary, 4, floating, "a map has at most three operands", a)
#elif WRONG == 10
GRIDFOLD_MAP(f32, 1, floating, "reads as a cast", a)
#else
GRIDFOLD_MAP(twice, 1, same, "a + a", add(a, a))
#endif
