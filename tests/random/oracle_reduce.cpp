// The oracle's reductions. Integers are folded from first to last; floating states in the canonical order
// (fusion/order.hpp), as a recursion over index bits.
#include "oracle.hpp"

#include <algorithm>
#include <optional>

#include <gridfold/core/device/prelude.cuh>
#include <gridfold/fusion/order.hpp>

namespace gf::oracle {

namespace {

/// The elements of a fold. Accepted elements keep their index in the domain.
struct Elements {
    std::span<const Bits> bits;
    std::span<const Bits> mask;
    DType type;
    const Order& order;
    std::span<const Bits> second = {};

    std::int64_t count() const { return static_cast<std::int64_t>(bits.size()); }
    bool accepted(std::int64_t i) const { return mask.empty() || mask[static_cast<std::size_t>(i)] != 0; }
    Bits operator[](std::int64_t i) const { return bits[static_cast<std::size_t>(i)]; }
    template <class T> T as(std::int64_t i, DType to) const { return from_bits<T>(convert((*this)[i], type, to)); }
    bool is_true(std::int64_t i) const { return convert((*this)[i], type, DType::boolean) != 0; }
    bool any_accepted() const {
        for (std::int64_t i = 0; i < count(); ++i)
            if (accepted(i)) return true;
        return false;
    }
};

/// Combines leaves [first, first + width), width a power of two. Leaves from `count` on do not exist. Leaf
/// indices that differ in their lowest bit meet first.
template <class Leaf, class Combine>
auto tree(std::int64_t first, std::int64_t width, std::int64_t count, const Leaf& leaf, const Combine& combine)
    -> decltype(leaf(first)) {
    if (width == 1) return leaf(first);
    const auto left = tree(first, width / 2, count, leaf, combine);
    if (first + width / 2 >= count) return left;
    return combine(left, tree(first + width / 2, width / 2, count, leaf, combine));
}

/// canonical() where kept dims lie inside folded ones: each lane starts by itself.
template <class Start, class Accumulate, class Combine>
auto canonical_of_boxes(const Elements& x, const Start& start, const Accumulate& accumulate, const Combine& combine) {
    const Order& order = x.order;
    std::vector<std::vector<std::int64_t>> elements(static_cast<std::size_t>(order.blocks * order.lanes));
    for (std::size_t i = 0; i < order.slab.size(); ++i)
        elements[static_cast<std::size_t>(order.slab[i] % order.blocks * order.lanes + order.lane[i])].push_back(
            static_cast<std::int64_t>(i));
    const auto width = [](std::int64_t count) {
        std::int64_t power = 1;
        while (power < count) power *= 2;
        return power;
    };
    const auto block = [&](std::int64_t b) {
        const auto lane = [&](std::int64_t l) {
            auto state = start(0);
            for (const std::int64_t i : elements[static_cast<std::size_t>(b * order.lanes + l)])
                if (x.accepted(i)) state = accumulate(state, i);
            return state;
        };
        return tree(0, width(order.lanes), order.lanes, lane, combine);
    };
    return tree(0, width(order.blocks), order.blocks, block, combine);
}

/// Folds in the canonical order: lanes of blocks, then lanes, then blocks. Without accepted elements: the identity.
/// `start(i)`: the initial state of the lanes of the block whose first element is i.
template <class Start, class Accumulate, class Combine>
auto canonical(const Elements& x, const Start& start, const Accumulate& accumulate, const Combine& combine) {
    if (!x.order.slab.empty()) return canonical_of_boxes(x, start, accumulate, combine);
    // 2,048 is written out: the oracle shares only the number of blocks with the library.
    const std::int64_t n = x.count(), lanes = 2048, blocks = block_count(n);
    const auto block = [&](std::int64_t b) {
        const auto lane = [&](std::int64_t l) {
            auto state = start(b * lanes);
            for (std::int64_t i = b * lanes + l; i < n; i += blocks * lanes)
                if (x.accepted(i)) state = accumulate(state, i);
            return state;
        };
        return tree(0, lanes, lanes, lane, combine);
    };
    std::int64_t width = 1;
    while (width < blocks) width *= 2;
    return tree(0, width, blocks, block, combine);
}

template <class State> auto always(State identity) {
    return [identity](std::int64_t) { return identity; };
}

/// Folds terms by + or ×, in an integer or floating accumulator.
template <class Term> Bits fold_terms(const Elements& x, DType accumulator, bool product, const Term& term) {
    const auto in = [&]<class A>(A) {
        const auto join = [&](A s, A t) { return product ? A(s * t) : A(s + t); };
        const auto accumulate = [&](A s, std::int64_t i) { return join(s, term(x.as<A>(i, accumulator))); };
        return to_bits(canonical(x, always(A(product ? 1 : 0)), accumulate, join));
    };
    if (accumulator == DType::f64) return in(double{});
    if (accumulator == DType::f32) return in(float{});
    auto total = Bits{product};
    for (std::int64_t i = 0; i < x.count(); ++i) {
        if (!x.accepted(i)) continue;
        const Bits t = term(static_cast<Bits>(integer_of(convert(x[i], x.type, accumulator), accumulator)));
        total = product ? total * t : total + t;
    }
    return accumulator == DType::boolean ? Bits{total != 0} : wrap(static_cast<Wide>(total), accumulator);
}

/// True if element i comes before element `best` in the order of min (sign = 1) or max (sign = −1). NaN comes first.
bool precedes(const Elements& x, std::int64_t i, std::int64_t best, int sign, bool signed_zeros) {
    if (!is_floating(x.type)) {
        const Wide a = integer_of(x[i], x.type), b = integer_of(x[best], x.type);
        return sign > 0 ? a < b : a > b;
    }
    const double a = number_of(x[i], x.type), b = number_of(x[best], x.type);
    if (std::isnan(b)) return false;
    if (std::isnan(a)) return true;
    if (signed_zeros && a == 0 && b == 0)
        return sign > 0 ? std::signbit(a) && !std::signbit(b) : !std::signbit(a) && std::signbit(b);
    return sign > 0 ? a < b : a > b;
}

/// The index of the first least (greatest) accepted element.
std::optional<std::int64_t> extreme(const Elements& x, int sign, bool signed_zeros) {
    std::optional<std::int64_t> best;
    for (std::int64_t i = 0; i < x.count(); ++i)
        if (x.accepted(i) && (!best || precedes(x, i, *best, sign, signed_zeros))) best = i;
    return best;
}

/// Sums about an origin: the block's first element, or with a mask each lane's own first element.
struct Moments {
    double count = 0, origin = 0, sum = 0, squares = 0;

    Moments about(double other) const {
        const double way = origin - other;
        return {count, other, sum + count * way, squares + 2 * way * (sum + 0.5 * (count * way))};
    }
    double mean() const { return origin + sum / count; }
};

Moments moments(const Elements& x) {
    const auto at = [&](std::int64_t i) { return x.as<double>(i, DType::f64); };
    const auto about = [&](std::int64_t i) { return Moments{.origin = std::fabs(at(i)) < 0x1p1000 ? at(i) : 0.0}; };
    const bool masked = !x.mask.empty() || !x.order.slab.empty(); // each lane has an origin of its own
    const auto start = [&](std::int64_t i) { return masked || x.count() == 0 ? Moments{} : about(i); };
    const auto accumulate = [&](Moments s, std::int64_t i) {
        if (s.count == 0 && masked) s = about(i);
        const double distance = at(i) - s.origin;
        return Moments{s.count + 1, s.origin, s.sum + distance, s.squares + distance * distance};
    };
    const auto combine = [](const Moments& s, const Moments& t) {
        if (s.count == 0 || t.count == 0) return s.count == 0 ? t : s;
        const Moments moved_s = s.about(t.origin), moved_t = t.about(s.origin);
        const double about_s = s.squares + moved_t.squares, about_t = t.squares + moved_s.squares;
        if (about_t < about_s) return Moments{s.count + t.count, t.origin, t.sum + moved_s.sum, about_t};
        return Moments{s.count + t.count, s.origin, s.sum + moved_t.sum, about_s};
    };
    return canonical(x, start, accumulate, combine);
}

double variance(const Moments& s, int ddof) {
    const double divisor = s.count - ddof;
    if (!(divisor > 0)) return std::numeric_limits<double>::quiet_NaN();
    const bool is_infinite = std::isinf(s.squares) && std::isfinite(s.sum);
    const double squares = is_infinite ? s.squares : s.squares - s.sum * (s.sum / s.count);
    return (squares < 0 ? 0.0 : squares) / divisor;
}

/// The moments of pairs of elements, as Moments: each side has an origin of its own, chosen by its own squares.
struct CoMoments {
    Moments x, y;
    double products = 0;
};

CoMoments co_moments(const Elements& a) {
    const Elements b{a.second, a.mask, a.type, a.order};
    const auto at = [](const Elements& side, std::int64_t i) { return side.as<double>(i, DType::f64); };
    const auto about = [&](const Elements& side, std::int64_t i) {
        return Moments{.origin = std::fabs(at(side, i)) < 0x1p1000 ? at(side, i) : 0.0};
    };
    const bool masked = !a.mask.empty() || !a.order.slab.empty();
    const auto start = [&](std::int64_t i) {
        return masked || a.count() == 0 ? CoMoments{} : CoMoments{about(a, i), about(b, i)};
    };
    const auto with = [](Moments s, double distance) {
        return Moments{s.count + 1, s.origin, s.sum + distance, s.squares + distance * distance};
    };
    const auto accumulate = [&](CoMoments s, std::int64_t i) {
        if (s.x.count == 0 && masked) s = {about(a, i), about(b, i)};
        const double dx = at(a, i) - s.x.origin, dy = at(b, i) - s.y.origin;
        return CoMoments{with(s.x, dx), with(s.y, dy), s.products + dx * dy};
    };
    /// About other origins.
    const auto moved = [](const CoMoments& s, double x, double y) {
        const double dx = s.x.origin - x, dy = s.y.origin - y;
        return CoMoments{s.x.about(x), s.y.about(y), s.products + dx * s.y.sum + dy * (s.x.sum + s.x.count * dx)};
    };
    const auto joined = [](const Moments& s, const Moments& t) {
        return Moments{s.count + t.count, s.origin, s.sum + t.sum, s.squares + t.squares};
    };
    const auto combine = [&](const CoMoments& s, const CoMoments& t) {
        if (s.x.count == 0 || t.x.count == 0) return s.x.count == 0 ? t : s;
        const auto origin = [](const Moments& l, const Moments& r) {
            return r.squares + l.about(r.origin).squares < l.squares + r.about(l.origin).squares ? r.origin : l.origin;
        };
        const double x = origin(s.x, t.x), y = origin(s.y, t.y);
        const CoMoments l = moved(s, x, y), r = moved(t, x, y);
        return CoMoments{joined(l.x, r.x), joined(l.y, r.y), l.products + r.products};
    };
    return canonical(a, start, accumulate, combine);
}

double covariance(const CoMoments& s, int ddof) {
    const double divisor = s.x.count - ddof;
    if (!(divisor > 0) || !std::isfinite(s.x.sum) || !std::isfinite(s.y.sum))
        return std::numeric_limits<double>::quiet_NaN();
    return (s.products - s.x.sum * (s.y.sum / s.x.count)) / divisor;
}

double correlation(const CoMoments& s) {
    const double xx = s.x.squares - s.x.sum * (s.x.sum / s.x.count);
    const double yy = s.y.squares - s.y.sum * (s.y.sum / s.y.count);
    if (!(xx > 0 && yy > 0)) return std::numeric_limits<double>::quiet_NaN();
    const double r = (s.products - s.x.sum * (s.y.sum / s.x.count)) / (std::sqrt(xx) * std::sqrt(yy));
    return r < -1 ? -1 : r > 1 ? 1 : r;
}

/// The sum of products with the weights, over that of the weights.
double weighted_mean(const Elements& x) {
    struct State {
        double sum = 0, weight = 0;
    };
    const Elements weights{x.second, x.mask, x.type, x.order};
    const auto accumulate = [&](State s, std::int64_t i) {
        const double weight = weights.as<double>(i, DType::f64);
        return State{s.sum + x.as<double>(i, DType::f64) * weight, s.weight + weight};
    };
    const auto combine = [](State s, State t) { return State{s.sum + t.sum, s.weight + t.weight}; };
    const State s = canonical(x, always(State{}), accumulate, combine);
    return s.sum / s.weight;
}

/// The largest element, and the sum of e^(x − largest) over all elements; in A.
template <class A> A log_sum_exp(const Elements& x, DType accumulator) {
    struct State {
        A largest, sum;
    };
    const auto below = [](A value, A from) { return value == from ? A(1) : device::exp(value - from); };
    const auto accumulate = [&](State s, std::int64_t i) {
        const A value = x.as<A>(i, accumulator);
        if (value > s.largest) return State{value, s.sum * below(s.largest, value) + A(1)};
        return State{s.largest, s.sum + below(value, s.largest)};
    };
    const auto combine = [&](State s, State t) {
        const A largest = s.largest > t.largest ? s.largest : t.largest;
        return State{largest, s.sum * below(s.largest, largest) + t.sum * below(t.largest, largest)};
    };
    const State s = canonical(x, always(State{-std::numeric_limits<A>::infinity(), A(0)}), accumulate, combine);
    return s.largest + device::log(s.sum);
}

Bits floating(double value, DType type) { return convert(to_bits(value), DType::f64, type); }

} // namespace

Order order_of(std::span<const std::int64_t> extents, const std::vector<bool>& kept) {
    struct Group {
        std::int64_t extent;
        bool folds;
    };
    std::vector<Group> groups; // neighbouring dims of one kind, without the leading kept ones
    for (std::size_t d = 0; d < extents.size(); ++d) {
        if (groups.empty() && kept[d]) continue;
        if (!groups.empty() && groups.back().folds == !kept[d])
            groups.back().extent *= extents[d];
        else
            groups.push_back({extents[d], !kept[d]});
    }
    if (groups.size() == 1) return {}; // a row is folded as a vector
    constexpr std::int64_t most = 2048;
    std::size_t inner = groups.size(); // the first group that lies whole in a slab
    std::int64_t inside = 1;
    while (inner > 0 && inside * groups[inner - 1].extent <= most) inside *= groups[--inner].extent;
    const bool fits = inner == 0;
    std::int64_t chunk = 1;
    while (2 * chunk * inside <= most) chunk *= 2;
    const auto chunks = [&](std::int64_t extent) { return (extent + chunk - 1) / chunk; };

    Order order;
    std::int64_t folded = 1, slabs = 1, parts = 1, results = 1; // slabs and results of a part
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const bool outside = !fits && g < inner - 1, is_cut = !fits && g == inner - 1;
        (groups[g].folds ? slabs : parts) *= outside ? groups[g].extent : is_cut ? chunks(groups[g].extent) : 1;
        if (groups[g].folds)
            folded *= groups[g].extent;
        else
            results *= outside ? 1 : is_cut ? chunk : groups[g].extent;
    }
    order.blocks = std::min(256 / parts, slabs / std::max<std::int64_t>(8, results / 64));
    order.blocks = std::min<std::int64_t>(std::max(order.blocks, (slabs + 1023) / 1024), 256);
    for (std::int64_t i = 0; i < folded; ++i) {
        std::int64_t slab = 0, lane = 0, left = i, below = folded;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            if (!groups[g].folds) continue;
            below /= groups[g].extent;
            const std::int64_t coordinate = left / below;
            left %= below;
            if (!fits && g < inner - 1)
                slab = slab * groups[g].extent + coordinate;
            else if (!fits && g == inner - 1)
                slab = slab * chunks(groups[g].extent) + coordinate / chunk, lane = coordinate % chunk;
            else
                lane = lane * groups[g].extent + coordinate;
        }
        order.slab.push_back(slab);
        order.lane.push_back(lane);
        order.lanes = std::max(order.lanes, lane + 1);
    }
    return order;
}

Reduced reduce(std::string_view name, std::span<const Bits> elements, DType element, std::span<const Bits> mask,
               DType accumulator, DType result, int argument, const Order& order, std::span<const Bits> second) {
    const Elements x{elements, mask, element, order, second};
    const auto itself = [](auto term) { return term; };
    const auto square = [](auto term) { return term * term; };

    if (name == "sum") return {fold_terms(x, accumulator, false, itself)};
    if (name == "product") return {fold_terms(x, accumulator, true, itself)};
    if (name == "sum_of_squares") return {fold_terms(x, accumulator, false, square)};
    if (name == "l2_norm") {
        const Bits sum = convert(fold_terms(x, accumulator, false, square), accumulator, result);
        if (result == DType::f32) return {to_bits(std::sqrt(from_bits<float>(sum)))};
        return {to_bits(std::sqrt(from_bits<double>(sum)))};
    }
    if (name == "any" || name == "all" || name == "count") {
        std::int64_t accepted = 0, hits = 0;
        for (std::int64_t i = 0; i < x.count(); ++i) {
            if (!x.accepted(i)) continue;
            ++accepted;
            hits += x.is_true(i) ? 1 : 0;
        }
        return {name == "count" ? static_cast<Bits>(hits) : name == "any" ? Bits{hits > 0} : Bits{hits == accepted}};
    }

    const Reduced none = is_floating(result)
                             ? Reduced{floating(std::numeric_limits<double>::quiet_NaN(), result), false}
                             : Reduced{0, true};
    if (!x.any_accepted()) return none;
    if (name == "largest") {
        std::vector<std::int64_t> falling;
        for (std::int64_t i = 0; i < x.count(); ++i)
            if (x.accepted(i)) falling.push_back(i);
        if (std::ssize(falling) <= argument) return none;
        std::ranges::stable_sort(falling, [&](std::int64_t a, std::int64_t b) { return precedes(x, a, b, -1, true); });
        return {x[falling[static_cast<std::size_t>(argument)]]};
    }
    if (name == "min" || name == "max") return {x[*extreme(x, name == "min" ? 1 : -1, true)]};
    if (name == "argmin" || name == "argmax") return {static_cast<Bits>(*extreme(x, name == "argmin" ? 1 : -1, false))};
    if (name == "mean") return {floating(moments(x).mean(), result)};
    if (name == "variance") return {floating(variance(moments(x), argument), result)};
    if (name == "stddev") return {floating(std::sqrt(variance(moments(x), argument)), result)};
    if (name == "covariance") return {floating(covariance(co_moments(x), argument), result)};
    if (name == "correlation") return {floating(correlation(co_moments(x)), result)};
    if (name == "weighted_mean") return {floating(weighted_mean(x), result)};
    if (name == "at_min" || name == "at_max")
        return {second[static_cast<std::size_t>(*extreme(x, name == "at_min" ? 1 : -1, false))]};
    if (name == "first" || name == "last") {
        std::int64_t i = name == "first" ? 0 : x.count() - 1;
        while (!x.accepted(i)) i += name == "first" ? 1 : -1;
        return {x[i]};
    }
    if (name == "logsumexp") {
        const Bits value = accumulator == DType::f32 ? to_bits(log_sum_exp<float>(x, accumulator))
                                                     : to_bits(log_sum_exp<double>(x, accumulator));
        return {convert(value, accumulator, result)};
    }
    throw InternalError("oracle: no reduction " + std::string(name));
}

} // namespace gf::oracle
