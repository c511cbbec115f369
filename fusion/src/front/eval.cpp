// Converts an expression and its bindings to the text of a graph, and caches the executables of such texts.
#include <gridfold/fusion/eval.hpp>

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <gridfold/ops/nearest.hpp>
#include <gridfold/ops/text.hpp>

#include "front/number.hpp"

namespace gf {
namespace {

constexpr const char* full_form = "write the whole graph, as in f(x: f32[n], y: f32[m]) -> s = sum(x) + sum(y)";

/// The text with comments replaced by blanks, so that searches do not match in them.
std::string without_comments(std::string_view text) {
    std::string code(text);
    for (std::size_t i = 0; i < code.size(); ++i)
        if (code[i] == '#')
            for (; i < code.size() && code[i] != '\n'; ++i) code[i] = ' ';
    return code;
}

std::string_view trimmed(std::string_view code) {
    constexpr std::string_view blanks = " \t\r\n";
    code.remove_prefix(std::min(code.find_first_not_of(blanks), code.size()));
    return code.substr(0, code.find_last_not_of(blanks) + 1);
}

/// True if `code` begins with "name =" ("name ==" is a comparison).
bool begins_with_name(std::string_view code) {
    const std::string_view begin = trimmed(code);
    const auto* const end = std::ranges::find_if_not(begin, detail::continues_name);
    if (end == begin.begin()) return false;
    const std::string_view rest = trimmed({end, begin.end()});
    return rest.starts_with('=') && !rest.starts_with("==");
}

/// True if `code` begins with the word let.
bool begins_with_let(std::string_view code) {
    return code.starts_with("let") && (code.size() == 3 || !detail::continues_name(code[3]));
}

/// Checks that ';' ends each let, and nothing else: in the graph's text it would be at another place.
void check_statements(std::string_view code) {
    const auto refused = [](std::string_view statement, const char* rule, const char* fix) {
        constexpr std::size_t longest = 60;
        return InvalidGraph(
            fmt::format("the statement '{}{}'", statement.substr(0, longest), statement.size() > longest ? "…" : ""),
            rule, fix);
    };
    if (trimmed(code).empty()) throw InvalidGraph("the expression", "it is empty", "write one, as in sum(x)");
    for (std::size_t end = code.find(';'); end != std::string_view::npos; end = code.find(';')) {
        const std::string_view statement = trimmed(code.substr(0, end));
        code.remove_prefix(end + 1);
        if (begins_with_let(statement)) continue;
        throw refused(statement, "a ';' ends a let, and this begins with no 'let'",
                      statement.empty() || trimmed(code).empty()
                          ? "leave the ';' out"
                          : "write a comma between results, or let before a name that others use");
    }
    const std::string_view results = trimmed(code);
    if (results.empty())
        throw InvalidGraph("the expression", "no result follows its last ';'", "end with one, as in s = sum(x)");
    if (begins_with_let(results))
        throw refused(results, "a let ends with ';', and results follow it", "write let d = x; s = sum(d)");
}

std::vector<const Binding*> arrays_of(const Bindings& bindings) {
    std::vector<const Binding*> arrays;
    for (const Binding& binding : bindings)
        if (!binding.scalar) arrays.push_back(&binding);
    return arrays;
}

/// The dims of an array of that rank: the last ones of `most`, the highest rank.
std::string dims_text(int rank, int most) {
    std::string dims;
    for (int d = most - rank; d < most; ++d) {
        dims += dims.empty() ? "" : ", ";
        dims += most == 1 ? 'n' : static_cast<char>('i' + d);
    }
    return "[" + dims + "]";
}

/// The array with the most dims. Others are aligned to its last dims.
const Binding& widest(const std::vector<const Binding*>& arrays) {
    return **std::ranges::max_element(arrays, {}, [](const Binding* b) { return b->array.extents.rank(); });
}

void check_aligned(const Binding& all, const Binding& one) {
    const Extents &to = all.array.extents, &own = one.array.extents;
    const int first = to.rank() - own.rank();
    for (int d = 0; d < own.rank(); ++d)
        if (own[d] != to[first + d])
            throw InvalidBinding(
                fmt::format("\"{}\" has extents {}, but \"{}\" has {}", one.name, to_text(own), all.name, to_text(to)),
                "arrays that no graph declares share dims from the last one on, with equal extents", full_form);
}

/// The type of a run-time scalar.
DType type_of(const Binding& number, const std::vector<const Binding*>& arrays) {
    if (number.scalar->kind == Literal::Kind::boolean) return DType::boolean;
    const bool floating = number.scalar->kind == Literal::Kind::floating;
    std::vector<DType> types, floating_types;
    for (const Binding* const array : arrays) {
        const DType type = array->array.type;
        if (type != DType::boolean && std::ranges::find(types, type) == types.end()) {
            types.push_back(type);
            if (is_floating(type)) floating_types.push_back(type);
        }
    }
    const std::vector<DType>& candidates = floating ? floating_types : types;
    if (candidates.empty()) return floating ? DType::f64 : DType::i64;
    if (candidates.size() > 1)
        throw InvalidBinding(fmt::format("the number \"{}\"", number.name),
                             "a number has the element type of the arrays, and these have several", full_form);
    try {
        detail::scalar_bits(*number.scalar, candidates[0]);
    } catch (const InvalidGraph& error) {
        throw InvalidBinding(
            fmt::format("the number \"{}\" has the arrays' element type: {}", number.name, error.subject()),
            error.rule(), full_form);
    }
    return candidates[0];
}

/// The text of a graph for an expression or statements.
std::string declare(std::string_view text, const std::string& code, const Bindings& bindings) {
    check_statements(code);
    const std::vector<const Binding*> arrays = arrays_of(bindings);
    std::string parameters;
    for (const Binding& binding : bindings) {
        parameters += fmt::format("{}{}: ", parameters.empty() ? "" : ", ", binding.name);
        if (binding.scalar) {
            parameters += to_text(type_of(binding, arrays));
            continue;
        }
        const Binding& all = widest(arrays);
        check_aligned(all, binding);
        parameters += to_text(binding.array.type);
        if (binding.array.extents.rank() > 0)
            parameters += dims_text(binding.array.extents.rank(), all.array.extents.rank());
    }
    // Declares the dims first, so that the order of arrays does not matter.
    const int rank = arrays.empty() ? 0 : widest(arrays).array.extents.rank();
    if (rank > 1) parameters = dims_text(rank, rank) + ", " + parameters;
    const std::size_t semicolon = code.rfind(';');
    const std::size_t results = semicolon == std::string::npos ? 0 : semicolon + 1;
    return fmt::format(
        "eval({}) {} -> {}{}", parameters, text.substr(0, results),
        begins_with_name(std::string_view(code).substr(results)) ? "" : "result = ", text.substr(results));
}

/// The latest executables. Thread-safe.
class Cache {
public:
    std::optional<Executable> find(const std::string& key) {
        const std::lock_guard lock(mutex_);
        const auto found = std::ranges::find(entries_, key, &Entry::key);
        if (found == entries_.end()) return {};
        entries_.splice(entries_.begin(), entries_, found);
        return found->executable;
    }
    void add(std::string key, const Executable& executable) {
        std::list<Entry> made;
        made.push_back({std::move(key), executable});
        std::list<Entry> dropped; // destroyed after unlocking
        const std::lock_guard lock(mutex_);
        entries_.splice(entries_.begin(), made);
        if (entries_.size() > most) dropped.splice(dropped.begin(), entries_, std::prev(entries_.end()));
    }

private:
    static constexpr std::size_t most = 32;
    struct Entry {
        std::string key;
        Executable executable;
    };
    std::mutex mutex_;
    std::list<Entry> entries_; ///< the latest first
};

Executable executable_of(const std::string& text, const Options& options) {
    // Never destroyed: at the process's end CUDA may shut down first.
    static Cache& cache = *new Cache; // NOLINT(cppcoreguidelines-owning-memory)
    std::string key =
        fmt::format("{} {}{}{} {} {} {} {}", options.device, options.fuse, options.verify, options.fast_math,
                    options.threads, fmt::ptr(options.memory.host), fmt::ptr(options.memory.device), text);
    if (const auto known = cache.find(key)) return *known;
    Executable made = compile(parse(text), options);
    cache.add(std::move(key), made);
    return made;
}

} // namespace

Results eval(std::string_view text, const Bindings& bindings, const Options& options) {
    const std::string code = without_comments(text);
    const bool is_whole = code.find("->") != std::string::npos;
    return executable_of(is_whole ? std::string(text) : declare(text, code, bindings), options).run(bindings);
}

namespace detail {

std::string_view only_result(const Results& results) {
    if (results.entries().size() != 1)
        throw InvalidResult(fmt::format("eval<T> of {} results", results.entries().size()), "it gives the only one",
                            "use eval, and get_as for each");
    return results.entries()[0].name;
}

} // namespace detail
} // namespace gf
