// The oracle's maps, by name, written from NumPy's definitions and the numerics contract (README.md).
#include "oracle.hpp"

#include <unordered_map>

#include <gridfold/core/device/prelude.cuh>

namespace gf::oracle {

namespace {

using Table = std::unordered_map<std::string_view, Function>;

/// Converts f to a Function: operands are read as the types of f's parameters.
template <class A, class B, class C, class F> Function on_bits(F) {
    return [](Bits a, Bits b, Bits c) { return to_bits(F{}(from_bits<A>(a), from_bits<B>(b), from_bits<C>(c))); };
}
template <class T, class F> Function unary(F) {
    return [](Bits a, Bits, Bits) { return to_bits(F{}(from_bits<T>(a))); };
}
template <class T, class F> Function binary(F) {
    return [](Bits a, Bits b, Bits) { return to_bits(F{}(from_bits<T>(a), from_bits<T>(b))); };
}
template <class T, class F> Function ternary(F f) { return on_bits<T, T, T>(f); }

template <class T> void add_comparisons(Table& table) {
    table["equal"] = binary<T>([](T a, T b) { return a == b; });
    table["not_equal"] = binary<T>([](T a, T b) { return a != b; });
    table["less"] = binary<T>([](T a, T b) { return a < b; });
    table["less_equal"] = binary<T>([](T a, T b) { return a <= b; });
    table["greater"] = binary<T>([](T a, T b) { return a > b; });
    table["greater_equal"] = binary<T>([](T a, T b) { return a >= b; });
    table["select"] = on_bits<bool, T, T>([](bool c, T a, T b) { return c ? a : b; });
    table["choose"] = table["select"];
}

Table bools() {
    Table table;
    add_comparisons<bool>(table);
    const Function both = binary<bool>([](bool a, bool b) { return a && b; });
    const Function either = binary<bool>([](bool a, bool b) { return a || b; });
    const Function differ = binary<bool>([](bool a, bool b) { return a != b; });
    const Function opposite = unary<bool>([](bool a) { return !a; });
    const Function itself = unary<bool>([](bool a) { return a; });
    for (const char* name : {"mul", "min", "logical_and", "bitwise_and"}) table[name] = both;
    for (const char* name : {"add", "max", "logical_or", "bitwise_or"}) table[name] = either;
    for (const char* name : {"logical_xor", "bitwise_xor"}) table[name] = differ;
    for (const char* name : {"logical_not", "bitwise_not"}) table[name] = opposite;
    for (const char* name : {"abs", "floor", "ceil", "round", "trunc"}) table[name] = itself;
    table["clamp"] = ternary<bool>([](bool a, bool low, bool high) { return (a || low) && high; });
    table["fma"] = ternary<bool>([](bool a, bool b, bool c) { return (a && b) || c; });
    table["isnan"] = table["isinf"] = unary<bool>([](bool) { return false; });
    table["isfinite"] = unary<bool>([](bool) { return true; });
    return table;
}

/// Integer division: the quotient is rounded down; division by 0 gives 0; the result wraps.
struct Division {
    Wide quotient = 0, remainder = 0;
    Division(Wide a, Wide b) {
        if (b == 0) return;
        quotient = a / b;
        remainder = a % b;
        if (remainder != 0 && (remainder < 0) != (b < 0)) {
            quotient -= 1;
            remainder += b;
        }
    }
};

template <class T> T power(T a, T b) {
    if (b < 0) return a == 1 ? T(1) : static_cast<Wide>(a) == -1 ? T(b % 2 == 0 ? 1 : -1) : T(0);
    if (b == 0) return T(1);
    const auto half = static_cast<std::uint64_t>(power(a, T(b / 2)));
    return T(half * half * (b % 2 != 0 ? static_cast<std::uint64_t>(a) : 1));
}

template <class T> T shifted(T a, T count, bool left) {
    const auto n = static_cast<Wide>(count);
    const bool outside = n < 0 || n >= static_cast<Wide>(8 * sizeof(T));
    if (left) return outside ? T(0) : T(static_cast<std::uint64_t>(a) << static_cast<int>(n));
    if (outside) return T(a < 0 ? -1 : 0);
    return T(Division(a, Wide{1} << static_cast<int>(n)).quotient);
}

template <class T> Table integers() {
    Table table;
    add_comparisons<T>(table);
    // The conversion to T keeps the low bits of sums in 128 bits and of products in 64.
    table["add"] = binary<T>([](T a, T b) { return T(Wide{a} + b); });
    table["sub"] = binary<T>([](T a, T b) { return T(Wide{a} - b); });
    table["mul"] = binary<T>([](T a, T b) { return T(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)); });
    table["fma"] = ternary<T>([](T a, T b, T c) {
        return T(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b) + static_cast<std::uint64_t>(c));
    });
    table["neg"] = unary<T>([](T a) { return T(-Wide{a}); });
    table["abs"] = unary<T>([](T a) { return T(a < 0 ? -Wide{a} : Wide{a}); });
    table["sign"] = unary<T>([](T a) { return T(a > 0 ? 1 : a < 0 ? -1 : 0); });
    table["relu"] = unary<T>([](T a) { return a > 0 ? a : T(0); });
    table["min"] = binary<T>([](T a, T b) { return std::min(a, b); });
    table["max"] = binary<T>([](T a, T b) { return std::max(a, b); });
    table["clamp"] = ternary<T>([](T a, T low, T high) { return std::min(std::max(a, low), high); });
    table["floor_div"] = binary<T>([](T a, T b) { return T(Division(a, b).quotient); });
    table["remainder"] = binary<T>([](T a, T b) { return T(Division(a, b).remainder); });
    table["pow"] = binary<T>([](T a, T b) { return power(a, b); });
    for (const char* name : {"floor", "ceil", "round", "trunc"}) table[name] = unary<T>([](T a) { return a; });
    table["bitwise_and"] = binary<T>([](T a, T b) { return T(a & b); });
    table["bitwise_or"] = binary<T>([](T a, T b) { return T(a | b); });
    table["bitwise_xor"] = binary<T>([](T a, T b) { return T(a ^ b); });
    table["bitwise_not"] = unary<T>([](T a) { return T(-1 - Wide{a}); });
    table["shift_left"] = binary<T>([](T a, T b) { return shifted(a, b, true); });
    table["shift_right"] = binary<T>([](T a, T b) { return shifted(a, b, false); });
    table["isnan"] = table["isinf"] = unary<T>([](T) { return false; });
    table["isfinite"] = unary<T>([](T) { return true; });
    return table;
}

template <class T> T least(T a, T b) {
    if (std::isnan(a) || std::isnan(b)) return a + b;
    return a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b);
}
template <class T> T greatest(T a, T b) {
    if (std::isnan(a) || std::isnan(b)) return a + b;
    return a == b ? (std::signbit(a) ? b : a) : std::fmax(a, b);
}

/// a mod b with b's sign, as NumPy's remainder.
template <class T> T modulo(T a, T b) {
    const T rest = std::fmod(a, b);
    if (std::isnan(rest)) return rest;
    if (rest == 0) return std::copysign(rest, b);
    return std::signbit(rest) == std::signbit(b) ? rest : rest + b;
}

/// NumPy's floor_divide: computed from the exact remainder, so that both agree.
template <class T> T floor_divided(T a, T b) {
    if (b == 0) return a / b;
    const T rest = std::fmod(a, b);
    const T quotient = (a - rest) / b - (rest != 0 && std::signbit(rest) != std::signbit(b) ? T(1) : T(0));
    if (quotient == 0) return std::copysign(T(0), a / b);
    const T down = std::floor(quotient);
    return quotient - down > T(0.5) ? down + 1 : down;
}

template <class T> Table floats() {
    Table table;
    add_comparisons<T>(table);
    table["add"] = binary<T>([](T a, T b) { return a + b; });
    table["sub"] = binary<T>([](T a, T b) { return a - b; });
    table["mul"] = binary<T>([](T a, T b) { return a * b; });
    table["divide"] = binary<T>([](T a, T b) { return a / b; });
    table["fma"] = ternary<T>([](T a, T b, T c) { return std::fma(a, b, c); });
    table["floor_div"] = binary<T>([](T a, T b) { return floor_divided(a, b); });
    table["remainder"] = binary<T>([](T a, T b) { return modulo(a, b); });
    table["neg"] = unary<T>([](T a) { return -a; });
    table["abs"] = unary<T>([](T a) { return std::fabs(a); });
    table["sign"] = unary<T>([](T a) { return std::isnan(a) ? a : a == 0 ? T(0) : std::copysign(T(1), a); });
    table["relu"] = unary<T>([](T a) { return std::isnan(a) || a > 0 ? a : T(0); });
    table["min"] = binary<T>([](T a, T b) { return least(a, b); });
    table["max"] = binary<T>([](T a, T b) { return greatest(a, b); });
    table["clamp"] = ternary<T>([](T a, T low, T high) { return least(greatest(a, low), high); });
    table["floor"] = unary<T>([](T a) { return std::floor(a); });
    table["ceil"] = unary<T>([](T a) { return std::ceil(a); });
    table["round"] = unary<T>([](T a) { return std::nearbyint(a); });
    table["trunc"] = unary<T>([](T a) { return std::trunc(a); });
    table["sqrt"] = unary<T>([](T a) { return std::sqrt(a); });
    table["rsqrt"] = unary<T>([](T a) { return 1 / std::sqrt(a); });
    table["isnan"] = unary<T>([](T a) { return std::isnan(a); });
    table["isinf"] = unary<T>([](T a) { return std::isinf(a); });
    table["isfinite"] = unary<T>([](T a) { return std::isfinite(a); });

    // The functions' own errors are bounded by other tests (tests/functions): here they are what they are.
#define GRIDFOLD_OWN_1(name) table[#name] = unary<T>([](T a) { return device::name(a); })
#define GRIDFOLD_OWN_2(name) table[#name] = binary<T>([](T a, T b) { return device::name(a, b); })
    GRIDFOLD_OWN_2(pow);
    GRIDFOLD_OWN_2(hypot);
    GRIDFOLD_OWN_2(atan2);
    GRIDFOLD_OWN_1(sigmoid);
    GRIDFOLD_OWN_1(cbrt);
    GRIDFOLD_OWN_1(exp);
    GRIDFOLD_OWN_1(exp2);
    GRIDFOLD_OWN_1(expm1);
    GRIDFOLD_OWN_1(log);
    GRIDFOLD_OWN_1(log2);
    GRIDFOLD_OWN_1(log10);
    GRIDFOLD_OWN_1(log1p);
    GRIDFOLD_OWN_1(sin);
    GRIDFOLD_OWN_1(cos);
    GRIDFOLD_OWN_1(tan);
    GRIDFOLD_OWN_1(asin);
    GRIDFOLD_OWN_1(acos);
    GRIDFOLD_OWN_1(atan);
    GRIDFOLD_OWN_1(sinh);
    GRIDFOLD_OWN_1(cosh);
    GRIDFOLD_OWN_1(tanh);
    GRIDFOLD_OWN_1(asinh);
    GRIDFOLD_OWN_1(acosh);
    GRIDFOLD_OWN_1(atanh);
    GRIDFOLD_OWN_1(erf);
    GRIDFOLD_OWN_1(erfc);
#undef GRIDFOLD_OWN_1
#undef GRIDFOLD_OWN_2
    return table;
}

const Table& table_of(DType compute) {
    static const std::unordered_map<DType, Table> tables{
        {DType::boolean, bools()},
        {DType::i8, integers<std::int8_t>()},
        {DType::i16, integers<std::int16_t>()},
        {DType::i32, integers<std::int32_t>()},
        {DType::i64, integers<std::int64_t>()},
        {DType::u8, integers<std::uint8_t>()},
        {DType::u16, integers<std::uint16_t>()},
        {DType::u32, integers<std::uint32_t>()},
        {DType::u64, integers<std::uint64_t>()},
        {DType::f32, floats<float>()},
        {DType::f64, floats<double>()},
    };
    return tables.at(compute);
}

} // namespace

Function map_function(std::string_view name, DType compute) {
    const Table& table = table_of(compute);
    const auto found = table.find(name);
    if (found == table.end())
        throw InternalError("oracle: no map " + std::string(name) + " in " + std::string(to_text(compute)));
    return found->second;
}

} // namespace gf::oracle
