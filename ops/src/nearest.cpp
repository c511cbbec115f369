// Edit distance by Wagner and Fischer (1974), with swaps as Damerau (1964) counts them; on short names only.
#include <gridfold/ops/nearest.hpp>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace gf::detail {

namespace {

constexpr std::size_t longest = 64;

/// Insertions, deletions, replacements, and swaps of neighbours.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        next[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            next[j + 1] = std::min({row[j + 1] + 1, next[j] + 1, row[j] + (a[i] != b[j])});
            if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
                next[j + 1] = std::min(next[j + 1], before[j - 1] + 1);
        }
        std::swap(before, row);
        std::swap(row, next);
    }
    return row.back();
}

} // namespace

std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates) {
    std::string_view best;
    if (name.size() > longest) return best;
    std::size_t fewest = std::max<std::size_t>(1, name.size() / 4) + 1; // more would make any short name near
    for (const std::string_view candidate : candidates) {
        if (candidate.size() > longest || std::max(name.size(), candidate.size()) < 2) continue;
        if (const std::size_t edits = distance(name, candidate); edits < fewest) fewest = edits, best = candidate;
    }
    return best;
}

std::string suggestion(std::string_view name, std::span<const std::string_view> candidates) {
    const std::string_view near = nearest(name, candidates);
    return near.empty() ? std::string() : fmt::format("did you mean '{}'?", near);
}

std::string_view own_name(std::string_view name) {
    static constexpr std::pair<std::string_view, std::string_view> names[]{
        {"std", "stddev"},   {"stdev", "stddev"},  {"var", "variance"},       {"average", "mean"},   {"avg", "mean"},
        {"norm", "l2_norm"}, {"prod", "product"},  {"mod", "remainder"},      {"fmod", "remainder"}, {"ln", "log"},
        {"where", "select"}, {"if", "select"},     {"maximum", "max"},        {"minimum", "min"},    {"power", "pow"},
        {"square", "x * x"}, {"arctan2", "atan2"}, {"true_divide", "divide"}, {"rint", "round"},     {"fabs", "abs"},
        {"clip", "clamp"},   {"ceiling", "ceil"},  {"signum", "sign"},        {"int", "i64"},        {"float", "f32"},
        {"double", "f64"},   {"len", "extent(n)"}, {"size", "extent(n)"},     {"and", "&&"},         {"or", "||"},
        {"not", "!"}};
    for (const auto& [theirs, ours] : names)
        if (name == theirs) return ours;
    return "";
}

} // namespace gf::detail
