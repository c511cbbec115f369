// The device primitives: thread indices, barriers, shuffles, shared memory, relaxed memory accesses, wide loads and
// stores. No other device text depends on thread indices or memory spaces. A host compiler gets the second definition
// of each primitive, which calls the emulator (tests/emulator). Depends on prelude.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The 16-byte-aligned range inside [p, p + bytes): its first address and its end.
GRIDFOLD_FN u64 prefetched_from(const void* p) { return (u64(p) + 15) / 16 * 16; }
GRIDFOLD_FN u64 prefetched_to(const void* p, u32 bytes) { return (u64(p) + bytes) / 16 * 16; }

/// A value and its 32-bit words.
template <class T> union WordsOf {
    static_assert(sizeof(T) % 4 == 0);
    T value;
    u32 word[sizeof(T) / 4];
    GRIDFOLD_FN WordsOf() {}
};

/// The address of word n; p may be null.
GRIDFOLD_FN const u64* nth_word(const u64* p, u64 n) { return reinterpret_cast<const u64*>(u64(p) + n * sizeof(u64)); }

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

/// Waits for all threads of the cluster of thread blocks, and orders their accesses to shared memory. A block must call
/// it before it puts values into the memory of others, which have started then.
template <int cluster> GRIDFOLD_FN void cluster_barrier() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/// N values of T in the shared memory of a block, uninitialised. `place` distinguishes arrays of the same T and N.
template <class T, int N, int place> struct Shared {
    GRIDFOLD_FN static void put(u32 i, const T& value) { at(i) = value; }
    GRIDFOLD_FN static T get(u32 i) { return at(i); }
    /// put() in the memory of block number `block` of this block's cluster.
    template <int cluster> GRIDFOLD_FN static void put_in([[maybe_unused]] u32 block, u32 i, const T& value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        WordsOf<T> words;
        words.value = value;
        u32 to;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(u32(__cvta_generic_to_shared(&at(i)))), "r"(block));
#pragma unroll
        for (u32 w = 0; w < sizeof(T) / 4; ++w)
            asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(to + 4 * w), "r"(words.word[w]) : "memory");
#else
        static_assert(cluster == 0, "clusters need sm_90");
#endif
    }

private:
    GRIDFOLD_FN static T& at(u32 i) {
        __shared__ alignas(16) unsigned char bytes[sizeof(T) * N];
        return reinterpret_cast<T*>(bytes)[i];
    }
};

/// `count` slots of 64 bits in the shared memory of a block: blocks of its cluster write them, and it polls them, by
/// relaxed accesses as those of slots in device memory (publish.cuh). A barrier of the cluster would wait until every
/// store of its threads has reached memory. A pair begins at an even number.
template <int count, int place> struct SharedSlots {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    /// Must come before a barrier of the cluster, after which others put slots.
    GRIDFOLD_FN static void clear(u32 i) { at(i) = 0; }
    GRIDFOLD_FN static void get(u32 i, u64& slot) {
        asm volatile("ld.relaxed.cluster.shared::cta.u64 %0, [%1];" : "=l"(slot) : "r"(address(i)) : "memory");
    }
    GRIDFOLD_FN static void get(u32 i, u64& first, u64& second) {
        asm volatile("ld.relaxed.cluster.shared::cta.v2.u64 {%0, %1}, [%2];"
                     : "=l"(first), "=l"(second)
                     : "r"(address(i))
                     : "memory");
    }
    /// Puts a slot, or two, into the memory of block number `block` of this block's `cluster`.
    template <int cluster> GRIDFOLD_FN static void put_in(u32 block, u32 i, u64 slot) {
        asm volatile("st.relaxed.cluster.shared::cluster.u64 [%0], %1;" ::"r"(in_block(block, i)), "l"(slot)
                     : "memory");
    }
    template <int cluster> GRIDFOLD_FN static void put_in(u32 block, u32 i, u64 first, u64 second) {
        asm volatile("st.relaxed.cluster.shared::cluster.v2.u64 [%0], {%1, %2};" ::"r"(in_block(block, i)), "l"(first),
                     "l"(second)
                     : "memory");
    }

private:
    GRIDFOLD_FN static u64& at(u32 i) {
        __shared__ alignas(16) u64 slots[count];
        return slots[i];
    }
    GRIDFOLD_FN static u32 address(u32 i) { return u32(__cvta_generic_to_shared(&at(i))); }
    GRIDFOLD_FN static u32 in_block(u32 block, u32 i) {
        u32 to;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(address(i)), "r"(block));
        return to;
    }
#else
    static_assert(count == 0, "clusters need sm_90");
#endif
};

/// Relaxed, device scope. No fence is needed: a tag and its word are one 64-bit access.
GRIDFOLD_FN u64 load_relaxed(const u64* p) {
    u64 word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(p) : "memory");
    return word;
}
/// word = load_relaxed(p) if `wanted`. A predicate, since a branch or a select would wait for the load at once.
GRIDFOLD_FN void load_relaxed_if(bool wanted, u64& word, const u64* p) {
    asm volatile("{ .reg .pred wanted; setp.ne.s32 wanted, %2, 0; @wanted ld.relaxed.gpu.global.u64 %0, [%1]; }"
                 : "+l"(word)
                 : "l"(p), "r"(int(wanted))
                 : "memory");
}
GRIDFOLD_FN void store_relaxed(u64* p, u64 word) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(word) : "memory"); // defect: store
}
/// Two neighbouring words, each a relaxed access of its own; p is a multiple of 16.
GRIDFOLD_FN void load_relaxed(const u64* p, u64& first, u64& second) {
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" // defect: poll
                 : "=l"(first), "=l"(second)
                 : "l"(p)
                 : "memory");
}
GRIDFOLD_FN void store_relaxed(u64* p, u64 first, u64 second) {
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(p), "l"(first), "l"(second) : "memory");
}
/// Prefetches the line of `p` into the L2.
GRIDFOLD_FN void prefetch(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }
/// Prefetches the 16-byte-aligned range inside [p, p + bytes) into the L2, from Hopper on.
GRIDFOLD_FN void prefetch([[maybe_unused]] const void* p, [[maybe_unused]] u32 bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const u64 from = prefetched_from(p), to = prefetched_to(p, bytes);
    if (from < to) asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(u32(to - from)));
#endif
}
/// Relaxed, system scope: the host polls the word.
GRIDFOLD_FN void store_relaxed_system(u64* p, u64 word) {
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(word) : "memory"); // defect: to host
}

// Wide loads. The assembly is volatile, so that the compiler moves no load before wait_for_previous_kernel(). They do
// not use the read-only path (ld.global.nc): ptxas moves its loads before that wait, where the previous kernel may
// still write what they read (bench/NOTES.md).
GRIDFOLD_FN void load_bytes(u32 (&w)[4], const void* p) {
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "l"(p));
}
GRIDFOLD_FN void load_bytes(u32 (&w)[2], const void* p) {
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "l"(p));
}
GRIDFOLD_FN void load_bytes(u32 (&w)[1], const void* p) { w[0] = *static_cast<const u32*>(p); }
/// load_bytes(w, p) if `wanted`, else w is unspecified.
GRIDFOLD_FN void load_bytes_if(bool wanted, u32 (&w)[4], const void* p) {
    asm volatile("{ .reg .pred wanted; setp.ne.s32 wanted, %5, 0; @wanted ld.global.v4.u32 {%0, %1, %2, %3}, [%4]; }"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "l"(p), "r"(int(wanted)));
}
GRIDFOLD_FN void load_bytes_if(bool wanted, u32 (&w)[2], const void* p) {
    asm volatile("{ .reg .pred wanted; setp.ne.s32 wanted, %3, 0; @wanted ld.global.v2.u32 {%0, %1}, [%2]; }"
                 : "=r"(w[0]), "=r"(w[1])
                 : "l"(p), "r"(int(wanted)));
}
GRIDFOLD_FN void load_bytes_if(bool wanted, u32 (&w)[1], const void* p) {
    asm volatile("{ .reg .pred wanted; setp.ne.s32 wanted, %2, 0; @wanted ld.global.u32 %0, [%1]; }"
                 : "=r"(w[0])
                 : "l"(p), "r"(int(wanted)));
}
GRIDFOLD_FN void store_bytes(void* p, const u32 (&w)[1]) { *static_cast<u32*>(p) = w[0]; }
GRIDFOLD_FN void store_bytes(void* p, const u32 (&w)[4]) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
                 : "memory");
}
GRIDFOLD_FN void store_bytes(void* p, const u32 (&w)[2]) {
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(p), "r"(w[0]), "r"(w[1]) : "memory");
}

extern __shared__ __align__(16) unsigned char dynamic_shared[];
/// The dynamic shared memory of a block: `bytes` that its launch gives. `word` is a number of a word, a multiple of N.
template <int bytes> struct DynamicShared {
    template <int N> GRIDFOLD_FN static void put(i32 word, const u32 (&w)[N]) { put_at(4 * word, w); }
    template <int N> GRIDFOLD_FN static void get(i32 word, u32 (&w)[N]) { get_from(4 * word, w); }
    /// The same from a number of a byte on, which the compiler need not prove to be of a word.
    template <int N> GRIDFOLD_FN static void put_at(i32 byte, const u32 (&w)[N]) {
        Words<N> words;
#pragma unroll
        for (int i = 0; i < N; ++i) words.word[i] = w[i];
        put_element(byte, words);
    }
    template <int N> GRIDFOLD_FN static void get_from(i32 byte, u32 (&w)[N]) {
        const Words<N> from = element<Words<N>>(byte);
#pragma unroll
        for (int i = 0; i < N; ++i) w[i] = from.word[i];
    }
    /// The T that begins at a byte; and its assignment.
    template <class T> GRIDFOLD_FN static T element(i32 byte) {
        return *reinterpret_cast<const T*>(dynamic_shared + byte);
    }
    template <class T> GRIDFOLD_FN static void put_element(i32 byte, T value) {
        *reinterpret_cast<T*>(dynamic_shared + byte) = value;
    }

    /// Where a word is. The compiler computes the place of this memory anew for each access, which waits for a special
    /// register, unless a register keeps a place.
    GRIDFOLD_FN static u32 place(i32 word) { return u32(__cvta_generic_to_shared(dynamic_shared + 4 * word)); }
    /// put_at() and get_from() of such a place.
    GRIDFOLD_FN static void store(u32 place, const u32 (&w)[4]) {
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(place), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
                     : "memory");
    }
    GRIDFOLD_FN static void store(u32 place, const u32 (&w)[2]) {
        asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(place), "r"(w[0]), "r"(w[1]) : "memory");
    }
    GRIDFOLD_FN static void store(u32 place, const u32 (&w)[1]) {
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(place), "r"(w[0]) : "memory");
    }
    GRIDFOLD_FN static void load(u32 place, u32 (&w)[4]) {
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                     : "r"(place)
                     : "memory");
    }
    GRIDFOLD_FN static void load(u32 place, u32 (&w)[2]) {
        asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "r"(place) : "memory");
    }
    GRIDFOLD_FN static void load(u32 place, u32 (&w)[1]) {
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(w[0]) : "r"(place) : "memory");
    }

    /// Copies N words from p, a multiple of their bytes, to a place and a distance from it, which an instruction has as
    /// an offset. The thread may get them after await_copies().
    template <int N> GRIDFOLD_FN static void copy(u32 from, i32 words, const void* p) {
        const u32 to = from + u32(4 * words);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        if constexpr (N == 4)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(p) : "memory");
        else
            asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(p), "n"(4 * N) : "memory");
#else
        u32 w[N];
        load_bytes(w, p);
        put(i32(to - place(0)) / 4, w);
#endif
    }

private:
    template <int N> struct alignas(4 * N) Words {
        u32 word[N];
    };
};

/// Waits for the thread's copies to shared memory.
GRIDFOLD_FN void await_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
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
template <int cluster> GRIDFOLD_FN void cluster_barrier() { emulator::cluster_barrier(cluster); }

template <class T, int N, int place> struct Shared {
    GRIDFOLD_FN static void put(u32 i, const T& value) { *static_cast<T*>(at<emulator::Use::write>(i)) = value; }
    GRIDFOLD_FN static T get(u32 i) { return *static_cast<T*>(at<emulator::Use::read>(i)); }
    template <int cluster> GRIDFOLD_FN static void put_in(u32 block, u32 i, const T& value) {
        void* const to = emulator::shared_of(cluster, block, &declaration, sizeof(T) * N, sizeof(T) * i, sizeof(T),
                                             emulator::Use::write);
        *static_cast<T*>(to) = value;
    }

private:
    inline static const char declaration = 0; // its address names this memory
    template <emulator::Use use> GRIDFOLD_FN static void* at(u32 i) {
        return emulator::shared(&declaration, sizeof(T) * N, sizeof(T) * i, sizeof(T), use);
    }
};

template <int count, int place> struct SharedSlots {
    GRIDFOLD_FN static void clear(u32 i) {
        *static_cast<u64*>(emulator::shared(&declaration, 8 * count, 8 * i, 8, emulator::Use::write)) = 0;
    }
    GRIDFOLD_FN static void get(u32 i, u64& slot) { slot = emulator::load_relaxed(address(i)); }
    GRIDFOLD_FN static void get(u32 i, u64& first, u64& second) {
        get(i, first);
        get(i + 1, second);
    }
    template <int cluster> GRIDFOLD_FN static void put_in(u32 block, u32 i, u64 slot) {
        emulator::store_relaxed(in_block<cluster>(block, i), slot);
    }
    template <int cluster> GRIDFOLD_FN static void put_in(u32 block, u32 i, u64 first, u64 second) {
        put_in<cluster>(block, i, first);
        put_in<cluster>(block, i + 1, second);
    }

private:
    inline static const char declaration = 0;
    GRIDFOLD_FN static u64* address(u32 i) {
        return static_cast<u64*>(emulator::shared(&declaration, 8 * count, 8 * i, 8, emulator::Use::relaxed));
    }
    template <int cluster> GRIDFOLD_FN static u64* in_block(u32 block, u32 i) {
        return static_cast<u64*>(
            emulator::shared_of(cluster, block, &declaration, 8 * count, 8 * i, 8, emulator::Use::relaxed));
    }
};

GRIDFOLD_FN void await_copies() {}
template <int bytes> struct DynamicShared {
    template <int N> GRIDFOLD_FN static void put(i32 word, const u32 (&w)[N]) { put_at(4 * word, w); }
    template <int N> GRIDFOLD_FN static void put_at(i32 byte, const u32 (&w)[N]) {
        __builtin_memcpy(emulator::shared(&declaration, bytes, byte, sizeof(w), emulator::Use::write), w, sizeof(w));
    }
    template <int N> GRIDFOLD_FN static void get(i32 word, u32 (&w)[N]) { get_from(4 * word, w); }

    template <int N> GRIDFOLD_FN static void get_from(i32 byte, u32 (&w)[N]) {
        __builtin_memcpy(w, emulator::shared(&declaration, bytes, byte, sizeof(w), emulator::Use::read), sizeof(w));
    }
    template <class T> GRIDFOLD_FN static T element(i32 byte) {
        T value;
        __builtin_memcpy(&value, emulator::shared(&declaration, bytes, byte, sizeof(T), emulator::Use::read),
                         sizeof(T));
        return value;
    }
    template <class T> GRIDFOLD_FN static void put_element(i32 byte, T value) {
        __builtin_memcpy(emulator::shared(&declaration, bytes, byte, sizeof(T), emulator::Use::write), &value,
                         sizeof(T));
    }

    /// In bytes, as on a device: a copy's place advances by bytes.
    GRIDFOLD_FN static u32 place(i32 word) { return u32(4 * word); }
    template <int N> GRIDFOLD_FN static void store(u32 place, const u32 (&w)[N]) { put_at(i32(place), w); }
    template <int N> GRIDFOLD_FN static void load(u32 place, u32 (&w)[N]) { get_from(i32(place), w); }
    template <int N> GRIDFOLD_FN static void copy(u32 place, i32 words, const void* p) {
        u32 w[N];
        emulator::load_bytes(w, p, sizeof(w));
        put(i32(place) / 4 + words, w);
    }

private:
    inline static const char declaration = 0;
};

GRIDFOLD_FN u64 load_relaxed(const u64* p) { return emulator::load_relaxed(p); }
GRIDFOLD_FN void load_relaxed_if(bool wanted, u64& word, const u64* p) {
    if (wanted) word = emulator::load_relaxed(p);
}
GRIDFOLD_FN void store_relaxed(u64* p, u64 word) { emulator::store_relaxed(p, word); }
GRIDFOLD_FN void prefetch(const void*) {}
/// Checks that the range is allocated.
GRIDFOLD_FN void prefetch(const void* p, u32 bytes) {
    const u64 from = prefetched_from(p), to = prefetched_to(p, bytes);
    if (from < to) emulator::prefetch(reinterpret_cast<const char*>(from), reinterpret_cast<const char*>(to));
}
GRIDFOLD_FN void load_relaxed(const u64* p, u64& first, u64& second) { emulator::load_relaxed(p, first, second); }
GRIDFOLD_FN void store_relaxed(u64* p, u64 first, u64 second) { emulator::store_relaxed(p, first, second); }
GRIDFOLD_FN void store_relaxed_system(u64* p, u64 word) { emulator::store_relaxed_system(p, word); }

template <int N> GRIDFOLD_FN void load_bytes(u32 (&w)[N], const void* p) { emulator::load_bytes(w, p, sizeof(w)); }
template <int N> GRIDFOLD_FN void load_bytes_if(bool wanted, u32 (&w)[N], const void* p) {
    if (wanted) load_bytes(w, p);
}
template <int N> GRIDFOLD_FN void store_bytes(void* p, const u32 (&w)[N]) { emulator::store_bytes(p, w, sizeof(w)); }

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
