// Promotion, the type rules of maps and reductions, and literals.
#include <gridfold/ops/type_rule.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "refusal.hpp"

namespace gf {
namespace {

using detail::refusal;

/// "add(f32, 3)"
std::string in_words(const MapOp& row, std::span<const OperandType> operands) {
    std::vector<std::string> words;
    for (const OperandType& operand : operands)
        words.push_back(operand.type ? std::string(to_text(*operand.type)) : to_text(*operand.literal));
    return fmt::format("{}({})", row.name, fmt::join(words, ", "));
}

bool is_integer_literal(Literal literal) {
    return literal.kind == Literal::Kind::integer || literal.kind == Literal::Kind::unsigned_integer;
}

/// The type of literals combined with values of type `strong`, if any.
DType common_type(std::optional<DType> strong, bool any_floating, bool any_integer) {
    if (any_floating) return strong && is_floating(*strong) ? *strong : DType::f64;
    if (any_integer) return strong && *strong != DType::boolean ? *strong : DType::i64;
    return strong.value_or(DType::boolean);
}

DType common_type(std::span<const OperandType> operands) {
    std::optional<DType> strong;
    bool any_floating = false, any_integer = false;
    for (const OperandType& operand : operands) {
        if (operand.type) {
            strong = strong ? promote(*strong, *operand.type) : *operand.type;
        } else {
            any_floating |= operand.literal->kind == Literal::Kind::floating;
            any_integer |= is_integer_literal(*operand.literal);
        }
    }
    return common_type(strong, any_floating, any_integer);
}

/// NumPy's type for functions that only floats have.
DType floating_type(DType promoted) {
    if (is_floating(promoted)) return promoted;
    switch (size_of(promoted)) {
    case 1: return DType::f16;
    case 2: return DType::f32;
    default: return DType::f64;
    }
}

/// The smallest of f16, f32 and f64 that holds each operand's own floating_type(). It may be smaller than that of the
/// promoted integer: i8 and u8 promote to i16, but hypot converts both to f16.
DType floating_type(std::span<const OperandType> operands, DType promoted) {
    if (is_floating(promoted)) return promoted;
    DType type = DType::f16;
    bool only_bool = true;
    for (const OperandType& operand : operands)
        if (operand.type) {
            type = promote(type, floating_type(*operand.type));
            only_bool &= *operand.type == DType::boolean;
        }
    return only_bool ? floating_type(promoted) : type; // an integer literal makes bool i64
}

/// The type that a map of this rule would compute in.
DType compute_of(TypeRule rule, std::span<const OperandType> operands, DType promoted) {
    switch (rule) {
    case TypeRule::quotient: return is_floating(promoted) ? promoted : DType::f64;
    case TypeRule::floating: return floating_type(operands, promoted);
    case TypeRule::logical: return DType::boolean;
    default: return promoted;
    }
}

/// The reason why a row does not compute in a type.
struct Refused {
    std::string rule;
    std::string_view fix;
};
std::optional<Refused> refused_in(const MapOp& row, std::span<const OperandType> operands, DType compute) {
    if (computes_in(row.rule, compute)) {
        if (!row.user_kernels || (*row.user_kernels)[static_cast<std::size_t>(value_type(compute))]) return {};
        return Refused{fmt::format("its expression has no meaning for the type {}", to_text(compute)),
                       "cast the operands to a type that it is written for"};
    }
    const auto but = [&](std::string_view rule) {
        return fmt::format("{}, and {} {}", rule,
                           operands.size() == 1 ? "the operand is" : "the operands' common type is", to_text(compute));
    };
    constexpr std::string_view to_integer = "cast the operands to one integer type";
    if (&row == &map_op::bitwise_xor)
        return Refused{but("it takes integers and bool"),
                       "a power is pow(x, 2), or x * x; for bits, cast to an integer"};
    if (row.rule == TypeRule::integer) return Refused{but("it takes integers and bool"), to_integer};
    if (row.rule == TypeRule::shift) return Refused{but("it shifts integers"), to_integer};
    return Refused{but("it takes numbers"), "cast an operand: i32(x), in C++ gf::cast(x, gf::DType::i32)"};
}

/// A literal's value as an integer type, if that represents it exactly.
template <class T> std::optional<T> integer_value(Literal literal) {
    using Limits = std::numeric_limits<T>;
    switch (literal.kind) {
    case Literal::Kind::boolean: return static_cast<T>(literal.boolean);
    case Literal::Kind::integer:
        if (!std::in_range<T>(literal.integer)) return {};
        return static_cast<T>(literal.integer);
    case Literal::Kind::unsigned_integer:
        if (!std::in_range<T>(literal.unsigned_integer)) return {};
        return static_cast<T>(literal.unsigned_integer);
    case Literal::Kind::floating: {
        const double low = static_cast<double>(Limits::min());
        const double above = static_cast<double>(Limits::max() / 2 + 1) * 2;
        if (!(literal.floating >= low && literal.floating < above)) return {};
        const T whole = static_cast<T>(literal.floating);
        if (static_cast<double>(whole) != literal.floating) return {};
        return whole;
    }
    }
    return {};
}

/// Calls f with the literal's value in its own type.
template <class F> auto with_number(Literal literal, F f) {
    switch (literal.kind) {
    case Literal::Kind::boolean: return f(literal.boolean);
    case Literal::Kind::integer: return f(literal.integer);
    case Literal::Kind::unsigned_integer: return f(literal.unsigned_integer);
    case Literal::Kind::floating: return f(literal.floating);
    }
    return f(false);
}

} // namespace

std::string_view to_text(TypeRule rule) {
    switch (rule) {
    case TypeRule::same: return "same";
    case TypeRule::number: return "number";
    case TypeRule::quotient: return "quotient";
    case TypeRule::floating: return "floating";
    case TypeRule::integer: return "integer";
    case TypeRule::shift: return "shift";
    case TypeRule::compare: return "compare";
    case TypeRule::logical: return "logical";
    case TypeRule::test: return "test";
    case TypeRule::select: return "select";
    }
    return "";
}

std::string_view to_text(ReduceArgument argument) {
    switch (argument) {
    case ReduceArgument::none: return "none";
    case ReduceArgument::ddof: return "ddof";
    case ReduceArgument::rank: return "rank";
    }
    return "";
}

std::string to_text(Literal literal) {
    switch (literal.kind) {
    case Literal::Kind::boolean: return literal.boolean ? "true" : "false";
    case Literal::Kind::integer: return std::to_string(literal.integer);
    case Literal::Kind::unsigned_integer: return std::to_string(literal.unsigned_integer);
    case Literal::Kind::floating: return fmt::format("{}", literal.floating);
    }
    return {};
}

DType promote(DType a, DType b) {
    if (a == b || b == DType::boolean) return a;
    if (a == DType::boolean) return b;
    const std::size_t a_size = size_of(a), b_size = size_of(b);
    if (is_floating(a) && is_floating(b)) return a_size == b_size ? DType::f32 : a_size > b_size ? a : b;
    if (is_floating(a) || is_floating(b)) {
        const DType floating = is_floating(a) ? a : b;
        switch (is_floating(a) ? b_size : a_size) {
        case 1: return floating;
        case 2: return promote(floating, DType::f32); // defect: 16 bits
        default: return DType::f64;
        }
    }
    if (kind_of(a) == kind_of(b)) return a_size > b_size ? a : b;
    const DType signed_type = kind_of(a) == Kind::signed_integer ? a : b;
    const std::size_t unsigned_size = signed_type == a ? b_size : a_size;
    if (size_of(signed_type) > unsigned_size) return signed_type;
    switch (unsigned_size) {
    case 1: return DType::i16;
    case 2: return DType::i32;
    case 4: return DType::i64;
    default: return DType::f64;
    }
}

MapTyping map_typing(const MapOp& row, std::span<const OperandType> operands) {
    const bool selects = row.rule == TypeRule::select;
    if (selects &&
        (operands[0].type ? *operands[0].type != DType::boolean : operands[0].literal->kind != Literal::Kind::boolean))
        throw refusal(in_words(row, operands), "its first operand is bool", "compare it, as in x != 0");

    const auto promoted_operands = operands.subspan(selects ? 1 : 0);
    const DType promoted = common_type(promoted_operands);
    const DType compute = compute_of(row.rule, promoted_operands, promoted);
    if (const auto refused = refused_in(row, promoted_operands, compute))
        throw refusal(in_words(row, operands), refused->rule, refused->fix);

    if (is_integer(compute))
        for (const OperandType& operand : promoted_operands)
            if (operand.literal) try {
                    constant_bits(*operand.literal, compute);
                } catch (const InvalidGraph& error) {
                    throw InvalidGraph(fmt::format("{}: {}", in_words(row, operands), error.subject()), error.rule(),
                                       error.fix());
                }

    MapTyping typing{.compute = compute, .result = gives_bool(row.rule) ? DType::boolean : compute};
    typing.operands.fill(compute);
    if (selects) typing.operands[0] = DType::boolean;
    return typing;
}

std::uint64_t constant_bits(Literal literal, DType type) {
    switch (kind_of(type)) {
    case Kind::boolean: return with_number(literal, [](auto number) -> std::uint64_t { return number != 0; });
    case Kind::floating:
        return with_number(literal, [type](auto number) -> std::uint64_t {
            switch (type) {
            case DType::f16: return device::f32_to_f16(device::to_f32_odd(number));
            case DType::bf16: return device::f32_to_bf16(device::to_f32_odd(number));
            case DType::f32: return std::bit_cast<std::uint32_t>(static_cast<float>(number));
            default: return std::bit_cast<std::uint64_t>(static_cast<double>(number));
            }
        });
    case Kind::signed_integer:
    case Kind::unsigned_integer: break;
    }
    return with_type(type, [&]<class T>(T) -> std::uint64_t {
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
            if (const auto value = integer_value<T>(literal)) return std::make_unsigned_t<T>(*value);
            throw refusal(fmt::format("the number {}", to_text(literal)),
                          fmt::format("{} holds the whole numbers from {} to {}", to_text(type),
                                      std::numeric_limits<T>::min(), std::numeric_limits<T>::max()),
                          "cast the values that it meets to a type that holds it");
        } else {
            throw InternalError("an integer type that is none");
        }
    });
}

namespace {

DType accumulator_type(const ReduceOp& row, DType element, std::optional<DType> chosen) {
    const DType own = accumulator_of(row.accumulator, element);
    if (!chosen || accumulates_in(row.accumulator, element, *chosen)) return chosen.value_or(own);
    const bool may_widen = own != DType::f64 && accumulates_in(row.accumulator, element, DType::f64);
    throw refusal(fmt::format("{} of {} with accumulate = {}", row.name, to_text(element), to_text(*chosen)),
                  may_widen ? fmt::format("its accumulator is {}, or f64 where asked for", to_text(own))
                            : fmt::format("its accumulator is always {}", to_text(own)),
                  "leave accumulate out, or cast the operand first");
}

} // namespace

ReduceTyping reduce_typing(const ReduceOp& row, std::span<const DType> operands, std::optional<DType> chosen) {
    ReduceTyping typing{};
    DType promoted = operands[0];
    for (const DType type : operands) promoted = promote(promoted, type);
    switch (row.monoid->rule) {
    case OperandRule::own:
    case OperandRule::promoted: typing.element = promoted; break;
    case OperandRule::floating: typing.element = is_floating(promoted) ? promoted : DType::f64; break;
    case OperandRule::payload: typing.element = operands.size() == 1 ? DType::u64 : operands[0]; break;
    }
    if (row.monoid->rule == OperandRule::payload)
        std::ranges::copy(operands, typing.operands.begin());
    else
        typing.operands.fill(typing.element);
    typing.accumulator = accumulator_type(row, typing.element, chosen);
    typing.result = row.user_result ? row.user_result(typing.element, typing.accumulator)
                                    : result_of(row.result, typing.element, typing.accumulator, chosen == DType::f64,
                                                operands.back());
    return typing;
}

} // namespace gf
