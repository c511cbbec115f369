#include <gridfold/core/gather.hpp>

#include <algorithm>

namespace gf {

namespace {

constexpr std::size_t unsigned_of(int d) { return static_cast<std::size_t>(d); }

/// Calls run(offset, stride, count) for the runs of elements along the innermost dim, from element `first` on.
template <class Run> void for_each_run(const Walk& s, std::int64_t first, std::size_t n, const Run& run_of) {
    // The coordinates of the first element, and its offset.
    std::array<std::int64_t, max_rank> coordinate{};
    std::int64_t offset = 0;
    for (int d = s.rank - 1; d >= 0; --d) {
        coordinate[unsigned_of(d)] = first % s.extent[unsigned_of(d)];
        first /= s.extent[unsigned_of(d)];
        offset += coordinate[unsigned_of(d)] * s.stride[unsigned_of(d)];
    }
    const int inner = s.rank - 1;
    const std::int64_t inner_extent = s.extent[unsigned_of(inner)], inner_stride = s.stride[unsigned_of(inner)];
    while (n > 0) {
        const auto run = std::min(n, static_cast<std::size_t>(inner_extent - coordinate[unsigned_of(inner)]));
        run_of(offset, inner_stride, run);
        n -= run;
        // Advances to the next run: the innermost coordinate becomes 0, the others are incremented.
        offset -= coordinate[unsigned_of(inner)] * inner_stride; // defect: carry
        coordinate[unsigned_of(inner)] = 0;
        for (int d = inner - 1; d >= 0; --d) {
            offset += s.stride[unsigned_of(d)];
            if (++coordinate[unsigned_of(d)] < s.extent[unsigned_of(d)]) break;
            coordinate[unsigned_of(d)] = 0;
            offset -= s.extent[unsigned_of(d)] * s.stride[unsigned_of(d)];
        }
    }
}

template <class T> void gather_elements(T* out, const T* array, const Walk& walk, std::int64_t first, std::size_t n) {
    for_each_run(walk, first, n, [&](std::int64_t offset, std::int64_t stride, std::size_t run) {
        const T* in = array + offset;
        if (stride == 1)
            std::copy_n(in, run, out);
        else if (stride == 0)
            std::fill_n(out, run, *in);
        else
            for (std::size_t i = 0; i < run; ++i) out[i] = in[static_cast<std::int64_t>(i) * stride];
        out += run;
    });
}

template <class T> void scatter_elements(T* array, const T* in, const Walk& walk, std::int64_t first, std::size_t n) {
    for_each_run(walk, first, n, [&](std::int64_t offset, std::int64_t stride, std::size_t run) {
        T* const out = array + offset;
        if (stride == 1)
            std::copy_n(in, run, out);
        else
            for (std::size_t i = 0; i < run; ++i) out[static_cast<std::int64_t>(i) * stride] = in[i];
        in += run;
    });
}

/// Calls `call` with a number as wide as an element.
template <class Call> void with_element(std::size_t bytes, const Call& call) {
    switch (bytes) {
    case 1: return call(std::uint8_t{});
    case 2: return call(std::uint16_t{});
    case 4: return call(std::uint32_t{});
    default: return call(std::uint64_t{});
    }
}

} // namespace

void Walk::append(std::int64_t inner_extent, std::int64_t inner_stride) {
    if (inner_extent == 1) return;
    std::size_t last = unsigned_of(rank - 1);
    const bool is_first = rank == 1 && extent[0] == 1;
    if (!is_first && stride[last] == inner_stride * inner_extent) {
        extent[last] *= inner_extent;
    } else {
        if (!is_first) last = unsigned_of(rank++);
        extent[last] = inner_extent;
    }
    stride[last] = inner_stride;
}

Walk walk(const View& view) {
    Walk walk;
    if (view.is_contiguous()) {
        walk.append(static_cast<std::int64_t>(element_count(view.extents)), 1);
        return walk;
    }
    for (int d = 0; d < view.extents.rank(); ++d) walk.append(view.extents[d], view.strides[d]);
    return walk;
}

void gather(void* out, const void* array, std::size_t element_bytes, const Walk& walk, std::int64_t first,
            std::size_t n) {
    if (n == 0) return; // an extent may be 0
    with_element(element_bytes, [&]<class T>(T) {
        gather_elements(static_cast<T*>(out), static_cast<const T*>(array), walk, first, n);
    });
}

void scatter(void* array, const void* in, std::size_t element_bytes, const Walk& walk, std::int64_t first,
             std::size_t n) {
    if (n == 0) return;
    with_element(element_bytes, [&]<class T>(T) {
        scatter_elements(static_cast<T*>(array), static_cast<const T*>(in), walk, first, n);
    });
}

} // namespace gf
