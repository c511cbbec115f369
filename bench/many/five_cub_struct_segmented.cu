// Five statistics of each row by CUB in one read: a struct as the state.
#include "many/segmented_cub.cuh"
#include "statistics/five_maps.cuh"

namespace bench {

namespace {

/// Reads rows as elements of type T.
template <class T, class Transform>
Contender variant(const char* name, Transform transform, const Input<float>& x, std::int64_t rows, int copies) {
    const std::int64_t length = x.bytes() / rows / std::int64_t{sizeof(T)};
    const auto states = device_array<Five>(rows * copies);
    const auto in = [x](int copy) { return reinterpret_cast<const T*>(x.copy(copy)); };
    const auto out = [states, rows](int copy) { return states.get() + rows * copy; };
    Contender contender = segmented_contender(
        "cub_struct", copies, {segmented(mapped(in, transform), out, rows, length, Combine{}, five_of_nothing())});
    contender.variant = name;
    contender.results = [out, rows](int copy) {
        std::vector<double> all;
        for (const Five& row : to_host(out(copy), rows))
            for (const double number : numbers(row)) all.push_back(number);
        return all;
    };
    return contender;
}

} // namespace

std::vector<Contender> five_cub_struct_segmented(const Input<float>& x, std::int64_t rows, int copies) {
    return {variant<float>("float", OfOne{}, x, rows, copies), variant<float4>("float4", OfFour{}, x, rows, copies)};
}

} // namespace bench
