// Evaluates an expression in one call: the graph is text, and its parameters are declared by the bindings.
//
//     double cubes = gf::eval<double>("sum(x * x * x)", {{"x", data}});
//     gf::Results r = gf::eval("let d = x - y; mean = mean(d), worst = max(abs(d))", {{"x", x}, {"y", y}});
//     gf::Results z = gf::eval("(x - mean(x)) / stddev(x)", {{"x", data}});      // one unnamed result is "result"
#pragma once

#include <string_view>
#include <type_traits>

#include <gridfold/fusion/executable.hpp>

namespace gf {

/// Computes `text`: one expression, or `let` statements and then one expression or several named ones, as in the text
/// form (text.hpp). Every binding declares a parameter:
///   - An array has its view's element type. Arrays share dims, aligned from the last one as in NumPy; their extents
///     there must be equal. The dims are n if all arrays are one-dimensional; else i, j, k … from the first one on.
///   - A number is weak: it has the element type of the arrays if they have one type, which can hold such a number. If
///     their types differ, a floating number has the only floating type. Without arrays it is i64 or f64. true and
///     false are bool.
/// Bindings that these rules cannot declare are an InvalidBinding that shows the alternative: a text with `->` is a
/// whole graph, "f(x: f32[n], y: f32[m]) -> s = sum(x) + sum(y)", with its own declarations.
///
/// The latest executables are cached by text, types and options: a call in a loop compiles once. Thread-safe. Errors in
/// the text give their place in the whole graph's text, which the message shows.
Results eval(std::string_view text, const Bindings& bindings, const Options& options = {});

namespace detail {
/// The name of the only result. InvalidResult if there are several.
std::string_view only_result(const Results& results);
} // namespace detail

/// The only result, a scalar, converted as by Results::get_as.
template <class T>
    requires std::is_arithmetic_v<T>
T eval(std::string_view text, const Bindings& bindings, const Options& options = {}) {
    const Results results = eval(text, bindings, options);
    return results.get_as<T>(detail::only_result(results));
}

} // namespace gf
