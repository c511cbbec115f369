// The statements of the text form: parameters, dims, lets and outputs.
#include "parser.hpp"

#include <fmt/format.h>

#include "refusal.hpp"

namespace gf {

namespace detail {

namespace {

constexpr std::string_view whole_form = "write the whole graph, as in f(x: f32[n]) -> s = sum(x)";
constexpr std::string_view no_last_comma = "leave the last comma out";
constexpr std::string_view named_output = "name each output, as in s = sum(x)";

} // namespace

Graph Parser::parse() {
    if (next_is("let")) fail_expected("the graph's name", whole_form);
    const Token name = take_name("the graph's name", whole_form);
    graph_ = at(name.position, [&] { return Graph(std::string(name.text)); });
    parse_parameters();
    while (accept("let")) parse_let();
    expect("->", "'let', or '->' before the outputs,");
    if (lexer_.peek().kind != Token::Kind::end) {
        do parse_output();
        while (accept(","));
    }
    if (lexer_.peek().kind != Token::Kind::end) fail_expected("an operator, ',' or the end of the text");
    return std::move(graph_);
}

void Parser::parse_parameters() {
    expect("(", "'(' before the parameters", whole_form);
    if (accept(")")) return;
    if (next_is("[")) {
        parse_dims(true);
        if (!accept(",")) return expect(")", "',' or ')'");
    }
    do {
        const Token name = take_name("a parameter's name", next_is(")") ? no_last_comma : whole_form);
        expect(":", "':' and the parameter's type", whole_form);
        const DType type = take_type();
        const std::vector<Dim> dims = next_is("[") ? parse_dims(false) : std::vector<Dim>();
        values_[name.text] = value_at(name.position, [&] { return graph_.input(name.text, type, dims); });
    } while (accept(","));
    expect(")", "',' or ')' after a parameter");
}

std::vector<Dim> Parser::parse_dims(bool declaring) {
    std::vector<Dim> dims;
    expect("[", "'['");
    if (next_is("]"))
        fail(lexer_.peek().position, "a list of dims has at least one",
             "a run-time scalar is written without brackets, as a: f32");
    do {
        if (lexer_.peek().kind == Token::Kind::number)
            fail(lexer_.peek().position, "a dim has a name", "write a fixed extent as [n = 4]");
        const Token name = take_name("a dim's name", next_is("]") ? no_last_comma : "");
        std::optional<std::int64_t> extent;
        if (accept("=")) extent = take_integer("the dim's extent, an integer from 0,");
        const auto known = dims_.find(name.text);
        if (known == dims_.end()) {
            if (dims_.size() == static_cast<std::size_t>(max_text_nodes))
                fail(name.position, fmt::format("a text describes at most {} dims", max_text_nodes));
            const Dim dim = at(name.position, [&] { return graph_.dim(name.text, extent); });
            dims.push_back(dims_.emplace(name.text, dim).first->second);
            continue;
        }
        const Dim dim = known->second;
        const auto fixed = graph_.dims()[dim.id()].extent;
        if (declaring) fail(name.position, fmt::format("the dim {} is declared twice", in_quotes(name.text)));
        if (extent && extent != fixed)
            fail(name.position,
                 fmt::format("the dim {} was {} before", in_quotes(name.text),
                             fixed ? fmt::format("= {}", *fixed) : "not fixed"),
                 "a fixed extent is said where a dim first appears");
        dims.push_back(dim);
    } while (accept(","));
    expect("]", "',' or ']' after a dim");
    return dims;
}

void Parser::parse_let() {
    const Token name = take_name("the value's name");
    at(name.position, [&] { check_name("the value", name.text); });
    if (values_.contains(name.text))
        fail(name.position, fmt::format("{} is already the name of a value", in_quotes(name.text)),
             "choose another name");
    expect("=", "'=' and the value of " + in_quotes(name.text));
    const Value value = parse_value();
    expect(";", fmt::format("an operator, or ';' after the value of {},", in_quotes(name.text)));
    // A second name of a value is an alias within the text.
    if (graph_.node(value.node()).name.empty()) graph_.let(name.text, value);
    values_[name.text] = value;
}

void Parser::parse_output() {
    if (next_is("let")) fail_late_let();
    const bool at_end = lexer_.peek().kind == Token::Kind::end;
    const Token name = take_name("an output's name", at_end ? no_last_comma : named_output);
    std::vector<Dim> order;
    const std::size_t list = lexer_.peek().position;
    if (accept("[")) {
        if (next_is("]"))
            fail(list, "a list of dims has at least one",
                 "leave the brackets out for the graph's order, and for a scalar");
        order = parse_known_dims("',' or ']' after a dim of the output");
    }
    expect("=", "'=' and the value of " + in_quotes(name.text), named_output);
    if (graph_.outputs().size() == static_cast<std::size_t>(max_text_nodes))
        fail(name.position, fmt::format("a text describes at most {} outputs", max_text_nodes));
    const Value value = parse_value();
    at(order.empty() ? name.position : list, [&] { graph_.output(name.text, value, order); });
}

void Parser::fail_late_let() const {
    fail(lexer_.peek().position, "'let' comes before '->', not among outputs and in expressions",
         "write let name = value; there, and use the name here");
}

} // namespace detail

Graph parse(std::string_view text) {
    if (text.size() > max_text_bytes)
        throw InvalidGraph(fmt::format("the text of a graph has {} bytes", text.size()),
                           fmt::format("at most {} are read", max_text_bytes), "split the graph");
    return detail::Parser(text).parse();
}

} // namespace gf
