// Ops that own_ops_test.cpp defines differently under the same names, as two files of a program do by mistake.
// Both files also include own_ops.hpp, as they should.
#include "own_ops.hpp"

// In own_ops_test.cpp it is 3.
#define SOME_NUMBER 4

GRIDFOLD_MAP(defined_twice, 1, same, "twice a", add(a, a))
GRIDFOLD_MAP(defined_with_another_rule, 1, number, "a", a)
GRIDFOLD_MAP(times_a_macro, 1, number, "a * SOME_NUMBER", a * T(SOME_NUMBER))
// clang-format off
GRIDFOLD_MAP(spaced_otherwise,2,number,"another documentation",a<b?a- -b:a+T(1))
// clang-format on
GRIDFOLD_REDUCTION(folded_the_same, "a sum, laid out otherwise",
    static   constexpr bool associative_and_commutative=true;
    struct State{ A sum;};
    GRIDFOLD_FN static State identity(){ return {A(0)};}
    GRIDFOLD_FN static void accumulate(State&s,E x,i64)
    { s.sum = add(s.sum, convert<A>(x));
    }
    GRIDFOLD_FN static void combine(State&s,const State&t){ s.sum = add(s.sum, t.sum);}
    GRIDFOLD_FN static A finalize(const State&s){ return s.sum;})
GRIDFOLD_REDUCTION(folded_twice, "the sum, negated",
    static constexpr bool associative_and_commutative = true;
    struct State { A sum; };
    GRIDFOLD_FN static State identity() { return {A(0)}; }
    GRIDFOLD_FN static void accumulate(State& s, E x, i64) { s.sum = add(s.sum, convert<A>(x)); }
    GRIDFOLD_FN static void combine(State& s, const State& t) { s.sum = add(s.sum, t.sum); }
    GRIDFOLD_FN static A finalize(const State& s) { return neg(s.sum); })
