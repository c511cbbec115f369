// Combining the blocks of a grid in one kernel, without fence, atomic or reset: tagged partials. Depends on block.cuh.
//
// A block publishes each 32-bit word of its state as one relaxed 64-bit store {tag, word}. The last block polls until every
// slot carries this launch's tag, and combines. A tag is the launch's number, 1 … 2^32 − 1, kept in device memory by the
// last block itself, so a captured graph replays. Nothing else of the memory model is leaned on: a word and its tag are
// one store. That the other blocks run while the last one polls holds because blocks start in the order of their index.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// A sweep's memory between launches: the number of the last launch, then `words` rows of `blocks` slots. Zero at first.
struct Workspace {
    u64* memory;

    /// The number of the launch before this one, whose tag is one more. Read before the block publishes: the last block
    /// moves it on only when all have.
    GRIDFOLD_FN u32 last_tag() const { return u32(load_relaxed(memory)); }
    GRIDFOLD_FN u64* slot(i64 word, i64 block, i64 blocks) const { return memory + 1 + word * blocks + block; }
    /// Asks for the slots that this launch will use, `words` rows of them: they are seldom in the cache, and a store to one
    /// that is not waits for memory. Called by the threads of one block, ahead of time.
    template <int Words, i64 Blocks> GRIDFOLD_FN void prefetch_slots() const {
        if (thread_index() < grid_blocks())
#pragma unroll
            for (int word = 0; word < Words; ++word) prefetch(slot(word, thread_index(), Blocks));
    }
    /// Ends launch `tag`. At the last tag all slots are zeroed, whatever the grid was: a stale one could match again.
    template <int Words, i64 Blocks> GRIDFOLD_FN void advance(u32 tag) const {
        if (tag == 0xffffffffu)
#pragma unroll 1
            for (i64 i = 0; i < i64(Words) * Blocks; ++i) memory[1 + i] = 0;
        store_relaxed(memory, tag == 0xffffffffu ? 0 : tag);
    }
};

/// Publishes a block's state in its slots, `first` being its first word's row. Called by one thread.
template <i64 Blocks, class State>
GRIDFOLD_FN void publish(const Workspace& workspace, int first, u32 tag, const State& state) {
    union Words {
        State state;
        u32 word[sizeof(State) / 4];
        GRIDFOLD_FN Words() {}
    } from;
    from.state = state;
#pragma unroll
    for (u32 i = 0; i < sizeof(State) / 4; ++i)
        store_relaxed(workspace.slot(first + i, block_index(), Blocks), u64(tag) << 32 | from.word[i]);
}

/// Reads the state that `block` published; false if some word of it is not there yet.
template <i64 Blocks, class State>
GRIDFOLD_FN bool collect(const Workspace& workspace, int first, u32 tag, i64 block, State& state) {
    union Words {
        State state;
        u32 word[sizeof(State) / 4];
        GRIDFOLD_FN Words() {}
    } to;
    bool complete = true;
#pragma unroll
    for (u32 i = 0; i < sizeof(State) / 4; ++i) {
        const u64 slot = load_relaxed(workspace.slot(first + i, block, Blocks));
        to.word[i] = u32(slot);
        complete = complete && u32(slot >> 32) == tag;
    }
    state = to.state;
    return complete;
}

/// A scalar that a sweep yielded, in device memory.
struct Scalar {
    u64 bits;
    u64 empty;
};

/// Yields a scalar: for later sweeps, and, where the host waits, as tagged words in its memory (three a scalar).
template <class T> GRIDFOLD_FN void yield(Scalar* scalar, u64* host, u32 tag, T value, bool empty) {
    union Bits {
        u64 bits;
        T value;
        GRIDFOLD_FN Bits() : bits(0) {}
    } to;
    to.value = value;
    *scalar = {to.bits, empty};
    if (host == nullptr) return;
    store_relaxed_system(host, u64(tag) << 32 | u32(to.bits));
    store_relaxed_system(host + 1, u64(tag) << 32 | u32(to.bits >> 32));
    store_relaxed_system(host + 2, u64(tag) << 32 | u32(empty));
}

/// The value of a yielded scalar.
template <class T> GRIDFOLD_FN T read(const Scalar& scalar) {
    union Bits {
        u64 bits;
        T value;
        GRIDFOLD_FN Bits() {}
    } from;
    from.bits = scalar.bits;
    return from.value;
}

} // namespace GRIDFOLD_NAMESPACE
