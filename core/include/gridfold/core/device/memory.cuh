// Device memory: prefetches, relaxed accesses, wide loads and stores. Depends on prelude.cuh.
#pragma once

namespace GRIDFOLD_NAMESPACE {

/// The 16-byte-aligned range inside [p, p + bytes): its first address and its end.
GRIDFOLD_FN u64 prefetched_from(const void* p) { return (u64(p) + 15) / 16 * 16; }
GRIDFOLD_FN u64 prefetched_to(const void* p, u32 bytes) { return (u64(p) + bytes) / 16 * 16; }

/// The address of word n; p may be null.
GRIDFOLD_FN const u64* nth_word(const u64* p, u64 n) { return reinterpret_cast<const u64*>(u64(p) + n * sizeof(u64)); }

#if defined(__CUDACC__)

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

#else

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

} // namespace GRIDFOLD_NAMESPACE
