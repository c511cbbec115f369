// The blocks of one part exchange the states of its results: tagged partials, as in publish.cuh, for any number of
// results. Each part counts its own launches: its last block increments the number after all of its blocks have
// published. Depends on publish.cuh and places.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// Checks the members that a kernel of rows, boxes or columns has.
template <class Kernel> constexpr bool is_kernel_of_parts() {
    static_assert(Kernel::threads % 32 == 0 && Kernel::threads <= 1024, "a block is whole warps");
    static_assert((Kernel::width & (Kernel::width - 1)) == 0, "a slab is a power of 2");
    static_assert(Kernel::Folds::words > 0 && !Kernel::finishes, "it folds and yields nothing");
    static_assert(sizeof(Kernel::workspace) == 8 && sizeof(Kernel::results) == 8 && sizeof(Kernel::part_blocks) == 8);
    return true;
}

/// The memory of one part, whose states `part_blocks` thread blocks exchange.
template <class Kernel> struct Exchange {
    static constexpr int words = Kernel::Folds::words;
    u64* memory;
    i32 results; ///< in the layout

    GRIDFOLD_FN Exchange(const Kernel& kernel, i64 part, i32 part_results, i64 part_blocks)
        : memory(kernel.workspace), results(part_results) {
        if (part_blocks > 1) memory += part * PartSlots::count(words, results, part_blocks); // defect: own
    }

    /// As Workspace::last_tag.
    GRIDFOLD_FN u32 last_tag(bool wanted) const { return Workspace{memory}.last_tag(wanted); }

    /// Publishes state number n of each fold as a block's of one result.
    template <int count>
    GRIDFOLD_FN void publish(const States<Kernel, count>& states, int n, u32 block, i32 result, u32 tag) const {
        u64* const to = slots_of(block);
        u32 word[words];
        Kernel::Folds::each([&](auto f) {
            WordsOf<typename decltype(f)::Monoid::State> of;
            of.value = f.of(states)[n];
#pragma unroll
            for (u32 i = 0; i < sizeof(of) / 4; ++i) word[f.word + i] = of.word[i];
        });
        const auto tagged = [&](int i) { return u64(tag) << 32 | word[i < words ? i : 0]; };
        if constexpr (words == 1)
            store_relaxed(to + place(result, 0), tagged(0));
        else
#pragma unroll
            for (int i = 0; i < words; i += 2)
                store_relaxed(to + place(result, i), tagged(i), tagged(i + 1)); // defect: published pair
    }
    /// Reads what a block published of one result into state number n of each fold; returns 0 if all words carry the
    /// tag, otherwise the states are unspecified.
    template <int count>
    GRIDFOLD_FN u32 collect(States<Kernel, count>& states, int n, u32 block, i32 result, u32 tag) const {
        const u64* const from = slots_of(block);
        u64 slots[Slots::of_block(words)];
        if constexpr (words == 1)
            slots[0] = load_relaxed(from + place(result, 0));
        else
#pragma unroll
            for (int i = 0; i < words; i += 2) load_relaxed(from + place(result, i), slots[i], slots[i + 1]);
        u32 missing = 0;
#pragma unroll
        for (int i = 0; i < words; ++i) missing |= u32(slots[i] >> 32) ^ tag; // defect: missing words
        Kernel::Folds::each([&](auto f) {
            WordsOf<typename decltype(f)::Monoid::State> of;
#pragma unroll
            for (u32 i = 0; i < sizeof(of) / 4; ++i) of.word[i] = u32(slots[f.word + i]);
            f.of(states)[n] = of.value;
        });
        return missing;
    }
    /// Ends launch `tag` of the part. All threads of its last block must call it, each after it has collected: then all
    /// blocks have read the number. Each launch writes every slot that it reads, and the host clears the memory before
    /// other numbers of results, so no tag of an earlier launch can match.
    GRIDFOLD_FN void advance(u32 tag) const {
        barrier();                                           // defect: all collected
        if (thread_index() == 0) store_relaxed(memory, tag); // defect: part count
    }

private:
    GRIDFOLD_FN u64* slots_of(u32 block) const { return memory + PartSlots::place(block, 0, 0, words, results); }
    GRIDFOLD_FN u32 place(i32 result, int word) const { return PartSlots::of_block(result, word, words, results); }
};

/// Calls finish(states, result) for results of no elements: every state is its identity.
template <class Kernel, class Finish> GRIDFOLD_FN void finish_empty(const Kernel& kernel, const Finish& finish) {
    States<Kernel, 1> none;
    Kernel::Folds::each([&](auto f) { f.of(none)[0] = decltype(f)::Monoid::identity(); });
    const i64 step = i64(kernel.blocks) * Kernel::threads;
    for (i64 i = i64(kernel.block) * Kernel::threads + thread_index(); i < kernel.results; i += step) // defect: empty
        finish(none, i);
}

/// Begins a kernel of rows. False if they have no elements: then their results are written, and nothing is left.
template <class Kernel> GRIDFOLD_FN bool begin_rows_of(Kernel& kernel, bool may_be_empty = true) {
    kernel.prologue();
    wait_for_previous_kernel();
    kernel.read_scalars();
    if (!may_be_empty || kernel.elements != 0) return true;
    finish_empty(kernel, [&](const auto& states, i64 result) { kernel.finish(states, result); });
    return false;
}

} // namespace GRIDFOLD_NAMESPACE
