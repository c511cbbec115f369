// Exact integers by the compiler's checked arithmetic: tried with a signed result, then with an unsigned one.
#include "literal_arithmetic.hpp"

#include <fmt/format.h>

#include <gridfold/core/error.hpp>

namespace gf::detail {

namespace {

/// Calls f with the literal's integer as the type that holds it.
template <class F> auto with_integer(Literal a, F&& f) {
    return a.kind == Literal::Kind::unsigned_integer ? f(a.unsigned_integer) : f(a.integer);
}

double to_f64(Literal a) {
    return a.kind == Literal::Kind::floating ? a.floating
                                             : with_integer(a, [](auto i) { return static_cast<double>(i); });
}

/// `overflows(result)` stores the result and returns true if its type cannot hold it.
template <class F> Literal exact(F&& overflows) {
    if (std::int64_t result = 0; !overflows(&result)) return result;
    if (std::uint64_t result = 0; !overflows(&result)) return result;
    throw InvalidGraph("the integer that this gives", "it does not fit 64 bits", "write a floating number, as 1e20");
}

void check_number(std::string_view symbol, Literal a) {
    if (a.kind == Literal::Kind::boolean)
        throw InvalidGraph(fmt::format("'{}' of true or false", symbol), "it takes numbers", "write 1 or 0");
}

} // namespace

Literal negate(Literal a) {
    check_number("-", a);
    if (a.kind == Literal::Kind::floating) return -a.floating;
    return with_integer(
        a, [](auto i) { return exact([i](auto* result) { return __builtin_sub_overflow(0, i, result); }); });
}

Literal compute(std::string_view symbol, Literal a, Literal b) {
    if (symbol != "+" && symbol != "-" && symbol != "*" && symbol != "/")
        throw InvalidGraph(fmt::format("'{}' of two numbers", symbol), "numbers among themselves know + - * /",
                           "give one a type, as i32(2)");
    check_number(symbol, a);
    check_number(symbol, b);
    const char operation = symbol[0];
    if (operation == '/' && to_f64(b) == 0)
        throw InvalidGraph("a number divided by 0", "its value is not a number", "write inf or nan");
    if (operation == '/' || a.kind == Literal::Kind::floating || b.kind == Literal::Kind::floating) {
        const double x = to_f64(a), y = to_f64(b);
        return operation == '+' ? x + y : operation == '-' ? x - y : operation == '*' ? x * y : x / y;
    }
    return with_integer(a, [&](auto i) {
        return with_integer(b, [&](auto j) {
            return exact([&](auto* result) {
                return operation == '+'   ? __builtin_add_overflow(i, j, result)
                       : operation == '-' ? __builtin_sub_overflow(i, j, result)
                                          : __builtin_mul_overflow(i, j, result);
            });
        });
    });
}

} // namespace gf::detail
