#include "cpu/ir.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>

namespace gf::cpu {

namespace {

/// The integer as wide as a float.
std::string_view bits_of(DType type) { return type == DType::f64 ? "i64" : "i32"; }
/// The name that intrinsics have for a type.
std::string mangled(int lanes, std::string_view element) {
    const std::string_view scalar = element == "float" ? "f32" : element == "double" ? "f64" : element;
    return fmt::format("v{}{}", lanes, scalar);
}

} // namespace

std::string_view Ir::type_of(DType type) {
    switch (type) {
    case DType::boolean: return "i1";
    case DType::f32: return "float";
    case DType::f64: return "double";
    default: return memory_type_of(type);
    }
}

std::string_view Ir::memory_type_of(DType type) {
    if (type == DType::f16) return "half";
    if (is_float(type)) return type_of(type);
    constexpr std::string_view of_size[] = {"", "i8", "i16", "", "i32", "", "", "", "i64"};
    return of_size[size_of(type)];
}

std::string Ir::call(std::string_view name, std::string_view element,
                     std::initializer_list<std::string_view> operands) {
    const std::string type = vector(element), function = fmt::format("@llvm.{}.{}", name, mangled(lanes, element));
    std::string types, values;
    for (const std::string_view operand : operands) {
        const std::string_view comma = types.empty() ? "" : ", ";
        fmt::format_to(std::back_inserter(types), "{}{}", comma, type);
        fmt::format_to(std::back_inserter(values), "{}{} {}", comma, type, operand);
    }
    declarations.insert(fmt::format("declare {} {}({})\n", type, function, types));
    return put("call {} {}({})", type, function, values);
}

std::string Ir::reduce(std::string_view name, std::string_view element, std::string_view of) {
    const std::string type = vector(element),
                      function = fmt::format("@llvm.vector.reduce.{}.{}", name, mangled(lanes, element));
    declarations.insert(fmt::format("declare {} {}({})\n", element, function, type));
    return put("call {} {}({} {})", element, function, type, of);
}

std::string Ir::shuffle(DType type, const std::string& of, const std::vector<int>& numbers) {
    std::string list;
    for (const int number : numbers)
        fmt::format_to(std::back_inserter(list), "{}i32 {}", list.empty() ? "" : ", ", number);
    return put("shufflevector {0} {1}, {0} poison, <{2} x i32> <{3}>", vector(type), of, numbers.size(), list);
}

std::string Ir::choose(std::string_view element, const std::string& bit, const std::string& x, const std::string& y) {
    return put("select {0} {1}, {2} {3}, {2} {4}", vector("i1"), bit, vector(element), x, y);
}

std::string Ir::bits(DType type, const std::string& x) {
    return is_float(type) ? put("bitcast {} {} to {}", vector(type), x, vector(bits_of(type))) : x;
}

std::string Ir::splat(std::string_view element, std::string_view scalar) {
    const std::string type = vector(element),
                      first = put("insertelement {} poison, {} {}, i32 0", type, element, scalar);
    return put("shufflevector {} {}, {} poison, <{} x i32> zeroinitializer", type, first, type, lanes);
}

std::string Ir::is_true(DType type, const std::string& x) {
    if (type == DType::boolean) return x;
    return put("{} {} {}, zeroinitializer", is_float(type) ? "fcmp une" : "icmp ne", vector(type), x);
}

std::string Ir::convert(DType from, DType to, const std::string& x) {
    if (from == to) return x;
    if (to == DType::boolean) return is_true(from, x);
    std::string_view how = "trunc";
    if (is_float(from) && is_float(to)) {
        how = to == DType::f64 ? "fpext" : "fptrunc";
    } else if (is_float(from)) {
        return saturated(from, to, x);
    } else if (is_float(to)) {
        how = is_signed(from) ? "sitofp" : "uitofp";
    } else if (from == DType::boolean || size_of(from) < size_of(to)) {
        how = is_signed(from) ? "sext" : "zext";
    } else if (size_of(from) == size_of(to)) {
        return x;
    }
    return put("{} {} {} to {}", how, vector(from), x, vector(to));
}

/// Truncates; LLVM's own saturating conversions are not vectors on every target.
std::string Ir::saturated(DType from, DType to, const std::string& x) {
    const std::string floats = vector(from);
    const int bits = 8 * static_cast<int>(size_of(to)), digits = bits - (is_signed(to) ? 1 : 0);
    const auto number = [&](double value) {
        return splat(type_of(from), fmt::format("0x{:016X}", std::bit_cast<std::uint64_t>(value)));
    };
    const std::string low = number(is_signed(to) ? -std::ldexp(1.0, digits) : 0.0),
                      above = number(std::ldexp(1.0, digits));
    const std::string reaches = put("fcmp oge {} {}, {}", floats, x, low),
                      ends = put("fcmp olt {} {}, {}", floats, x, above);
    const std::string fits = put("and {} {}, {}", vector("i1"), reaches, ends);
    const std::string inside = choose(type_of(from), fits, x, "zeroinitializer");
    const std::string_view how = is_signed(to) || bits < 32 ? "fptosi" : "fptoui";
    const DType word = bits < 32 ? DType::i32 : to;
    const std::string whole = convert(word, to, put("{} {} {} to {}", how, floats, inside, vector(word)));
    const std::string is_above = put("fcmp oge {} {}, {}", floats, x, above),
                      is_below = put("fcmp olt {} {}, {}", floats, x, low);
    const std::string highest =
        splat(type_of(to), is_signed(to) ? fmt::format("{}", (std::uint64_t{1} << digits) - 1) : "-1");
    const std::string lowest = is_signed(to)
                                   ? splat(type_of(to), fmt::format("{}", -(std::int64_t{1} << (digits - 1)) * 2))
                                   : "zeroinitializer";
    const std::string outside =
        choose(type_of(to), is_above, highest, choose(type_of(to), is_below, lowest, "zeroinitializer"));
    return choose(type_of(to), fits, whole, outside);
}

std::string Ir::from_memory(DType type, const std::string& raw) {
    if (type == DType::boolean) return put("icmp ne {} {}, zeroinitializer", vector("i8"), raw);
    if (type == DType::f16) return put("fpext {} {} to {}", vector("half"), raw, vector("float"));
    if (type != DType::bf16) return raw;
    const std::string wide = put("zext {} {} to {}", vector("i16"), raw, vector("i32"));
    const std::string bits = put("shl {} {}, {}", vector("i32"), wide, splat("i32", "16"));
    return put("bitcast {} {} to {}", vector("i32"), bits, vector("float"));
}

std::string Ir::to_memory(DType type, const std::string& value) {
    if (type == DType::boolean) return put("zext {} {} to {}", vector("i1"), value, vector("i8"));
    if (type != DType::f16 && type != DType::bf16) return value;
    const std::string bits = narrow_half(type == DType::bf16, value);
    return type == DType::bf16 ? bits : put("bitcast {} {} to {}", vector("i16"), bits, vector("half"));
}

/// The bits of an f32 rounded to f16 or bf16, with the NaNs of f32_to_f16() and f32_to_bf16().
std::string Ir::narrow_half(bool is_bf16, const std::string& x) {
    const std::string words = vector("i32"), halves = vector("i16"), floats = vector("float");
    const std::string is_nan = put("fcmp uno {} {}, zeroinitializer", floats, x);
    const std::string bits = put("bitcast {} {} to {}", floats, x, words);
    std::string narrow, nan;
    if (is_bf16) {
        const std::string last =
            put("and {} {}, {}", words, put("lshr {} {}, {}", words, bits, splat("i32", "16")), splat("i32", "1"));
        const std::string below_half = splat("i32", "32767"); // defect: halfway
        const std::string half = put("add {} {}, {}", words, last, below_half);
        const std::string sum = put("add {} {}, {}", words, bits, half);
        narrow = put("trunc {} {} to {}", words, put("lshr {} {}, {}", words, sum, splat("i32", "16")), halves);
        nan = splat("i16", "32704"); // 0x7fc0
    } else {
        narrow =
            put("bitcast {} {} to {}", vector("half"), put("fptrunc {} {} to {}", floats, x, vector("half")), halves);
        const std::string sign =
            put("and {} {}, {}", words, put("lshr {} {}, {}", words, bits, splat("i32", "16")), splat("i32", "32768"));
        nan = put("trunc {} {} to {}", words, put("or {} {}, {}", words, sign, splat("i32", "32256")), // 0x7e00
                  halves);
    }
    return choose("i16", is_nan, nan, narrow);
}

namespace {

/// Maps of two operands that are one instruction; "": of no such type.
struct Instruction {
    const MapOp* map;
    std::string_view of_floats, of_signed, of_unsigned, of_bools;

    std::string_view of(DType type) const {
        if (is_float(type)) return of_floats;
        if (type == DType::boolean) return of_bools;
        return is_signed(type) ? of_signed : of_unsigned;
    }
};
constexpr Instruction instructions[] = {
    {&map_op::add, "fadd", "add", "add", "or"},
    {&map_op::sub, "fsub", "sub", "sub", ""},
    {&map_op::mul, "fmul", "mul", "mul", "and"},
    {&map_op::divide, "fdiv", "", "", ""},
    {&map_op::less, "fcmp olt", "icmp slt", "icmp ult", "icmp ult"},
    {&map_op::less_equal, "fcmp ole", "icmp sle", "icmp ule", "icmp ule"},
    {&map_op::greater, "fcmp ogt", "icmp sgt", "icmp ugt", "icmp ugt"},
    {&map_op::greater_equal, "fcmp oge", "icmp sge", "icmp uge", "icmp uge"},
    {&map_op::equal, "fcmp oeq", "icmp eq", "icmp eq", "icmp eq"},
    {&map_op::not_equal, "fcmp une", "icmp ne", "icmp ne", "icmp ne"},
    {&map_op::bitwise_and, "", "and", "and", "and"},
    {&map_op::bitwise_or, "", "or", "or", "or"},
    {&map_op::bitwise_xor, "", "xor", "xor", "xor"},
};

/// Maps of floats that are an intrinsic.
struct Intrinsic {
    const MapOp* map;
    std::string_view name;
};
constexpr Intrinsic intrinsics[] = {
    {&map_op::sqrt, "sqrt"},  {&map_op::abs, "fabs"},    {&map_op::floor, "floor"}, {&map_op::ceil, "ceil"},
    {&map_op::round, "rint"}, {&map_op::trunc, "trunc"}, {&map_op::fma, "fma"},
};

const Instruction* instruction_of(const MapOp& map, DType type) {
    const auto* const found = std::ranges::find(instructions, &map, &Instruction::map);
    return found == std::end(instructions) || found->of(type).empty() ? nullptr : found;
}
const Intrinsic* intrinsic_of(const MapOp& map, DType type) {
    const auto* const found = std::ranges::find(intrinsics, &map, &Intrinsic::map);
    return found == std::end(intrinsics) || !is_float(type) ? nullptr : found;
}

/// minimum() or maximum() of core/device/arithmetic.cuh.
std::string extreme_text(Ir& ir, bool smallest, DType type, const std::string& a, const std::string& b) {
    const std::string of = ir.vector(type), bits = ir.vector(bits_of(type)), mask = ir.vector("i1");
    if (!is_float(type)) {
        const std::string_view wins = is_signed(type) ? (smallest ? "slt" : "sgt") : (smallest ? "ult" : "ugt");
        const std::string takes_b = ir.put("icmp {} {} {}, {}", wins, of, b, a);
        return ir.put("select {} {}, {} {}, {} {}", mask, takes_b, of, b, of, a);
    }
    const auto chosen = [&](const std::string& x, const std::string& y) {
        const std::string takes = ir.put("fcmp {} {} {}, {}", smallest ? "olt" : "ogt", of, x, y);
        return ir.put("bitcast {} {} to {}", of, ir.put("select {} {}, {} {}, {} {}", mask, takes, of, x, of, y), bits);
    };
    const std::string left = chosen(a, b), right = chosen(b, a);
    if (smallest) return ir.put("bitcast {} {} to {}", bits, ir.put("or {} {}, {}", bits, left, right), of);
    const std::string differing = ir.put("xor {} {}, {}", bits, left, right);
    const std::string both = ir.put("bitcast {} {} to {}", bits, ir.put("or {} {}, {}", bits, left, differing), of);
    return ir.put("fsub {} {}, {}", of, both, ir.put("bitcast {} {} to {}", bits, differing, of));
}

constexpr const MapOp* others[] = {&map_op::neg,        &map_op::abs,         &map_op::min,
                                   &map_op::max,        &map_op::clamp,       &map_op::relu,
                                   &map_op::select,     &map_op::isnan,       &map_op::logical_and,
                                   &map_op::logical_or, &map_op::logical_xor, &map_op::logical_not};

} // namespace

bool has_map_text(const MapOp& map, DType compute) {
    if (instruction_of(map, compute) != nullptr || intrinsic_of(map, compute) != nullptr) return true;
    const bool orders = &map == &map_op::min || &map == &map_op::max || &map == &map_op::clamp;
    return std::ranges::find(others, &map) != std::end(others) && !(orders && compute == DType::boolean);
}

std::string map_text(Ir& ir, const MapOp& map, DType compute, const std::array<std::string, max_arity>& operands) {
    const auto& [a, b, c] = operands;
    const std::string of = ir.vector(compute), bits = ir.vector("i1");
    if (const Instruction* one = instruction_of(map, compute))
        return ir.put("{} {} {}, {}", one->of(compute), of, a, b);
    if (const Intrinsic* one = intrinsic_of(map, compute)) {
        const std::string_view element = Ir::type_of(compute);
        return map.arity == 3 ? ir.call(one->name, element, {a, b, c}) : ir.call(one->name, element, {a});
    }
    if (&map == &map_op::neg)
        return is_float(compute) ? ir.put("fneg {} {}", of, a) : ir.put("sub {} zeroinitializer, {}", of, a);
    if (&map == &map_op::abs) {
        if (!is_signed(compute)) return a;
        const std::string negative = ir.put("sub {} zeroinitializer, {}", of, a);
        const std::string is_negative = ir.put("icmp slt {} {}, zeroinitializer", of, a);
        return ir.put("select {} {}, {} {}, {} {}", bits, is_negative, of, negative, of, a);
    }
    if (&map == &map_op::min || &map == &map_op::max) return extreme_text(ir, &map == &map_op::min, compute, a, b);
    if (&map == &map_op::clamp) return extreme_text(ir, true, compute, extreme_text(ir, false, compute, a, b), c);
    if (&map == &map_op::relu) return extreme_text(ir, false, compute, a, "zeroinitializer");
    if (&map == &map_op::select) return ir.put("select {} {}, {} {}, {} {}", bits, a, of, b, of, c);
    if (&map == &map_op::isnan)
        return is_float(compute) ? ir.put("fcmp uno {} {}, {}", of, a, a) : std::string("zeroinitializer");
    const std::string x = ir.is_true(compute, a);
    if (&map == &map_op::logical_not) return ir.put("xor {} {}, {}", bits, x, ir.splat("i1", "true"));
    const std::string_view how = &map == &map_op::logical_and ? "and" : &map == &map_op::logical_or ? "or" : "xor";
    return ir.put("{} {} {}, {}", how, bits, x, ir.is_true(compute, b));
}

} // namespace gf::cpu
