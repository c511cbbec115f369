// The text form of a graph, for dumps, golden files, bug reports, and transfer to another process.
//
//     stats(x: f32[i, j], w: f32[j], alpha: f32)
//         let y = x * w;
//         -> mean = mean(y over [j]), hot = sum(y where y > alpha, accumulate = f64)
//
// The grammar, in EBNF over tokens; blanks and comments (# to the end of the line) separate tokens:
//
//     graph     = name "(" [ param { "," param } ] ")" { "let" name "=" expr ";" } "->" [ output { "," output } ]
//     param     = name ":" type [ "[" dim { "," dim } "]" ]        an array, or without dims a run-time scalar
//               | "[" dim { "," dim } "]"                          declares dims whose order matters
//     dim       = name [ "=" integer ]                             with its extent if fixed
//     output    = name [ "[" name { "," name } "]" ] "=" expr      an array's dims in memory order, if not the graph's
//     expr      = prefix { binary prefix }                         precedence as in C++; comparisons do not chain
//     prefix    = { "-" | "!" | "~" } primary
//     primary   = number | name | call | "(" expr ")"
//     call      = map "(" expr { "," expr } ")"
//               | reduction "(" expr { "," expr } { [ "," ] attribute } ")"
//               | "dot" "(" expr "," expr { [ "," ] attribute } ")"
//               | "top_k" "(" expr "," name { [ "," ] attribute } ")"
//               | type "(" expr ")"                                a cast; of a number: a constant of that type
//               | "index" "(" name ")"                             the index along a dim
//               | "extent" "(" name ")"                            the extent of a dim
//               | "shift" "(" expr "," name "," [ "-" ] integer "," "edge" "=" edge ")"
//     edge      = "clamp" | "wrap" | expr                          a number: what is outside of the dim
//     attribute = "where" [ "=" ] expr | "over" [ "=" ] "[" name { "," name } "]"
//               | "by" [ "=" ] expr | "groups" [ "=" ] integer | "accumulate" "=" type
//               | "ddof" "=" integer | "rank" "=" integer
//               | "otherwise" "=" expr                             a number: the result where the mask accepts nothing
//     binary    = "||" | "&&" | "|" | "^" | "&" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "<<" | ">>"
//               | "+" | "-" | "*" | "/" | "%"
//     number    = integer | floating | "inf" | "nan" | "true" | "false"
//     integer   = digit { digit } | "0x" hex { hex }
//     floating  = digits "." [ digits ] [ exponent ] | "." digits [ exponent ] | digits exponent
//     name      = (letter | "_") { letter | digit | "_" }
//     type      = bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64
//
// Maps and reductions are all_maps() and all_reductions(); min and max reduce with one operand and map with two. Dims
// are ordered by first appearance. The name of a dim is also its extent unless a value has that name. A number without
// a type is a literal: it takes the type of the values it is combined with. Operators between literals are + - * / and
// unary -; integers give integers except with /, which is true division. In the canonical form, which to_text prints,
// each instruction is one `let`, a constant with one use is written in place, and values without a name are called v0,
// v1, …; a round trip does not keep those names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <gridfold/core/dtype.hpp>
#include <gridfold/ops/graph.hpp>

namespace gf {

/// Limits of parse(); a larger text is an InvalidGraph.
inline constexpr std::size_t max_text_bytes = std::size_t{16} << 20;
inline constexpr int max_text_nodes = 65536; ///< also the most dims and outputs
inline constexpr int max_text_nesting = 256;

/// The graph in its canonical text form. Parsing it gives the same graph, and printing that graph the same text.
std::string to_text(const Graph& graph);

/// The graph that a text describes. Any text is safe: one that breaks a rule is an InvalidGraph with the place
/// (line:column and the line), the expected form, and for an unknown name the nearest known one.
Graph parse(std::string_view text);

/// A constant in the text form: "f32(0.5)". `bits` are the value's bytes, zero-extended. Parsing it gives the same
/// bits, for a NaN any NaN.
std::string constant_text(DType type, std::uint64_t bits);

} // namespace gf
