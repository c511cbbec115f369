// Folds over some dims: where the parts, slabs, lanes and results of the order (fusion/order.hpp) are, and the layout
// of the memory in which the blocks of a part exchange states. Compiled by the host, too. Depends on prelude.cuh and
// slots.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The shared memory of a warp whose threads fold runs (runs.cuh), an array after the other.
struct RunPlaces {
    static constexpr i32 apart = 16;  ///< bytes between runs, so that threads access different banks
    static constexpr i32 beside = 31; ///< at most, of an array's first and last 16 bytes, that are of no run
    /// The bytes of the runs of `threads` threads side by side, which may begin within their first piece.
    GRIDFOLD_FN static constexpr i64 of_threads(i64 threads, i64 run_bytes) {
        return threads * (run_bytes + apart) + apart;
    }
};

/// The most words of a tile's states in the static shared memory of a thread block: 48 KiB.
inline constexpr int tile_words = 12288;

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
template <class T> GRIDFOLD_FN constexpr T larger_of(T a, T b) { return a > b ? a : b; }

/// The logarithm of a power of 2.
GRIDFOLD_FN constexpr int log2_of(int power) {
    int log = 0;
    while (1 << log < power) ++log;
    return log;
}

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

/// The elements of a box, one after the other.
template <int r> struct BoxWalk {
    i32 at[r]; ///< coordinates

    /// Begins at element `number`.
    GRIDFOLD_FN BoxWalk(const Boxes<r>& boxes, u32 number) {
        for (int d = r - 1; d > 0; --d) {
            const u32 size = u32(boxes.box[d]), quotient = size == 1 ? number : number / size;
            at[d] = i32(number - quotient * size);
            number = quotient;
        }
        at[0] = i32(number);
    }
    GRIDFOLD_FN void advance(const Boxes<r>& boxes) {
        ++at[r - 1];
        for (int d = r - 1; d > 0; --d)
            if (at[d] == i32(boxes.box[d])) { // defect: carry of box
                at[d] = 0;
                ++at[d - 1];
            }
    }
    /// The lane of a result; the result, relative to the part's first.
    GRIDFOLD_FN i32 lane(const Boxes<r>& boxes) const { return number(boxes, 0); }
    GRIDFOLD_FN i32 result(const Boxes<r>& boxes) const { return number(boxes, 1); }

private:
    GRIDFOLD_FN i32 number(const Boxes<r>& boxes, int first) const {
        i32 all = 0;
        for (int d = 0; d < r; ++d)
            if (d % 2 == first) all = all * i32(boxes.box[d]) + at[d]; // defect: position
        return all;
    }
};

/// The slabs of a block of a part, one after the other: slab `number`, then every `blocks`-th. From slab to slab it
/// divides nothing.
template <int r> struct SlabWalk {
    typename Boxes<r>::Slab at;   ///< the current slab
    i64 step_element, step_index; ///< to the next slab, unless a dim inside the outermost begins again
    bool is_regular = true;       ///< that never happens, and all of the block's slabs have as many lanes, but the last
    i64 last_is_short = 0;        ///< where it is regular: 1 if the part's last slab has fewer

    GRIDFOLD_FN SlabWalk(const Boxes<r>& boxes, i64 number, i64 blocks) : at{0, 0, 1} {
        bool is_divided = false;
        step_element = step_index = 0;
        i64 elements = 1, folded = 1, outside_elements = 0, outside_index = 0;
        for (int d = r - 1; d >= 0; --d) {
            if (d % 2 == 0) {
                const i64 chunk_elements = boxes.box[d] * elements, chunk_index = boxes.box[d] * folded;
                chunk[d] = d == 0 ? number : take_digit(number, boxes.chunks[d]);
                step[d] = d == 0 ? blocks : take_digit(blocks, boxes.chunks[d]);
                at.element += chunk[d] * chunk_elements; // defect: slab element
                at.index += chunk[d] * chunk_index;      // defect: slab index
                step_element += step[d] * chunk_elements;
                step_index += step[d] * chunk_index;
                if (d + 2 < r) { // the inner dim's chunks begin again where this one goes on
                    carry_element[d] = chunk_elements - outside_elements; // defect: carried element
                    carry_index[d] = chunk_index - outside_index;
                }
                outside_elements = boxes.chunks[d] * chunk_elements;
                outside_index = boxes.chunks[d] * chunk_index;
                last[d] = i32(boxes.extent[d] - (boxes.chunks[d] - 1) * boxes.box[d]);
                // If blocks are a multiple of chunks, a block stays at its chunk, unless a dim inside moves.
                if (boxes.chunks[d] > 1 && (step[d] > 0 || is_divided)) { // defect: divided dims
                    is_regular = !is_divided;
                    is_divided = true;
                    last_is_short = last[d] < boxes.box[d]; // defect: short slab
                }
                folded *= boxes.extent[d];
            }
            elements *= boxes.extent[d];
        }
        count_lanes(boxes);
    }
    /// Where it is regular: passes `count` of the block's slabs, not the last of the part.
    GRIDFOLD_FN void pass(const Boxes<r>& boxes, i64 count) {
        at.element += count * step_element;
        at.index += count * step_index;                             // defect: passed index
        for (int d = 0; d < r; d += 2) chunk[d] += count * step[d]; // defect: passed chunks
        count_lanes(boxes);
    }
    GRIDFOLD_FN void advance(const Boxes<r>& boxes) {
        at.element += step_element;
        at.index += step_index;
        bool carries = false;
        for (int d = (r - 1) / 2 * 2; d >= 0; d -= 2) {
            chunk[d] += step[d];
            if (carries) { // defect: carry
                ++chunk[d];
                at.element += carry_element[d];
                at.index += carry_index[d];
            }
            carries = d > 0 && chunk[d] >= boxes.chunks[d]; // defect: carries
            if (carries) chunk[d] -= boxes.chunks[d];
        }
        count_lanes(boxes);
    }

private:
    i64 chunk[r], step[r];                ///< of the folded dims: the current slab's, and those to the next
    i64 carry_element[r], carry_index[r]; ///< more where the dim inside this one begins again
    i32 last[r];                          ///< coordinates of the last chunk

    GRIDFOLD_FN void count_lanes(const Boxes<r>& boxes) {
        at.lanes = 1;
        for (int d = 0; d < r; d += 2)
            at.lanes *= chunk[d] + 1 == boxes.chunks[d] ? last[d] : i32(boxes.box[d]); // defect: lanes of slab
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
