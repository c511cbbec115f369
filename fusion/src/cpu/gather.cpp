#include "cpu/gather.hpp"

#include <algorithm>
#include <numeric>

#include "cpu/index.hpp"

namespace gf::cpu {

namespace {

template <class T> void gather_elements(T* out, const T* array, const Strides& s, std::int64_t first, std::size_t n) {
    // The coordinates of the first element, and its offset.
    std::array<std::int64_t, max_rank> coordinate{};
    std::int64_t offset = 0;
    for (int d = s.rank - 1; d >= 0; --d) {
        coordinate[at(d)] = first % s.extent[at(d)];
        first /= s.extent[at(d)];
        offset += coordinate[at(d)] * s.stride[at(d)];
    }
    const int inner = s.rank - 1;
    const std::int64_t inner_extent = s.extent[at(inner)], inner_stride = s.stride[at(inner)];
    while (n > 0) {
        const auto run = std::min(n, static_cast<std::size_t>(inner_extent - coordinate[at(inner)]));
        const T* in = array + offset;
        if (inner_stride == 1)
            std::copy_n(in, run, out);
        else if (inner_stride == 0)
            std::fill_n(out, run, *in);
        else
            for (std::size_t i = 0; i < run; ++i) out[i] = in[static_cast<std::int64_t>(i) * inner_stride];
        out += run;
        n -= run;
        // Advances to the next run: the innermost coordinate becomes 0, the others are incremented.
        offset -= coordinate[at(inner)] * inner_stride; // defect: carry
        coordinate[at(inner)] = 0;
        for (int d = inner - 1; d >= 0; --d) {
            offset += s.stride[at(d)];
            if (++coordinate[at(d)] < s.extent[at(d)]) break;
            coordinate[at(d)] = 0;
            offset -= s.extent[at(d)] * s.stride[at(d)];
        }
    }
}

} // namespace

Strides strides(std::span<const DimId> domain_dims, std::span<const DimId> array_dims,
                std::span<const std::int64_t> extents) {
    const auto extent_of = [&](DimId dim) { return extents[dim.index()]; };
    Strides result;
    for (const DimId dim : domain_dims) {
        const std::int64_t extent = extent_of(dim);
        if (extent == 1) continue;
        const auto place = std::find(array_dims.begin(), array_dims.end(), dim);
        std::int64_t stride = 0;
        if (place != array_dims.end())
            stride = std::accumulate(place + 1, array_dims.end(), std::int64_t{1},
                                     [&](std::int64_t product, DimId inner) { return product * extent_of(inner); });
        const std::size_t last = at(result.rank - 1);
        if (result.rank > 0 && result.stride[last] == stride * extent) {
            result.extent[last] *= extent;
            result.stride[last] = stride;
        } else {
            result.extent[at(result.rank)] = extent;
            result.stride[at(result.rank)] = stride;
            ++result.rank;
        }
    }
    if (result.rank == 0) result.extent[0] = result.rank = 1;
    return result;
}

void gather(void* out, const void* array, std::size_t element_bytes, const Strides& strides, std::int64_t first,
            std::size_t n) {
    const auto elements = [&]<class T>(T) {
        gather_elements(static_cast<T*>(out), static_cast<const T*>(array), strides, first, n);
    };
    switch (element_bytes) {
    case 1: return elements(std::uint8_t{});
    case 2: return elements(std::uint16_t{});
    case 4: return elements(std::uint32_t{});
    default: return elements(std::uint64_t{});
    }
}

void coordinates(std::int64_t* out, std::int64_t extent, std::int64_t inner, std::int64_t first, std::size_t n) {
    std::int64_t coordinate = first / inner % extent, within = first % inner;
    while (n > 0) {
        std::size_t run = 0;
        if (inner == 1) {
            run = std::min(n, static_cast<std::size_t>(extent - coordinate));
            std::iota(out, out + run, coordinate);
            coordinate = 0;
        } else {
            run = std::min(n, static_cast<std::size_t>(inner - within));
            std::fill_n(out, run, coordinate);
            within = 0;
            if (++coordinate == extent) coordinate = 0;
        }
        out += run;
        n -= run;
    }
}

} // namespace gf::cpu
