// Five statistics of each row by CUB: one call a statistic, five reads of everything.
#include "many/segmented_cub.cuh"
#include "statistics/five_maps.cuh"

namespace bench {

Contender five_cub_segmented(const Input<float>& x, std::int64_t rows, int copies) {
    const std::int64_t length = x.elements() / rows;
    const auto floats = device_array<float>(4 * rows * copies); // sums, squares, minima, maxima of each copy
    const auto counts = device_array<std::int64_t>(rows * copies);
    const auto in = [x](int copy) -> const float* { return x.copy(copy); };
    const auto out = [floats, rows](int statistic) {
        return [floats, rows, statistic](int copy) { return floats.get() + (4 * copy + statistic) * rows; };
    };
    const auto count = [counts, rows](int copy) { return counts.get() + rows * copy; };
    const Five nothing = five_of_nothing();
    const std::vector<LibraryCall> calls{
        segmented(in, out(0), rows, length, cuda::std::plus<>{}, nothing.sum),
        segmented(mapped(in, Square{}), out(1), rows, length, cuda::std::plus<>{}, nothing.squares),
        segmented(in, out(2), rows, length, cuda::minimum<>{}, nothing.least),
        segmented(in, out(3), rows, length, cuda::maximum<>{}, nothing.most),
        segmented(mapped(in, IsPositive{}), count, rows, length, cuda::std::plus<>{}, nothing.positive),
    };
    Contender contender = segmented_contender("cub", copies, calls);
    contender.results = [out, count, rows](int copy) {
        const auto of = [&](int statistic) { return to_host(out(statistic)(copy), rows); };
        const auto sums = of(0), squares = of(1), least = of(2), most = of(3);
        const auto positive = to_host(count(copy), rows);
        std::vector<double> all;
        for (std::size_t row = 0; row < sums.size(); ++row)
            for (const double number : numbers({sums[row], squares[row], least[row], most[row], positive[row]}))
                all.push_back(number);
        return all;
    };
    return contender;
}

} // namespace bench
