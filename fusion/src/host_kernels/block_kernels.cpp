// Folds of all slabs of a block in one call (whole_block.hpp), for the instruction set that this file is compiled for.
#include "host_kernels/fold_table.hpp"
#include "host_kernels/whole_block.hpp"

namespace GRIDFOLD_NAMESPACE {

const BlockKernels* block_kernels(int monoid, int element, int accumulator);

namespace kernels {

template <class M, class E> struct OfBlocks {
    static constexpr const BlockKernels* address = nullptr;
};
template <class M, class E>
    requires has_whole_block<M, E>
struct OfBlocks<M, E> {
    static void fold(void* lanes, const FoldInput& in) { WholeBlock<M, E>::template fold<Single<E>>(lanes, in); }
    static void fold_product(void* lanes, const FoldInput& in) {
        if constexpr (takes_products<M>) WholeBlock<M, E>::template fold<Products<E>>(lanes, in);
    }
    static constexpr BlockKernels kernels{&fold, takes_products<M> ? &fold_product : nullptr};
    static constexpr const BlockKernels* address = &kernels;
};

} // namespace kernels

const BlockKernels* block_kernels(int monoid, int element, int accumulator) {
    return kernels::find_in_fold_table<kernels::OfBlocks, const BlockKernels*>(monoid, element, accumulator);
}

} // namespace GRIDFOLD_NAMESPACE
