// The rows that this process knows by name.
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>
#include <gridfold/ops/nearest.hpp>
#include <gridfold/ops/op_macros.hpp>
#include <gridfold/ops/type_rule.hpp>

#include "refusal.hpp"

namespace gf {
namespace {

/// Rows of one kind. Readers take the newest list; a list, once published, never changes and is never freed, so spans
/// of it stay valid (users register a handful of rows).
template <class Row> class Registry {
public:
    using List = std::vector<const Row*>;

    explicit Registry(List builtin) { publish(std::move(builtin)); }

    const List& list() const { return *newest_.load(std::memory_order_acquire); }

    const Row* find(std::string_view name) const {
        for (const Row* row : list())
            if (row->name == name) return row;
        return nullptr;
    }

    void add(const Row& row, std::string_view kind) {
        const std::scoped_lock lock(mutex_);
        const Row* known = find(row.name);
        if (known == &row) return;
        if (known)
            throw InvalidGraph("there is already a " + std::string(kind) + " named \"" + std::string(row.name) + "\"",
                               "names are unique", "give yours another one");
        List longer = list();
        longer.push_back(&row);
        publish(std::move(longer));
    }

private:
    void publish(List list) { newest_.store(&lists_.emplace_back(std::move(list)), std::memory_order_release); }

    std::mutex mutex_;
    std::deque<List> lists_;
    std::atomic<const List*> newest_ = nullptr;
};

// Never destroyed: rows are looked up and registered during the construction and destruction of other globals.
Registry<MapOp>& maps() {
    static auto* registry = new Registry<MapOp>({
#define GRIDFOLD_MAP_OP(name, ...) &map_op::name,
#include <gridfold/ops/map.def>
#undef GRIDFOLD_MAP_OP
    });
    return *registry;
}
Registry<ReduceOp>& reductions() {
    static auto* registry = new Registry<ReduceOp>({
#define GRIDFOLD_MONOID_OP(...)
#define GRIDFOLD_REDUCE_OP(name, ...) &reduce_op::name,
#include <gridfold/ops/reduce.def>
#undef GRIDFOLD_REDUCE_OP
#undef GRIDFOLD_MONOID_OP
    });
    return *registry;
}

/// A row whose op another file of the program defines differently, and both definitions.
template <class Row> struct DefinedTwice {
    std::string_view name;
    const Row* row;
    std::string kept, other;
};
template <class Row> Registry<DefinedTwice<Row>>& defined_twice() {
    static auto* registry = new Registry<DefinedTwice<Row>>({});
    return *registry;
}

/// The tokens without the blanks that do not separate them: only names, numbers, and signs such as + that also exist
/// doubled need some.
std::string without_blanks(std::string_view tokens) {
    std::string text;
    bool after_blank = false;
    for (const char c : tokens) {
        if (c == ' ') {
            after_blank = true;
            continue;
        }
        const char last = text.empty() ? ' ' : text.back();
        const bool separates = (detail::continues_name(last) && detail::continues_name(c)) ||
                               (last == c && std::string_view("+-&|").find(c) != std::string_view::npos);
        if (after_blank && separates) text += ' ';
        text += c;
        after_blank = false;
    }
    return text;
}

/// A map's definition but for its documentation: "(1, same, exact) a + T(1)".
std::string definition(const MapOp& row) {
    return fmt::format("({}, {}) {}", row.arity, to_text(row.rule), row.expression);
}
/// A reduction's is the text of its monoid.
std::string definition(std::string_view monoid_text) { return std::string(monoid_text); }
std::string definition(const ReduceOp& row) { return definition(row.monoid->text); }

} // namespace

std::span<const MapOp* const> all_maps() { return maps().list(); }
std::span<const ReduceOp* const> all_reductions() { return reductions().list(); }
const MapOp* find_map(std::string_view name) { return maps().find(name); }
const ReduceOp* find_reduction(std::string_view name) { return reductions().find(name); }
void register_op(const MapOp& row) { maps().add(row, "map"); }
void register_op(const ReduceOp& row) { reductions().add(row, "reduction"); }

namespace detail {

namespace {
/// `own`: the definition in the calling file.
template <class Row, class Own> bool register_or_ignore(const Row& row, const Own& own) noexcept {
    try {
        std::string kept = definition(row), other = definition(own);
        if (kept != other && without_blanks(kept) != without_blanks(other)) {
            using Twice = DefinedTwice<Row>;
            auto twice = std::make_unique<Twice>(Twice{row.name, &row, std::move(kept), std::move(other)});
            defined_twice<Row>().add(*twice, "row");
            static_cast<void>(twice.release()); // never freed, like the lists
        }
        register_op(row);
        return true;
    } catch (...) {
        return false;
    }
}

template <class Row> void check_defined_once(const Row& row, std::string_view kind) {
    const DefinedTwice<Row>* const twice = defined_twice<Row>().find(row.name);
    if (twice != nullptr && twice->row == &row)
        throw InvalidGraph(fmt::format("the {} {}", kind, row.name),
                           "two files of the program define it differently, and the linker kept the first of these",
                           "rename one of them, or define it once, in a header",
                           fmt::format("    {}\n    {}", twice->kept, twice->other));
}
} // namespace

bool register_at_start(const MapOp& row, const MapOp& own) noexcept { return register_or_ignore(row, own); }
bool register_at_start(const ReduceOp& row, std::string_view own) noexcept { return register_or_ignore(row, own); }

void check_defined_once(const MapOp& row) { check_defined_once(row, "map"); }
void check_defined_once(const ReduceOp& row) { check_defined_once(row, "reduction"); }

} // namespace detail

} // namespace gf
