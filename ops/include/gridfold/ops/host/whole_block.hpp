// The fold of all slabs of a block at once: its lanes stay in registers until they are combined.
#pragma once

#include <gridfold/ops/host/sources.hpp>
#include <gridfold/ops/host/tree.hpp>

namespace GRIDFOLD_NAMESPACE::kernels {

/// For a monoid M whose State is one number, in the canonical order.
template <class M, class E> struct WholeBlock {
    /// FoldKernels::fold_block.
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
    using T = Tree<M, E>;

    /// Folds rows first_row + r into a group's lanes, which are elements [begin, begin + group) of the rows.
    template <bool starts, class Source, std::size_t... r>
    GRIDFOLD_FN static void fold_group(typename T::Group group, const FoldInput& in, std::size_t first_row,
                                       std::size_t begin, Rows<r...>) {
        const Source x[] = {Source(in, first_row + r)...};
        const i64 index_row = in.index_row, index = in.index + static_cast<i64>(first_row) * index_row;
#pragma GCC unroll 16
        for (std::size_t k = 0; k < T::group; k += T::step) {
            GRIDFOLD_ONE_VECTOR
            for (std::size_t i = 0; i < T::step; ++i) {
                State s = starts ? M::identity() : group.load(k + i);
                const i64 at = index + static_cast<i64>(begin + k + i);
                (M::accumulate(s, x[r][begin + k + i], at + static_cast<i64>(r) * index_row), ...);
                group.store(k + i, s);
            }
        }
    }

    /// Folds all rows, in one loop FirstRows, and combines their lanes.
    template <class Source, class FirstRows> GRIDFOLD_FN static void fold_rows(char* base, const FoldInput& in) {
        alignas(64) char quarters[sizeof(State) * lane_count / 4];
        const Lanes<State, lane_count / 4> left{quarters};
        for (std::size_t begin = 0; begin < in.n; begin += T::group) {
            alignas(64) char memory[sizeof(State) * T::group];
            const typename T::Group group{memory};
            fold_group<true, Source>(group, in, 0, begin, FirstRows());
            std::size_t row = row_count(FirstRows());
            for (; row + max_rows <= in.rows; row += max_rows)
                fold_group<false, Source>(group, in, row, begin, AllRows());
            for (; row < in.rows; ++row) fold_group<false, Source>(group, in, row, begin, OneRow());
            T::quarter_group(group, left, begin / 4);
        }
        Lanes<State, lane_count>{base}.store(in.first / in.n, T::combine(left, in.n / 4));
    }
};

} // namespace GRIDFOLD_NAMESPACE::kernels
