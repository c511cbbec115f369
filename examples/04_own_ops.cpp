// A user's own map and reduction. This file's compiler compiles their tokens for the CPU, and NVRTC compiles them for a
// GPU.
#include <cmath>
#include <iostream>
#include <vector>

#include <gridfold/gridfold.hpp>

// Huber's loss: a square near 0, a line beyond `b`. Every device gives the same bits.
GRIDFOLD_MAP(huber, 2, floating, "Huber's loss of a, linear beyond b",
             abs(a) <= b ? T(0.5) * a * a : b * (abs(a) - T(0.5) * b))

// The element of largest magnitude, with its sign. Combining gives the state farther from 0, on ties the positive one.
GRIDFOLD_REDUCTION(
    peak, "the element farthest from 0, the positive one of a tie",
    static constexpr bool associative_and_commutative = true;
    struct State { A value; };
    GRIDFOLD_FN static State identity() { return {A(0)}; } GRIDFOLD_FN static void accumulate(State& s, E x, i64) {
        combine(s, {convert<A>(x)});
    } GRIDFOLD_FN static void combine(State& s, const State& t) {
        const A mine = abs(s.value), other = abs(t.value);
        if (other > mine || (other == mine && t.value > s.value)) s.value = t.value;
    } GRIDFOLD_FN static A finalize(const State& s) { return s.value; })

int main() {
    std::vector<float> errors(100'000);
    for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = static_cast<float>(i % 7) - 3.0F;
    errors[77'777] = -42;

    // Both are now functions of gf, and names of the text form.
    const gf::Executable exe =
        gf::compile(gf::parse("fit(e: f32[n], delta: f32) -> loss = mean(huber(e, delta)), worst = peak(e)"));
    const gf::Results r = exe.run({{"e", errors}, {"delta", 1.5}});
    std::cout << "mean loss " << r.get<float>("loss") << ", worst error " << r.get<float>("worst") << "\n\n"
              << exe.explain();

    double loss = 0;
    for (const float e : errors) loss += std::abs(e) <= 1.5 ? 0.5 * e * e : 1.5 * (std::abs(e) - 0.75);
    const bool right = r.get<float>("worst") == -42 && std::abs(r.get<float>("loss") - loss / 1e5) < 1e-5;
    if (!right) std::cerr << "wrong\n";
    return right ? 0 : 1;
}
