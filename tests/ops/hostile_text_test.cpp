// Parsing is total: any bytes give a graph or an InvalidGraph with its place.
#include <random>
#include <regex>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <gridfold/ops/expr.hpp>
#include <gridfold/ops/text.hpp>

namespace gf {
namespace {

const std::string whole = "stats([i, j = 4], x: f32[i, j], w: i32[j], m: bool[i], alpha: f32) # all of the grammar\n"
                          "    let y = x * w + 0x1f - .5e-3;\n"
                          "    let z = select(m && !(y >= alpha), -y, clamp(y, -1, inf)) << 2 * 0;\n"
                          "    -> a = sum(y where z != 0, accumulate = f64), b = variance(x over [i, j], ddof = 1),\n"
                          "       c = f16(index(i)) / 2, d = min(x) + min(x, nan), e = bool(true) | ~w ^ w % 3";

/// Parses the text; a refusal must give its place. Returns true for a graph.
bool parses(std::string_view text) {
    try {
        const Graph graph = parse(text);
        EXPECT_EQ(to_text(parse(to_text(graph))), to_text(graph));
        return true;
    } catch (const InvalidGraph& error) {
        static const std::regex place("^[0-9]+:[0-9]+: [^]*\n    [^\n]*\n    *\\^$");
        EXPECT_TRUE(std::regex_match(error.what(), place)) << error.what();
        return false;
    }
}

std::string legal() { // shifts are of integers
    std::string text = whole;
    return text.replace(text.find(" << 2 * 0"), 9, " * (2 * 0)");
}

TEST(HostileText, the_text_that_the_others_mangle_is_legal) {
    EXPECT_TRUE(parses(legal()));
    EXPECT_FALSE(parses(whole));
}

TEST(HostileText, every_truncation_is_refused_or_a_graph) {
    const std::string text = legal();
    int graphs = 0;
    for (std::size_t length = 0; length <= text.size(); ++length) graphs += parses(text.substr(0, length));
    EXPECT_LT(graphs, 100); // the outputs, as they grow
    EXPECT_FALSE(parses(text.substr(0, text.find("->"))));
}

TEST(HostileText, every_byte_replaced_or_removed_is_refused_or_a_graph) {
    const std::string text = legal();
    for (std::size_t at = 0; at < text.size(); ++at) {
        for (const char c : {'\0', '\xff', '(', ')', ',', '=', '-', '>', '.', '9', 'e', 'x', '#', '\n', ';'}) {
            std::string mangled = text;
            mangled[at] = c;
            parses(mangled);
        }
        std::string shorter = text;
        parses(shorter.erase(at, 1));
    }
}

TEST(HostileText, shuffled_tokens_are_refused_or_a_graph) {
    const std::vector<std::string> tokens{
        "f",     "(",      ")",          "[",     "]",         "x",   ":",   "f32",   "n",
        "->",    "let",    "=",          ";",     ",",         "sum", "min", "where", "over",
        "by",    "groups", "accumulate", "ddof",  "otherwise", "1",   "0x",  "1e",    "2.5",
        "inf",   "nan",    "true",       "==",    "<",         "&&",  "!",   "-",     "+",
        "*",     "/",      "select",     "index", "{",         "}",   "@",   "\"",    "99999999999999999999",
        "1e999", "#",      "\n"};
    std::mt19937 random(7);
    for (int round = 0; round < 20000; ++round) {
        std::string text = round % 2 ? "f(x: f32[n]) -> y = " : "";
        for (auto length = random() % 12; length > 0; --length) text += tokens[random() % tokens.size()] + " ";
        parses(text);
    }
}

TEST(HostileText, random_bytes_are_refused) {
    std::mt19937 random(11);
    for (int round = 0; round < 5000; ++round) {
        std::string text(random() % 64, ' ');
        for (char& c : text) c = static_cast<char>(random());
        EXPECT_FALSE(parses(text));
    }
}

TEST(HostileText, deep_nesting_is_refused_however_it_nests) {
    for (const std::string open : {"(", "f32(", "sum(", "sum(x where ", "min(x, ", "-(", "x * (x + "}) {
        std::string text = "f(x: f32[n]) -> y = ";
        for (int depth = 0; depth < 300000; ++depth) text += open;
        EXPECT_FALSE(parses(text)) << open;
    }
}

TEST(HostileText, numbers_beyond_their_types_are_refused) {
    for (const std::string number :
         {"18446744073709551616", "0x10000000000000000", "1e309", "1e-400", "-9223372036854775809", "0x", "1e", "1.5.2",
          "1f", "9223372036854775807 * 3", "18446744073709551615 + 1", "1 / 0", "(true + 1)", "-true"})
        EXPECT_FALSE(parses("f(x: i64[n]) -> y = x + " + number)) << number;
    EXPECT_FALSE(parses("f(x: f32[n = 9223372036854775808]) -> y = x"));
    EXPECT_FALSE(parses("f(x: f32[n]) -> y = variance(x, ddof = 4294967297)"));
    EXPECT_FALSE(parses("f(x: f32[n]) -> y = x + " + std::string(1 << 20, '9')));
    EXPECT_TRUE(parses("f(x: f32[n]) -> y = x + 0." + std::string(1 << 20, '9')));
}

TEST(HostileText, too_many_bytes_nodes_dims_or_outputs_are_refused) {
    EXPECT_THROW(parse(std::string(max_text_bytes + 1, ' ')), InvalidGraph);
    std::string text = "f(x: f32[n]) -> y = x";
    for (int i = 0; i < max_text_nodes; ++i) text += "+x";
    EXPECT_FALSE(parses(text));
    text = "f(x: f32[n]) -> y = x";
    for (int i = 0; i < max_text_nodes; ++i) text += fmt::format(", y{} = x", i);
    EXPECT_FALSE(parses(text));
    text = "f([n";
    for (int i = 0; i < max_text_nodes; ++i) text += fmt::format(", n{}", i);
    EXPECT_FALSE(parses(text + "]) ->"));
}

TEST(HostileText, long_names_and_lines_are_cut_in_messages) {
    const std::string name(1 << 20, 'a');
    try {
        parse("f(x: f32[n]) -> y = " + name + "(x)");
        FAIL();
    } catch (const InvalidGraph& error) {
        EXPECT_LT(std::string_view(error.what()).size(), 400u);
    }
}

} // namespace
} // namespace gf
