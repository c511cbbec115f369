// One fold of each row by CUB.
#include <limits>

#include "many/segmented_cub.cuh"

namespace bench {

namespace {

template <class T, class Result, class Fold>
Contender by_rows(const Input<T>& x, std::int64_t rows, int copies, Fold fold, Result start) {
    const auto results = device_array<Result>(rows * copies);
    const auto in = [x](int copy) -> const T* { return x.copy(copy); };
    const auto out = [results, rows](int copy) { return results.get() + rows * copy; };
    Contender contender =
        segmented_contender("cub", copies, {segmented(in, out, rows, x.elements() / rows, fold, start)});
    contender.results = [out, rows](int copy) {
        const std::vector<Result> of_rows = to_host(out(copy), rows);
        return std::vector<double>(of_rows.begin(), of_rows.end());
    };
    return contender;
}

} // namespace

template <class T> Contender rows_cub(bool sum, const Input<T>& x, std::int64_t rows, int copies) {
    if (sum) return by_rows(x, rows, copies, cuda::std::plus<>{}, typename Element<T>::Sum{0});
    using Limits = std::numeric_limits<T>;
    return by_rows(x, rows, copies, cuda::maximum<>{}, Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
}

template Contender rows_cub(bool, const Input<float>&, std::int64_t, int);
template Contender rows_cub(bool, const Input<double>&, std::int64_t, int);
template Contender rows_cub(bool, const Input<std::int32_t>&, std::int64_t, int);

} // namespace bench
