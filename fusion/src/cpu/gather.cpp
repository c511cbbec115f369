#include "cpu/gather.hpp"

#include <algorithm>
#include <numeric>

namespace gf::cpu {

DimStrides strides_along(std::span<const DimId> domain_dims, std::span<const DimId> array_dims,
                         std::span<const std::int64_t> extents, const Strides& bound) {
    const auto extent_of = [&](DimId dim) { return extents[dim.index()]; };
    DimStrides strides{};
    for (std::size_t position = 0; position < domain_dims.size(); ++position) {
        const auto place = std::find(array_dims.begin(), array_dims.end(), domain_dims[position]);
        if (place != array_dims.end() && bound.rank() > 0)
            strides[position] = bound[static_cast<int>(place - array_dims.begin())]; // defect: bound stride
        else if (place != array_dims.end())
            strides[position] =
                std::accumulate(place + 1, array_dims.end(), std::int64_t{1},
                                [&](std::int64_t product, DimId inner) { return product * extent_of(inner); });
    }
    return strides;
}

Walk walk(std::span<const DimId> domain_dims, std::span<const DimId> array_dims, std::span<const std::int64_t> extents,
          const Strides& bound) {
    const DimStrides strides = strides_along(domain_dims, array_dims, extents, bound);
    Walk result;
    for (std::size_t position = 0; position < domain_dims.size(); ++position)
        result.append(extents[domain_dims[position].index()], strides[position]);
    return result;
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
