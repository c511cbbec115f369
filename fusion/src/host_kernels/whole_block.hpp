// The fold of all slabs of a block at once: its lanes stay in registers until they are combined.
#pragma once

#include "host_kernels/registers.hpp"

namespace GRIDFOLD_NAMESPACE::kernels {

/// For a monoid M that folds in the canonical order and whose State is one number.
template <class M, class E> struct WholeBlock {
    /// BlockKernels::fold.
    template <class Source> GRIDFOLD_FN static void fold(void* memory, const FoldInput& in) {
        auto* const base = static_cast<char*>(memory);
        switch (in.rows) {
        case 1: return fold_rows<Source, OneRow, false>(base, in);
        case 2: return fold_rows<Source, TwoRows, false>(base, in);
        case 3: return fold_rows<Source, TwoRows, true>(base, in);
        case max_rows: return fold_rows<Source, AllRows, false>(base, in);
        default: return fold_rows<Source, AllRows, true>(base, in);
        }
    }

private:
    using State = typename M::State;
    using T = typename CombineLanes<M>::type;
    static constexpr std::size_t step = T::template step<E>, group = T::template group<E>;
    using Group = Lanes<State, group>;

    /// Folds rows first_row + r into a group's lanes, which are elements [begin, begin + group) of the rows.
    template <bool starts, class Source, std::size_t... r>
    GRIDFOLD_FN static void fold_group(Group lanes, const FoldInput& in, std::size_t first_row, std::size_t begin,
                                       Rows<r...>) {
        const Source x[] = {Source(in, first_row + r)...};
        const i64 index_row = in.index_row, index = in.index + static_cast<i64>(first_row) * index_row;
#pragma GCC unroll 16
        for (std::size_t k = 0; k < group; k += step) {
            GRIDFOLD_ONE_VECTOR
            for (std::size_t i = 0; i < step; ++i) {
                State s = starts ? T::start() : lanes.load(k + i);
                const i64 at = index + static_cast<i64>(begin + k + i);
                (M::accumulate(s, x[r][begin + k + i], at + static_cast<i64>(r) * index_row), ...);
                lanes.store(k + i, s);
            }
        }
    }

    template <std::size_t... r> static constexpr std::size_t row_count(Rows<r...>) { return sizeof...(r); }

    /// Folds all rows, in one loop FirstRows, and combines their lanes. Without `more` rows than these, lanes stay in
    /// registers.
    template <class Source, class FirstRows, bool more>
    GRIDFOLD_FN static void fold_rows(char* base, const FoldInput& in) {
        if (in.n < group) __builtin_unreachable(); // a power of two from 256 on
        alignas(64) char quarters[sizeof(State) * T::lanes_at_once];
        const typename T::Some left{quarters};
        static_assert(T::lanes_at_once == lane_count / 4);
        for (std::size_t begin = 0; begin < in.n; begin += group) {
            alignas(64) char memory[sizeof(State) * group];
            const Group lanes{memory};
            fold_group<true, Source>(lanes, in, 0, begin, FirstRows());
            if constexpr (more) {
                std::size_t row = row_count(FirstRows());
                for (; row + max_rows <= in.rows; row += max_rows)
                    fold_group<false, Source>(lanes, in, row, begin, AllRows());
                for (; row < in.rows; ++row) fold_group<false, Source>(lanes, in, row, begin, OneRow());
            }
#pragma GCC unroll 4
            for (std::size_t first = 0; first < group; first += 4 * T::width)
                T::quarter(lanes, first, left, (begin + first) / 4);
        }
        Lanes<State, lane_count>{base}.store(in.first / in.n, T::combine(left, in.n / 4));
    }
};

} // namespace GRIDFOLD_NAMESPACE::kernels
