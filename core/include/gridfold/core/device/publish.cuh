// Combining the blocks of a grid in one kernel, without fence, atomic or reset: tagged partials. Depends on
// combine.cuh and slots.cuh.
//
// A block publishes each 32-bit word of its states as a relaxed 64-bit slot {tag, word}. The last block polls until
// every slot carries this launch's tag, then combines. A tag is the launch's number, 1 … 2^32 − 1; the last block keeps
// it in device memory, so a captured graph can be replayed. This needs one guarantee of the memory model, that a 64-bit
// access is atomic: each block reads the launch's number before it publishes, and the last block increments the number
// after all have published. The polling ends because blocks start in the order of their index: all others run by then.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// A sweep's memory between launches, initially zero. The first word is the number of the last launch.
struct Workspace {
    u64* memory;

    /// The number of the previous launch, unspecified if not `wanted`; this launch's tag is one more. Must be called
    /// before the block publishes: the last block increments the number after all blocks have published.
    GRIDFOLD_FN u32 last_tag(bool wanted) const {
        u64 word = 0;
        load_relaxed_if(wanted, word, memory);
        return u32(word);
    }
    /// The slot of word number `word` of a block.
    template <int Words, int Blocks> GRIDFOLD_FN u64* slot(i64 block, int word) const {
        return memory + Slots::place(block, word, Words, Blocks);
    }
    /// Prefetches the slots of `blocks` blocks, which are seldom in the cache: polling one that is not waits for
    /// memory. All threads of one block must call it.
    template <int Words, int Blocks> GRIDFOLD_FN void prefetch_slots(u32 threads, u32 blocks) const {
        constexpr u32 line = 16; // slots
        constexpr u32 of_block = u32(Slots::side_by_side(Words));
        static_assert(Blocks * of_block <= 32 * line, "a warp has a lane for each line of a pair");
        if (warp_lane() * line >= blocks * of_block) return;
#pragma unroll 1
        for (u32 word = warp_index() * of_block; word < u32(Words); word += threads / 32 * of_block)
            prefetch(slot<Words, Blocks>(0, int(word)) + warp_lane() * line);
    }
    /// Ends launch `tag`. The last tag zeroes the slots of every possible block: a stale tag could match again.
    template <int Words, int Blocks> GRIDFOLD_FN void advance(u32 tag) const {
        if (tag == 0xffffffffu)
#pragma unroll 1
            for (int i = Slots::header; i < Slots::count(Words, Blocks); ++i) memory[i] = 0; // defect: zero slots
        store_relaxed(memory, tag == 0xffffffffu ? 0 : tag);                                 // defect: wrap
    }
};

/// Publishes the words of a block's states. Called by one thread of the block.
template <int Blocks, int Words>
GRIDFOLD_FN void publish(const Workspace& workspace, u32 block, u32 tag, const u32 (&words)[Words]) {
    const auto tagged = [&](int i) { return u64(tag) << 32 | words[i < Words ? i : 0]; };
    if constexpr (Words == 1)
        store_relaxed(workspace.slot<Words, Blocks>(block, 0), tagged(0));
    else
#pragma unroll
        for (int i = 0; i < Words; i += 2)
            store_relaxed(workspace.slot<Words, Blocks>(block, i), tagged(i), tagged(i + 1)); // defect: second word
}

/// Reads the words that `block` published; returns 0 if all of them carry this launch's tag.
template <int Blocks, int Words>
GRIDFOLD_FN u32 collect(const Workspace& workspace, u32 tag, i64 block, u32 (&words)[Words]) {
    u64 slots[Slots::of_block(Words)];
    if constexpr (Words == 1)
        slots[0] = load_relaxed(workspace.slot<Words, Blocks>(block, 0));
    else
#pragma unroll
        for (int i = 0; i < Words; i += 2)
            load_relaxed(workspace.slot<Words, Blocks>(block, i), slots[i], slots[i + 1]);
    u32 missing = 0;
#pragma unroll
    for (int i = 0; i < Words; ++i) {
        words[i] = u32(slots[i]);
        missing |= u32(slots[i] >> 32) ^ tag; // defect: missing
    }
    return missing;
}

/// A scalar that a sweep yielded, in device memory.
struct alignas(16) Scalar {
    u64 bits;
    u64 empty;
};

/// Yields a scalar to later sweeps and, if `host` is not null, to the host as three tagged words.
template <class T> GRIDFOLD_FN void yield(Scalar* scalar, u64* host, u32 tag, T value, bool empty) {
    union Bits {
        u64 bits;
        T value;
        GRIDFOLD_FN Bits() : bits(0) {}
    } to;
    to.value = value;
    *scalar = {to.bits, empty}; // defect: scalar
    if (host == nullptr) return;
    store_relaxed_system(host, u64(tag) << 32 | u32(to.bits));
    store_relaxed_system(host + 1, u64(tag) << 32 | u32(to.bits >> 32)); // defect: high half
    store_relaxed_system(host + 2, u64(tag) << 32 | u32(empty));         // defect: empty flag
}

/// A value from its bytes, zero-extended.
template <class T> GRIDFOLD_FN T from_bytes(u64 bits) {
    union Bits {
        u64 bits;
        T value;
        GRIDFOLD_FN Bits() {}
    } from;
    from.bits = bits;
    return from.value;
}

/// The value of a yielded scalar.
template <class T> GRIDFOLD_FN T read(const Scalar& scalar) { return from_bytes<T>(scalar.bits); }

/// Publishes this thread's states as the block's.
template <class Kernel>
GRIDFOLD_FN void publish_block(States<Kernel, 1>& states, const Workspace& workspace, u32 block, u32 tag) {
    u32 words[Kernel::Folds::words];
    Kernel::Folds::each([&](auto f) {
        constexpr int first = Kernel::Folds::template first_word<decltype(f)>;
        WordsOf<typename decltype(f)::Monoid::State> of;
        of.value = f.of(states)[0];
#pragma unroll
        for (u32 i = 0; i < sizeof(of) / 4; ++i) words[first + i] = of.word[i];
    });
    publish<Kernel::most_blocks>(workspace, block, tag, words); // defect: publish
}

/// Waits for the states of blocks each·t to each·t + each − 1 (those below `blocks`); t: this thread.
template <class Kernel, int K>
GRIDFOLD_FN void collect_blocks(States<Kernel, K>& states, const Workspace& workspace, u32 tag, i32 blocks, i32 each) {
    const i32 first = i32(thread_index()) * each;
    u32 words[K][Kernel::Folds::words];
    u32 missing;
    do {
        missing = 0;
        // States without a block read the last block's slots: a branch would make the next load wait for this one.
#pragma unroll
        for (int i = 0; i < K; ++i) {
            const i32 block = smaller(first + (i < each ? i : 0), blocks - 1); // defect: collected block
            missing |= collect<Kernel::most_blocks>(workspace, tag, block, words[i]);
        }
    } while (missing != 0); // defect: polling
#pragma unroll
    for (int i = 0; i < K; ++i)
        Kernel::Folds::each([&](auto f) {
            constexpr int first = Kernel::Folds::template first_word<decltype(f)>;
            WordsOf<typename decltype(f)::Monoid::State> of;
#pragma unroll
            for (u32 w = 0; w < sizeof(of) / 4; ++w) of.word[w] = words[i][first + w];
            f.of(states)[i] = of.value;
        });
}

/// Combines the grid's lanes into one state for each fold and finishes the sweep. `elements`: this block's number of
/// elements. `tagged`: whether anything reads tags; without it `tag` is unspecified.
template <class Kernel>
GRIDFOLD_FN void combine(const Kernel& kernel, Lanes<Kernel>& lanes, i64 elements, const Workspace& workspace,
                         bool tagged, u32 tag) {
    const i32 blocks = i32(kernel.blocks);

    reduce<Kernel, Kernel::threads, true>(lanes, i32(slab_elements<Kernel>), Kernel::width);
    States<Kernel, 1> states;
    if (thread_index() == 0) close<Kernel>(lanes, states, elements);
    if constexpr (Kernel::Folds::words > 0)
        if (blocks > 1 && thread_index() == 0) publish_block<Kernel>(states, workspace, kernel.block, tag);
    if (i32(kernel.block) + 1 < blocks) return;
    if constexpr (Kernel::Folds::words > 0)
        if (blocks > 1) {
            constexpr int collectors = Kernel::most_blocks / Kernel::collects; // threads
            static_assert(32 <= collectors && collectors <= Kernel::threads);
            i32 each = 1;
            while (each < Kernel::collects && each * 32 < blocks) each *= 2;
            // One warp collects if it can: loads of other polling warps would delay the shuffles with which the first
            // warp still reduces this block's lanes.
            if (blocks > each * 32) // defect: one warp
                barrier();
            else if (warp_index() != 0)
                return;
            States<Kernel, Kernel::collects> partials;
            if (has_states(blocks, each))
                collect_blocks<Kernel, Kernel::collects>(partials, workspace, tag, blocks, each);
            reconverge();
            reduce<Kernel, collectors, false>(partials, blocks, each);
            Kernel::Folds::each([&](auto f) { f.of(states)[0] = f.of(partials)[0]; });
        }
    if (thread_index() != 0) return;
    kernel.finish(states, tag);
    if (tagged) workspace.template advance<Kernel::Folds::words, Kernel::most_blocks>(tag);
}

} // namespace GRIDFOLD_NAMESPACE
