// Writes LLVM's IR of values of vectors: each operation of one for all its lanes.
#pragma once

#include <array>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <gridfold/core/dtype.hpp>
#include <gridfold/ops/op.hpp>

namespace gf::cpu {

/// A function's text. The names of what it computes begin with %t.
struct Ir {
    std::string text;
    std::set<std::string> declarations; ///< of intrinsics
    int lanes = 1;                      ///< of the vectors that follow

    /// The type of values: bools are single bits.
    static std::string_view type_of(DType type);
    std::string vector(std::string_view element) const { return fmt::format("<{} x {}>", lanes, element); }
    std::string vector(DType type) const { return vector(type_of(type)); }
    /// Appends a line.
    template <class... Of> void line(fmt::format_string<Of...> of_text, Of&&... of) {
        text += "  ";
        fmt::format_to(std::back_inserter(text), of_text, std::forward<Of>(of)...);
        text += '\n';
    }
    /// Begins a block.
    void label(std::string_view name) { text += fmt::format("{}:\n", name); }
    /// Appends an instruction; returns its value's name.
    template <class... Of> std::string put(fmt::format_string<Of...> instruction, Of&&... of) {
        std::string name = fmt::format("%t{}", count_++);
        text += fmt::format("  {} = {}\n", name, fmt::format(instruction, std::forward<Of>(of)...));
        return name;
    }
    /// Calls the intrinsic llvm.`name` of operands with one type, which the result has, too.
    std::string call(std::string_view name, std::string_view element, std::initializer_list<std::string_view> operands);
    /// llvm.vector.reduce.`name` of a vector: one element.
    std::string reduce(std::string_view name, std::string_view element, std::string_view of);
    /// The lanes of these numbers, as many as there are.
    std::string shuffle(DType type, const std::string& of, const std::vector<int>& numbers);
    /// x where a bit is set, else y.
    std::string choose(std::string_view element, const std::string& bit, const std::string& x, const std::string& y);
    /// A float's bits as an integer; another value as it is.
    std::string bits(DType type, const std::string& x);
    /// All lanes are a scalar.
    std::string splat(std::string_view element, std::string_view scalar);
    /// x != 0, as bits
    std::string is_true(DType type, const std::string& x);
    /// x of type `from` as one of type `to`, by the rules of convert() (core/device/conversions.cuh).
    std::string convert(DType from, DType to, const std::string& x);
    /// Elements of an array's type as values, and the reverse; `memory_type_of` them.
    static std::string_view memory_type_of(DType type);
    std::string from_memory(DType type, const std::string& raw);
    std::string to_memory(DType type, const std::string& value);

private:
    std::string saturated(DType from, DType to, const std::string& x);
    std::string narrow_half(bool is_bf16, const std::string& x);
    int count_ = 0;
};

constexpr bool is_float(DType type) { return type == DType::f32 || type == DType::f64; }
constexpr bool is_signed(DType type) { return kind_of(type) == Kind::signed_integer; }

/// True if map_text() has a text for the map.
bool has_map_text(const MapOp& map, DType compute);
/// Writes a map of operands of type `compute`, but for select's first; returns its value's name.
std::string map_text(Ir& ir, const MapOp& map, DType compute, const std::array<std::string, max_arity>& operands);

} // namespace gf::cpu
