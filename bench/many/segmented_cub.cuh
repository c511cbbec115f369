// Shared by the calls of cub::DeviceSegmentedReduce.
#pragma once

#include <cub/device/device_segmented_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "harness/library.hpp"
#include "many/segmented_cub.hpp"

namespace bench {

struct TimesLength {
    std::int64_t length;
    __host__ __device__ std::int64_t operator()(std::int64_t row) const { return row * length; }
};

/// The offset of row r of `length` elements.
inline auto row_begins(std::int64_t length, std::int64_t first = 0) {
    return thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(first), TimesLength{length});
}

/// A call that folds each row of in(copy) into out(copy)[row].
template <class In, class Out, class Fold, class T>
LibraryCall segmented(In in, Out out, std::int64_t rows, std::int64_t length, Fold fold, T start) {
    return [=](void* storage, std::size_t& bytes, int copy, cudaStream_t stream) {
        return cub::DeviceSegmentedReduce::Reduce(storage, bytes, in(copy), out(copy), rows, row_begins(length),
                                                  row_begins(length, 1), fold, start, stream);
    };
}

/// `in(copy)`, each element mapped.
template <class In, class Map> auto mapped(In in, Map map) {
    return [in, map](int copy) { return thrust::make_transform_iterator(in(copy), map); };
}

/// A contender from calls without results, which can only be enqueued.
inline Contender segmented_contender(std::string name, int copies, const std::vector<LibraryCall>& calls) {
    Contender contender = library_contender(std::move(name), copies, calls, device_array<std::byte>(1), std::size_t{1});
    contender.call = nullptr;
    return contender;
}

} // namespace bench
