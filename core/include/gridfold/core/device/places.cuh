// Folds over some dims: where the parts, slabs, lanes and results of the order (fusion/order.hpp) are, and the layout
// of the memory in which the blocks of a part exchange states. Compiled by the host, too. Depends on prelude.cuh and
// slots.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// Returns n % count, and divides n by count. A 64-bit division costs five times a 32-bit one.
GRIDFOLD_FN i64 take_digit(i64& n, i64 count) {
    if (count == 1) return 0;
    const bool narrow = ((u64(n) | u64(count)) >> 32) == 0;
    const i64 quotient = narrow ? i64(u32(n) / u32(count)) : n / count;
    const i64 digit = n - quotient * count; // defect: digit
    n = quotient;
    return digit;
}

/// The larger of two integers.
GRIDFOLD_FN constexpr i32 larger_of(i32 a, i32 b) { return a > b ? a : b; }

/// The boxes of a batch of row-major domains with the dims d_0 … d_{r−1}: even ones are folded, odd ones are kept. A
/// box is a slab of a part: `box[d]` neighbours along each dim, fewer at the end of the one dim that is cut; dims
/// inside that one are whole, dims outside have one coordinate. A part has a fixed chunk of each kept dim; its slabs
/// are numbered row-major by their chunks of the folded dims, its results and the lanes of a result by their
/// coordinates.
template <int r> struct Boxes {
    i64 extent[r];
    i64 box[r];
    i64 chunks[r]; ///< extent / box, rounded up

    struct Part {
        i64 element; ///< the number of its first element
        i64 result;  ///< the number of its first result; the others follow
        i32 results;
    };
    struct Slab {
        i64 element; ///< its first element, relative to the part's
        i64 index;   ///< the index of lane 0, row-major over the folded dims; the other lanes follow
        i32 lanes;   ///< of each result
    };
    struct Position {
        i32 lane;
        i32 result; ///< relative to the part's first
    };

    /// Part `number` of all batches.
    GRIDFOLD_FN Part part(i64 number) const {
        Part at{0, 0, 1};
        i64 elements = 1, results = 1;
        for (int d = r - 1; d >= 0; --d) {
            if (d % 2 == 1) {
                const i64 first = take_digit(number, chunks[d]) * box[d];
                at.element += first * elements;
                at.result += first * results;                          // defect: first result
                at.results *= i32(smaller(box[d], extent[d] - first)); // defect: results of part
                results *= extent[d];
            }
            elements *= extent[d];
        }
        at.element += number * elements; // defect: batch
        at.result += number * results;
        return at;
    }
    /// Slab `number` of a part.
    GRIDFOLD_FN Slab slab(i64 number) const {
        Slab at{0, 0, 1};
        i64 elements = 1, folded = 1;
        for (int d = r - 1; d >= 0; --d) {
            if (d % 2 == 0) {
                const i64 first = (d == 0 ? number : take_digit(number, chunks[d])) * box[d];
                at.element += first * elements;                      // defect: slab element
                at.index += first * folded;                          // defect: slab index
                at.lanes *= i32(smaller(box[d], extent[d] - first)); // defect: lanes of slab
                folded *= extent[d];
            }
            elements *= extent[d];
        }
        return at;
    }
    /// Element `number` of a box.
    GRIDFOLD_FN Position position(u32 number) const {
        Position at{0, 0};
        i32 lanes = 1, results = 1;
        for (int d = r - 1; d >= 0; --d) {
            const u32 size = u32(box[d]);
            const u32 coordinate = d == 0 ? number : size == 1 ? 0 : number % size;
            if (d > 0 && size > 1) number /= size;
            if (d % 2 == 0) {
                at.lane += i32(coordinate) * lanes;
                lanes *= i32(size);
            } else {
                at.result += i32(coordinate) * results;
                results *= i32(size);
            }
        }
        return at; // defect: position
    }
    /// Lanes of a result, and results of a part, in a whole box.
    GRIDFOLD_FN i32 lanes() const { return product(0); }
    GRIDFOLD_FN i32 results() const { return product(1); }

private:
    GRIDFOLD_FN i32 product(int first) const {
        i32 product = 1;
        for (int d = 0; d < r; ++d)
            if (d % 2 == first) product *= i32(box[d]);
        return product;
    }
};

/// The memory of one part between launches: the number of its last launch, then a slot for each word of each result's
/// state of each block. Words are stored in pairs (Slots); pairs of neighbouring results are side by side.
struct PartSlots {
    /// The slot of word `word` (even) of a state of `words` words.
    GRIDFOLD_FN static constexpr i64 place(i64 block, i32 result, int word, int words, i32 results) {
        return Slots::header + block * (i64(Slots::of_block(words)) * results) + // defect: part slot
               of_block(result, word, words, results);
    }
    /// The same, relative to the block's first slot.
    GRIDFOLD_FN static constexpr u32 of_block(i32 result, int word, int words, i32 results) {
        return u32(word * results + result * Slots::side_by_side(words)); // defect: result slot
    }
    /// All slots, the header included: whole cache lines.
    GRIDFOLD_FN static constexpr i64 count(int words, i32 results, i64 blocks) {
        return (place(blocks, 0, 0, words, results) + Slots::header - 1) / Slots::header * Slots::header;
    }
};

} // namespace GRIDFOLD_NAMESPACE
