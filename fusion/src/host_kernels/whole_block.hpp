// The fold of all slabs of a block at once: its lanes stay in registers until they are combined.
#pragma once

#include "host_kernels/registers.hpp"

namespace GRIDFOLD_NAMESPACE::kernels {

/// For a monoid M that folds in the canonical order and whose State is one number. Lanes are set `step` at a time: as
/// many elements of E or numbers as fill a vector of the smaller type.
template <class M, class E> struct WholeBlock {
    /// BlockKernels::fold.
    template <class Source> GRIDFOLD_FN static void fold(void* memory, const FoldInput& in) {
        auto* const base = static_cast<char*>(memory);
        if (in.rows >= max_rows)
            fold_rows<Source, AllRows>(base, in);
        else if (in.rows >= 2)
            fold_rows<Source, TwoRows>(base, in);
        else
            fold_rows<Source, OneRow>(base, in);
    }

private:
    using State = typename M::State;
    using T = Tree<M, sizeof(State)>;
    static constexpr std::size_t step = vector_bytes / (sizeof(E) < sizeof(State) ? sizeof(E) : sizeof(State));
    static constexpr std::size_t group = step < 4 * T::width ? 4 * T::width : step; ///< lanes
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
                State s = starts ? M::identity() : lanes.load(k + i);
                const i64 at = index + static_cast<i64>(begin + k + i);
                (M::accumulate(s, x[r][begin + k + i], at + static_cast<i64>(r) * index_row), ...);
                lanes.store(k + i, s);
            }
        }
    }

    template <std::size_t... r> static constexpr std::size_t row_count(Rows<r...>) { return sizeof...(r); }

    /// Folds all rows, in one loop FirstRows, and combines their lanes.
    template <class Source, class FirstRows> GRIDFOLD_FN static void fold_rows(char* base, const FoldInput& in) {
        if (in.n < group) __builtin_unreachable(); // a power of two from 256 on
        alignas(64) char quarters[sizeof(State) * lane_count / 4];
        const Lanes<State, lane_count / 4> left{quarters};
        for (std::size_t begin = 0; begin < in.n; begin += group) {
            alignas(64) char memory[sizeof(State) * group];
            const Group lanes{memory};
            fold_group<true, Source>(lanes, in, 0, begin, FirstRows());
            std::size_t row = row_count(FirstRows());
            for (; row + max_rows <= in.rows; row += max_rows)
                fold_group<false, Source>(lanes, in, row, begin, AllRows());
            for (; row < in.rows; ++row) fold_group<false, Source>(lanes, in, row, begin, OneRow());
#pragma GCC unroll 4
            for (std::size_t first = 0; first < group; first += 4 * T::width)
                T::quarter(lanes, first, left, (begin + first) / 4);
        }
        Lanes<State, lane_count>{base}.store(in.first / in.n, T::combine(left, in.n / 4));
    }
};

} // namespace GRIDFOLD_NAMESPACE::kernels
