// The inputs of a fold on the CPU, and the loops that it is compiled to.
#pragma once

#include <gridfold/ops/host/loops.hpp>
#include <gridfold/ops/position_kernels.hpp>

#include <gridfold/core/device/fold.cuh>

namespace GRIDFOLD_NAMESPACE::kernels {

using gf::cpu::FoldInput, gf::cpu::PositionInput, gf::cpu::ShortRows, gf::cpu::max_rows;

/// Elements of type E in memory. A bool is read as a byte, because compilers do not vectorise bools.
template <class E> struct Elements {
    using Stored = E;
    const E* x;
    GRIDFOLD_FN E operator[](std::size_t i) const { return x[i]; }
};
template <> struct Elements<bool> {
    using Stored = u8;
    const u8* x;
    GRIDFOLD_FN bool operator[](std::size_t i) const { return x[i] != 0; }
};
template <class T> GRIDFOLD_FN const T* row(const void* first, std::size_t row_bytes, std::size_t r) {
    return reinterpret_cast<const T*>(static_cast<const char*>(first) + r * row_bytes);
}
GRIDFOLD_FN Elements<bool> mask_row(const FoldInput& in, std::size_t r) { return {row<u8>(in.mask, in.mask_row, r)}; }

template <class E> GRIDFOLD_FN Elements<E> row_of(const void* first, std::size_t row_bytes, std::size_t r) {
    return {row<typename Elements<E>::Stored>(first, row_bytes, r)};
}

/// The elements that a loop folds: row r of x, of x with other operands, or of the products of x and y.
template <class E> struct Single {
    Elements<E> x;
    GRIDFOLD_FN Single(const FoldInput& in, std::size_t r) : x(row_of<E>(in.x, in.x_row, r)) {}
    GRIDFOLD_FN Single(const PositionInput& in, std::size_t r) : x(row_of<E>(in.x[r], 0, 0)) {}
    GRIDFOLD_FN E operator[](std::size_t i) const { return x[i]; }
};
template <class E, class Second> struct Pairs {
    Elements<E> x;
    Elements<Second> y;
    GRIDFOLD_FN Pairs(const FoldInput& in, std::size_t r)
        : x(row_of<E>(in.x, in.x_row, r)), y(row_of<Second>(in.y, in.y_row, r)) {}
    GRIDFOLD_FN Pairs(const PositionInput& in, std::size_t r)
        : x(row_of<E>(in.x[r], 0, 0)), y(row_of<Second>(in.y[r], 0, 0)) {}
    GRIDFOLD_FN Two<E, Second> operator[](std::size_t i) const { return {x[i], y[i]}; }
};
template <class E> struct Triples {
    Elements<E> x, y, z;
    GRIDFOLD_FN Triples(const FoldInput& in, std::size_t r)
        : x(row_of<E>(in.x, in.x_row, r)), y(row_of<E>(in.y, in.y_row, r)), z(row_of<E>(in.z, in.z_row, r)) {}
    GRIDFOLD_FN Triples(const PositionInput& in, std::size_t r)
        : x(row_of<E>(in.x[r], 0, 0)), y(row_of<E>(in.y[r], 0, 0)), z(row_of<E>(in.z[r], 0, 0)) {}
    GRIDFOLD_FN Three<E> operator[](std::size_t i) const { return {x[i], y[i], z[i]}; }
};
template <class E> struct Products {
    const E *x, *y;
    GRIDFOLD_FN Products(const FoldInput& in, std::size_t r)
        : x(row<E>(in.x, in.x_row, r)), y(row<E>(in.y, in.y_row, r)) {}
    GRIDFOLD_FN Products(const PositionInput& in, std::size_t r) : x(row<E>(in.x[r], 0, 0)), y(row<E>(in.y[r], 0, 0)) {}
    GRIDFOLD_FN E operator[](std::size_t i) const { return mul(x[i], y[i]); }
};

/// The elements that a monoid's fold takes (TakenBy).
template <class M, class E, int operands = operand_count<M>> struct SourceOf {
    using Type = Single<E>;
};
template <class M, class E> struct SourceOf<M, E, 2> {
    using Type = Pairs<E, typename SecondOperandOf<M, E>::Type>;
};
template <class M, class E> struct SourceOf<M, E, 3> {
    using Type = Triples<E>;
};

/// Prefetches ShortRows::ahead in steps, a share for each: memory is read while elements are folded.
struct PrefetchInSteps {
    const char* at;
    std::size_t left, share;
    GRIDFOLD_FN PrefetchInSteps(const ShortRows& rows, std::size_t steps)
        : at(rows.ahead), left(rows.ahead_bytes), share(left == 0 || steps == 0 ? 0 : (left / steps + 63) / 64 * 64) {}
    GRIDFOLD_FN void step() {
        const std::size_t bytes = share < left ? share : left;
        for (std::size_t byte = 0; byte < bytes; byte += 64) __builtin_prefetch(at + byte);
        at += bytes;
        left -= bytes;
    }
};

/// The numbers of the rows that one loop folds, as a pack: compilers vectorise straight-line code.
template <std::size_t...> struct Rows {};
using OneRow = Rows<0>;
using TwoRows = Rows<0, 1>;
using AllRows = Rows<0, 1, 2, 3>;
static_assert(max_rows == 4);

/// The loops that a fold is compiled to. A call is fastest with all; each takes compile time.
enum class Loops {
    all, ///< over 4, 2 and 1 rows
    few, ///< over 4 rows of elements of 4 and 8 bytes without a mask, else over 1: narrow elements need many registers
    single ///< over 1 row
};
template <Loops loops, class E, bool masked>
inline constexpr bool takes_four = loops == Loops::all || (loops == Loops::few && !masked && sizeof(E) >= 4);

} // namespace GRIDFOLD_NAMESPACE::kernels
