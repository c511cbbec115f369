// Threads: their indices, barriers, shuffles, and reductions over a warp. No other file than this, memory.cuh and
// shared.cuh names thread indices or memory spaces, or accesses memory in assembly. Where a function has two
// definitions, a host compiler gets the second, which calls the emulator (tests/emulator). Depends on prelude.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// A value and its 32-bit words.
template <class T> union WordsOf {
    static_assert(sizeof(T) % 4 == 0);
    T value;
    u32 word[sizeof(T) / 4];
    GRIDFOLD_FN WordsOf() {}
};

#if defined(__CUDACC__)

GRIDFOLD_FN u32 thread_index() { return threadIdx.x; }
GRIDFOLD_FN u32 block_index() { return blockIdx.x; }
GRIDFOLD_FN u32 grid_blocks() { return gridDim.x; }
GRIDFOLD_FN void barrier() { __syncthreads(); }
/// Lets the threads of a warp meet, and orders their accesses to shared memory. After a loop that they leave at
/// different times, shuffles work without it, but threads that arrive one by one take each of them by a slow path
/// (bench/NOTES.md).
GRIDFOLD_FN void reconverge() { __syncwarp(); }
/// Keeps a value in a register. The compiler would read the thread index anew in every batch: it takes the time of a
/// load from a cache. It would also mix the terms of an address, and instructions have a distance from one that is in a
/// register for nothing.
GRIDFOLD_FN void keep(u32& value) { asm volatile("" : "+r"(value)); }
GRIDFOLD_FN void keep(i64& value) { asm volatile("" : "+l"(value)); }
GRIDFOLD_FN u32 shuffle_xor_word(u32 word, u32 lanes) { return __shfl_xor_sync(0xffffffffu, word, lanes); }

/// Waits until the previous kernel in the stream has ended and its writes are visible. With programmatic dependent
/// launch, a kernel may start earlier: before this call it may prefetch, but neither reads nor writes memory.
GRIDFOLD_FN void wait_for_previous_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/// Lets the next kernel of the stream start, up to its wait_for_previous_kernel(), once every block of this one has
/// called it or ended. Must be called after this kernel's own wait: a caller's kernel may read memory before its own.
GRIDFOLD_FN void let_next_kernel_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

#else

GRIDFOLD_FN u32 thread_index() { return emulator::thread_index(); }
GRIDFOLD_FN u32 block_index() { return emulator::block_index(); }
GRIDFOLD_FN u32 grid_blocks() { return emulator::block_count(); }
GRIDFOLD_FN void barrier() { emulator::barrier(); }
GRIDFOLD_FN void reconverge() { emulator::warp_barrier(); } // finds threads that do not come
GRIDFOLD_FN void keep(u32&) {}
GRIDFOLD_FN void keep(i64&) {}
GRIDFOLD_FN u32 shuffle_xor_word(u32 word, u32 lanes) { return emulator::shuffle_xor_word(word, lanes); }
GRIDFOLD_FN void wait_for_previous_kernel() {}
GRIDFOLD_FN void let_next_kernel_start() {}

#endif

GRIDFOLD_FN u32 warp_index() { return thread_index() / 32u; }
GRIDFOLD_FN u32 warp_lane() { return thread_index() % 32u; }

/// The value of the thread whose lane differs in the bits `lanes`. All threads of the warp must call it.
template <class T> GRIDFOLD_FN T shuffle_xor(const T& value, u32 lanes) {
    WordsOf<T> from, to;
    from.value = value;
#pragma unroll
    for (u32 i = 0; i < sizeof(T) / 4; ++i) to.word[i] = shuffle_xor_word(from.word[i], lanes); // defect: exchange
    return to.value;
}

/// Reductions of one value a lane over a warp; every lane gets the result. All threads of the warp must call them.
struct Warp {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    GRIDFOLD_FN static u32 sum(u32 word) { return __reduce_add_sync(0xffffffffu, word); }
    GRIDFOLD_FN static u32 min(u32 word) { return __reduce_min_sync(0xffffffffu, word); }
    GRIDFOLD_FN static u32 max(u32 word) { return __reduce_max_sync(0xffffffffu, word); }
    GRIDFOLD_FN static u32 bit_and(u32 word) { return __reduce_and_sync(0xffffffffu, word); }
    GRIDFOLD_FN static u32 bit_or(u32 word) { return __reduce_or_sync(0xffffffffu, word); }
#else
    GRIDFOLD_FN static u32 sum(u32 word) {
        return exchange(word, [](u32 a, u32 b) { return a + b; });
    }
    GRIDFOLD_FN static u32 min(u32 word) {
        return exchange(word, [](u32 a, u32 b) { return a < b ? a : b; });
    }
    GRIDFOLD_FN static u32 max(u32 word) {
        return exchange(word, [](u32 a, u32 b) { return a > b ? a : b; });
    }
    GRIDFOLD_FN static u32 bit_and(u32 word) {
        return exchange(word, [](u32 a, u32 b) { return a & b; });
    }
    GRIDFOLD_FN static u32 bit_or(u32 word) {
        return exchange(word, [](u32 a, u32 b) { return a | b; });
    }
#endif
    /// Wraps. Sums limbs of 27 bits: 32 limbs fit into a word.
    GRIDFOLD_FN static u64 sum(u64 x) {
        constexpr u32 limb = (1u << 27) - 1;
        return sum(u32(x) & limb) + (u64(sum(u32(x >> 27) & limb)) << 27) +
               (u64(sum(u32(x >> 54))) << 54); // defect: top limb
    }

private:
    template <class Combine> GRIDFOLD_FN static u32 exchange(u32 word, Combine combine) {
        for (u32 lanes = 1; lanes < 32; lanes *= 2) word = combine(word, shuffle_xor_word(word, lanes));
        return word;
    }
};

} // namespace GRIDFOLD_NAMESPACE
