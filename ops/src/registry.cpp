// The rows that this process knows by name.
#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include <gridfold/core/error.hpp>
#include <gridfold/ops/op_macros.hpp>

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

} // namespace

std::span<const MapOp* const> all_maps() { return maps().list(); }
std::span<const ReduceOp* const> all_reductions() { return reductions().list(); }
const MapOp* find_map(std::string_view name) { return maps().find(name); }
const ReduceOp* find_reduction(std::string_view name) { return reductions().find(name); }
void register_op(const MapOp& row) { maps().add(row, "map"); }
void register_op(const ReduceOp& row) { reductions().add(row, "reduction"); }

namespace detail {

namespace {
template <class Row> bool register_or_ignore(const Row& row) noexcept {
    try {
        register_op(row);
        return true;
    } catch (...) {
        return false;
    }
}
} // namespace

bool register_at_start(const MapOp& row) noexcept { return register_or_ignore(row); }
bool register_at_start(const ReduceOp& row) noexcept { return register_or_ignore(row); }

} // namespace detail

} // namespace gf
