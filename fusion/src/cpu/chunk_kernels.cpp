// Folds of chunks (kernel_types.hpp), for the instruction set that this file is compiled for.
#include "folding.hpp"

namespace GRIDFOLD_NAMESPACE {

ChunkKernel chunk_kernel(int monoid, int element, int accumulator, bool product);
ChunkCopy chunk_copy(std::size_t element_bytes);

namespace kernels {

/// Min and max of the rows of a lane by the bits of the floats: three integer minima and maxima an element, each an
/// instruction, and no chain of latencies from row to row. Floats of one sign order as their bits do, or the other way
/// round; NaN lies beyond infinity on either side. Bits of so many bytes have such instructions:
#if defined(__AVX512F__)
constexpr std::size_t widest_ordered = 8;
#elif defined(__AVX2__) || !defined(__x86_64__)
constexpr std::size_t widest_ordered = 4;
#else
constexpr std::size_t widest_ordered = 0;
#endif
template <class M> struct ByBits {
    static constexpr bool fits = false;
};
template <bool smallest, class E> struct Extremes {
    static constexpr bool fits = is_floating<E> && sizeof(E) <= widest_ordered;
    using Bits = Unsigned<E>;
    using Signed = typename Choose<sizeof(E) == 8, i64, i32>::type;

    Bits high = 0, other = 0; // the largest and, of min, the smallest as unsigned; of max, the smallest as signed
    Signed most = 0;          // the largest as signed

    [[gnu::always_inline]] void start(E x) {
        high = other = to_bits(x);
        most = Signed(high);
    }
    [[gnu::always_inline]] void add(E x) {
        const Bits bits = to_bits(x);
        high = bits < high ? high : bits;
        most = Signed(bits) < most ? most : Signed(bits);
        if constexpr (smallest)
            other = bits < other ? bits : other;
        else
            other = Signed(bits) < Signed(other) ? bits : other;
    }
    /// The value; a NaN if there was any.
    [[gnu::always_inline]] E value() const {
        constexpr Bits sign = Bits(1) << (8 * sizeof(E) - 1);
        const Bits infinite = to_bits(infinity<E>());
        const bool nan = int(most > Signed(infinite)) | int(high > (sign | infinite));
        const Bits negative = smallest ? high : other, positive = smallest ? other : Bits(most);
        const bool is_negative = smallest ? Signed(high) < 0 : most < 0;
        const Bits bits = is_negative ? negative : positive;
        return from_bits(nan ? ~Bits(0) : bits);
    }
};
template <class E, class A> struct ByBits<Min<E, A>> : Extremes<true, E> {};
template <class E, class A> struct ByBits<Max<E, A>> : Extremes<false, E> {};

template <class M, class E> struct ChunkFold : Folding<M, E> {
    using Base = Folding<M, E>;
    using State = typename M::State;
    using Way = typename Base::Way;
    template <Way way> using LanesOf = typename Base::template LanesOf<way>;

    /// The lanes of a chunk fold rows [begin, end).
    template <Way way, class Source, int begin, int end>
    [[gnu::always_inline]] static void fold_rows(LanesOf<way> states, const Chunks& in, std::size_t chunk) {
        constexpr bool masked = way == Way::masked;
        const std::size_t first = in.first + chunk * chunk_lanes;
        const Source x(in, chunk * chunk_elements);
        const Elements<bool> mask{reinterpret_cast<const u8*>(in.mask) + (masked ? chunk * chunk_elements : 0)};
        const i64 index = in.index + static_cast<i64>(chunk * chunk_lanes), step = in.index_row;
        const u32 number = static_cast<u32>(in.first_row);
        const f64 origin = Base::template origin<way>(states);
        GRIDFOLD_CHUNK_LANES
        for (std::size_t i = 0; i < chunk_lanes; ++i) {
            auto s =
                Base::template lane_before < begin == 0 || way != Way::start ? way : Way::advance > (states, first + i);
            if constexpr (counts_bools<M>) {
                u8 count = 0;
                for_rows<begin, end>([&](std::size_t r) {
                    const std::size_t at = r * chunk_lanes + i;
                    count = static_cast<u8>(count + (masked ? int(x[at]) & int(mask[at]) : int(x[at])));
                });
                s.count += count;
            } else if constexpr (sums_narrow<M>) {
                int sum = 0;
                for_rows<begin, end>([&](std::size_t r) {
                    const std::size_t at = r * chunk_lanes + i;
                    sum += masked ? int(x[at]) & -int(mask[at]) : int(x[at]);
                });
                s.sum = add(s.sum, convert<decltype(s.sum)>(static_cast<RowsSum<E>>(sum)));
            } else if constexpr (way == Way::accumulate && ByBits<M>::fits) {
                ByBits<M> extremes;
                extremes.start(x[i]);
                for_rows<1, end>([&](std::size_t r) { extremes.add(x[r * chunk_lanes + i]); });
                M::combine(s, State{extremes.value()});
            } else {
                for_rows<begin, end>([&](std::size_t r) {
                    const std::size_t at = r * chunk_lanes + i;
                    Base::template fold_element<way>(s, x[at], masked && mask[at],
                                                     index + static_cast<i64>(i) + static_cast<i64>(r) * step,
                                                     number + static_cast<u32>(r), origin);
                });
            }
            states.store(first + i, s);
        }
    }
    template <int begin, int end, class F> [[gnu::always_inline]] static void for_rows(F f) {
        if constexpr (begin < end) {
            f(static_cast<std::size_t>(begin));
            for_rows<begin + 1, end>(f);
        }
    }

    template <Way way, class Source, int row = 0>
    [[gnu::always_inline]] static void fold_all(LanesOf<way> states, const Chunks& in, std::size_t chunk) {
        if constexpr (!rows_one_by_one<M>) {
            fold_rows<way, Source, 0, chunk_rows>(states, in, chunk);
        } else if constexpr (row < int(chunk_rows)) {
            fold_rows<way, Source, row, row + 1>(states, in, chunk);
            fold_all<way, Source, row + 1>(states, in, chunk);
        }
    }

    template <class Source> static void fold(void* lanes, const Chunks& in, std::size_t chunk) {
        auto* const base = static_cast<char*>(lanes);
        if (in.mask != nullptr) {
            fold_all<Way::masked, Source>({base}, in, chunk);
        } else if constexpr (Base::in_steps || Base::of_block) {
            if constexpr (Base::of_block)
                if (in.first_row == 0 && in.first == 0 && chunk == 0)
                    Base::origin_of(base) = M::origin(Source(in, 0)[0]);
            if (in.first_row == 0)
                fold_all<Way::start, Source>({base}, in, chunk);
            else
                fold_all<Way::advance, Source>({base}, in, chunk);
        } else {
            fold_all<Way::accumulate, Source>({base}, in, chunk);
        }
    }
};

template <class E> struct ChunkElements {
    Elements<E> x;
    ChunkElements(const Chunks& in, std::size_t at) : x{static_cast<const typename Elements<E>::Stored*>(in.x) + at} {}
    [[gnu::always_inline]] E operator[](std::size_t i) const { return x[i]; }
};
template <class E> struct ChunkProducts {
    const E *x, *y;
    ChunkProducts(const Chunks& in, std::size_t at)
        : x(static_cast<const E*>(in.x) + at), y(static_cast<const E*>(in.y) + at) {}
    [[gnu::always_inline]] E operator[](std::size_t i) const { return mul(x[i], y[i]); }
};

struct ChunkKernels {
    ChunkKernel fold = nullptr, product = nullptr;
};

template <template <class, class> class M, Accumulator rule, Type element, Type accumulator>
constexpr ChunkKernels chunk_entry() {
    if constexpr (accumulates(rule, element, TypeFacts<element>::kind, accumulator, TypeFacts<accumulator>::kind)) {
        using E = Element<element>;
        using Monoid = M<E, Element<accumulator>>;
        using Fold = ChunkFold<Monoid, E>;
        if constexpr (takes_products<Monoid, E>)
            return {&Fold::template fold<ChunkElements<E>>, &Fold::template fold<ChunkProducts<E>>};
        else
            return {&Fold::template fold<ChunkElements<E>>};
    }
    return {};
}

/// The kernels of one monoid over one element type, by accumulator type.
template <template <class, class> class M, Accumulator rule, Type element> struct ChunkRow {
    static constexpr ChunkKernels entries[] = {
#define DTYPE(accumulator, ...) chunk_entry<M, rule, element, Type::accumulator>(),
#include <gridfold/core/dtype.def>
#undef DTYPE
    };
};

template <template <class, class> class M, Accumulator rule> struct ChunkTable {
    static constexpr const ChunkKernels* rows[] = {
#define DTYPE(element, ...) ChunkRow<M, rule, Type::element>::entries,
#include <gridfold/core/dtype.def>
#undef DTYPE
    };
};

template <class T> void copy_chunks(void* out, const void* in, std::size_t row_bytes, std::size_t n) {
    for (std::size_t lane = 0; lane < n; lane += chunk_lanes)
        for (std::size_t r = 0; r < chunk_rows; ++r)
            __builtin_memcpy(static_cast<char*>(out) + (lane * chunk_rows + r * chunk_lanes) * sizeof(T),
                             static_cast<const char*>(in) + r * row_bytes + lane * sizeof(T), chunk_lanes * sizeof(T));
}

} // namespace kernels

ChunkKernel chunk_kernel(int monoid, int element, int accumulator, bool product) {
    using namespace kernels;
    ChunkKernels found;
#define MONOID(...)
#define REDUCE(id, monoid_, rule, ...)                                  \
    if (found.fold == nullptr && Position(monoid) == Position::monoid_) \
        found = ChunkTable<monoid_, Accumulator::rule>::rows[element][accumulator];
#include <gridfold/ops/reduce.def>
#undef REDUCE
#undef MONOID
    return product ? found.product : found.fold;
}

ChunkCopy chunk_copy(std::size_t element_bytes) {
    switch (element_bytes) {
    case 1: return kernels::copy_chunks<u8>;
    case 2: return kernels::copy_chunks<u16>;
    case 4: return kernels::copy_chunks<u32>;
    case 8: return kernels::copy_chunks<u64>;
    default: return nullptr;
    }
}

} // namespace GRIDFOLD_NAMESPACE
