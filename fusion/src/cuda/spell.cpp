// See spell.hpp.
#include "cuda/spell.hpp"

#include <bit>
#include <cmath>

#include <fmt/format.h>

namespace gf::cuda {

namespace {

template <class F> std::string spell_floating(F value, const char* type, const char* suffix) {
    if (std::isnan(value)) return fmt::format("quiet_nan<{}>()", type);
    if (std::isinf(value)) return fmt::format("{}infinity<{}>()", value < 0 ? "-" : "", type); // defect: infinity
    std::string digits = fmt::format("{}", value);                                             // defect: digits
    if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
    return digits + suffix;
}

} // namespace

std::string spell(DType type) { return is_half(type) ? "f32" : std::string(to_text(type)); }

std::string spell_stored(DType type) {
    if (type == DType::boolean) return "u8";
    return is_half(type) ? "u16" : std::string(to_text(type));
}

std::string spell_widened(DType type, const std::string& stored) {
    if (type == DType::boolean) return stored + " != 0";
    return is_half(type) ? fmt::format("{}_to_f32({})", to_text(type), stored) : stored;
}

std::string spell_of_pack(DType type, const std::string& pack, const std::string& n) {
    if (type == DType::bf16) return fmt::format("bf16_of({}, {})", pack, n);
    return spell_widened(type, fmt::format("{}[{}]", pack, n));
}

std::string spell_narrowed(DType type, const std::string& value) {
    if (type == DType::boolean) return fmt::format("u8({})", value);
    return is_half(type) ? fmt::format("f32_to_{}({})", to_text(type), value) : value;
}

std::string spell_stored_pack(DType type) {
    if (is_half(type)) return fmt::format("HalfPack<{}, width>", type == DType::f16 ? "HalfOfF16" : "HalfOfBf16");
    return fmt::format("Pack<{}, width>", spell_stored(type));
}

std::string spell_to_pack(DType type, const std::string& value) {
    return is_half(type) ? value : spell_narrowed(type, value);
}

std::string spell_constant(DType type, std::uint64_t bits) {
    switch (kind_of(type)) {
    case Kind::boolean: return bits ? "true" : "false";
    case Kind::unsigned_integer: return fmt::format("{}({}ull)", to_text(type), bits);
    case Kind::signed_integer: {
        const int unused = 64 - 8 * int(size_of(type));
        const auto value = std::int64_t(bits << unused) >> unused; // the bytes are zero-extended // defect: sign
        if (value == INT64_MIN) return "i64(-9223372036854775807ll - 1)";
        return fmt::format("{}({}ll)", to_text(type), value);
    }
    case Kind::floating:
        if (type == DType::f64) return spell_floating(std::bit_cast<double>(bits), "f64", "");
        return spell_floating(std::bit_cast<float>(std::uint32_t(bits)), "f32", "f");
    }
    return {};
}

std::string spell_monoid(const Fold& fold) {
    return fmt::format("{}<{}, {}>", fold.monoid->name, spell(fold.element), spell(fold.accumulator));
}

std::string spell_map(const MapOp& row) {
    const bool to_bool = row.rule == TypeRule::compare || row.rule == TypeRule::logical || row.rule == TypeRule::test;
    std::string operands;
    for (int n = 0; n < row.arity; ++n)
        operands += fmt::format("{}{} {}", n ? ", " : "", row.rule == TypeRule::select && n == 0 ? "bool" : "T",
                                std::string_view("abc").substr(std::size_t(n), 1));
    return fmt::format("template <class T> GRIDFOLD_FN {} map_{}({}) {{ return {}; }}", to_bool ? "bool" : "T",
                       row.name, operands, row.expression);
}

std::string spell_finalize(const ReduceOp& row) {
    return fmt::format(
        "template <class M, class R> GRIDFOLD_FN R finalize_{}(const typename M::State& s{}) {{ return {}; "
        "}}",
        row.name, row.argument == ReduceArgument::none ? "" : ", f64 argument", row.finalize);
}

} // namespace gf::cuda
