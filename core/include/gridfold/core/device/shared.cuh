// The shared memory of a block, and that of the other blocks of its cluster. Depends on memory.cuh and warp.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

#if defined(__CUDACC__)

/// Arrives at a barrier of the cluster of thread blocks, and orders what the thread has stored before it. Without
/// `has_stored` it has stored nothing that other blocks must see: the order waits for all its loads and stores. All
/// threads of the cluster must call this and then await_cluster_barrier(), the threads of a warp together.
template <int cluster> GRIDFOLD_FN void arrive_at_cluster_barrier(bool has_stored = true) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    __syncwarp();
    if (has_stored)
        asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    else
        asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}
/// Waits until all threads of the cluster have arrived. Then its blocks have started, and each may put values into the
/// others' shared memory.
template <int cluster> GRIDFOLD_FN void await_cluster_barrier() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    __syncwarp();
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
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
    /// Must come before the block arrives at the barrier of the cluster after which others put slots.
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

template <int cluster> GRIDFOLD_FN void arrive_at_cluster_barrier(bool = true) {
    emulator::arrive_at_cluster_barrier();
}
template <int cluster> GRIDFOLD_FN void await_cluster_barrier() { emulator::await_cluster_barrier(cluster); }

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

#endif

/// Both: a barrier.
template <int cluster> GRIDFOLD_FN void cluster_barrier() {
    arrive_at_cluster_barrier<cluster>();
    await_cluster_barrier<cluster>();
}

} // namespace GRIDFOLD_NAMESPACE
