// Combining the blocks of a grid in one kernel, without fence, atomic or reset: tagged partials. Depends on
// combine.cuh and slots.cuh.
//
// A block publishes each 32-bit word of its states as a relaxed 64-bit slot {tag, word}. The last block polls until
// every slot carries this launch's tag, and combines. A tag is the launch's number, 1 … 2^32 − 1, kept in device memory
// by the last block itself, so a captured graph replays. Nothing else of the memory model is leaned on: a word and its
// tag are one access, and no block can read the launch's number after it has moved on, since it moves when all have
// published. That the other blocks run while the last one polls holds because blocks start in the order of their index.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// A sweep's memory between launches, zero at first. The first word is the number of the last launch.
struct Workspace {
    u64* memory;

    /// The number of the launch before this one, whose tag is one more; anything if not `wanted`. Read before the block
    /// publishes: the last block moves it on only when all have.
    GRIDFOLD_FN u32 last_tag(bool wanted) const { return u32(load_relaxed_if(wanted, memory)); }
    /// The slot of a block's word number `word`.
    template <int Words, int Blocks> GRIDFOLD_FN u64* slot(i64 block, int word) const {
        return memory + Slots::place(block, word, Words, Blocks);
    }
    /// Asks for the slots of so many blocks: they are seldom in the cache, and who polls one that is not waits for
    /// memory. Called by all threads of one block, ahead of time.
    template <int Words, int Blocks> GRIDFOLD_FN void prefetch_slots(u32 threads, u32 blocks) const {
        constexpr u32 line = 16; // slots
        constexpr u32 of_block = u32(Slots::side_by_side(Words));
        static_assert(Blocks * of_block <= 32 * line, "a warp has a lane for each line of a pair");
        if (warp_lane() * line >= blocks * of_block) return;
#pragma unroll 1
        for (u32 word = warp_index() * of_block; word < u32(Words); word += threads / 32 * of_block)
            prefetch(slot<Words, Blocks>(0, int(word)) + warp_lane() * line);
    }
    /// Ends launch `tag`. At the last tag all slots are zeroed, whatever the grid was: a stale one could match again.
    template <int Words, int Blocks> GRIDFOLD_FN void advance(u32 tag) const {
        if (tag == 0xffffffffu)
#pragma unroll 1
            for (int i = Slots::header; i < Slots::count(Words, Blocks); ++i) memory[i] = 0; // defect: zero slots
        store_relaxed(memory, tag == 0xffffffffu ? 0 : tag);                                 // defect: wrap
    }
};

/// A state as words, and back.
template <class State> union StateWords {
    State state;
    u32 word[sizeof(State) / 4];
    GRIDFOLD_FN StateWords() {}
};

/// Publishes the words of a block's states. Called by one thread of it.
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

/// Reads the words that `block` published; 0 if all of them are there, that is, carry this launch's tag.
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

/// Yields a scalar: for later sweeps, and, where the host waits, as tagged words in its memory (three a scalar).
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
        StateWords<typename decltype(f)::Monoid::State> of;
        of.state = f.of(states)[0];
#pragma unroll
        for (u32 i = 0; i < sizeof(of) / 4; ++i) words[f.word + i] = of.word[i];
    });
    publish<Kernel::most_blocks>(workspace, block, tag, words); // defect: publish
}

/// Waits for the states of the blocks each·t to each·t + each − 1, where there are so many; t: this thread.
template <class Kernel, int K>
GRIDFOLD_FN void collect_blocks(States<Kernel, K>& states, const Workspace& workspace, u32 tag, i32 blocks, i32 each) {
    const i32 first = i32(thread_index()) * each;
    u32 words[K][Kernel::Folds::words];
    u32 missing;
    do {
        missing = 0;
        // A place without a block reads another's slots: a branch would make the next load wait for this one.
#pragma unroll
        for (int i = 0; i < K; ++i) {
            const i32 block = smaller(first + (i < each ? i : 0), blocks - 1); // defect: collected block
            missing |= collect<Kernel::most_blocks>(workspace, tag, block, words[i]);
        }
    } while (missing != 0); // defect: polling
#pragma unroll
    for (int i = 0; i < K; ++i)
        Kernel::Folds::each([&](auto f) {
            StateWords<typename decltype(f)::Monoid::State> of;
#pragma unroll
            for (u32 w = 0; w < sizeof(of) / 4; ++w) of.word[w] = words[i][f.word + w];
            f.of(states)[i] = of.state;
        });
}

/// Combines the grid's lanes into one state a fold and finishes the sweep. `elements`: the block's. `tagged`: does
/// anybody read the tag? Then it is known.
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
            // The threads that collect what the blocks publish.
            constexpr int collectors = Kernel::most_blocks / Kernel::collects;
            static_assert(32 <= collectors && collectors <= Kernel::threads);
            i32 each = 1;
            while (each < Kernel::collects && each * 32 < blocks) each *= 2;
            // One warp, if it can. Others would poll while the first is still busy with this block's lanes: its
            // exchanges would queue behind their loads.
            if (blocks > each * 32) // defect: one warp
                barrier();
            else if (warp_index() != 0)
                return;
            States<Kernel, Kernel::collects> partials;
            if (has_states(blocks, each))
                collect_blocks<Kernel, Kernel::collects>(partials, workspace, tag, blocks, each);
            reduce<Kernel, collectors, false>(partials, blocks, each);
            Kernel::Folds::each([&](auto f) { f.of(states)[0] = f.of(partials)[0]; });
        }
    if (thread_index() != 0) return;
    kernel.finish(states, tag);
    if (tagged) workspace.template advance<Kernel::Folds::words, Kernel::most_blocks>(tag);
}

} // namespace GRIDFOLD_NAMESPACE
