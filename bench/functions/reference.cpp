// The functions of libm in a wider type, and errors against them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "functions.hpp"

namespace bench::functions {
namespace {

using namespace std; // NOLINT: the functions below are found by their names alone, these two included
template <class W> W rsqrt(W x) { return 1 / sqrt(x); }
template <class W> W sigmoid(W x) { return 1 / (1 + exp(-x)); }

template <class W> using Exact = W (*)(W, W);

template <class W> Exact<W> exact_function([[maybe_unused]] W type, string_view name) {
#define GRIDFOLD_BENCH_FUNCTION(case, function, arity, low, high) \
    if (name == #case)                                            \
        return [](W x, [[maybe_unused]] W y) -> W {               \
            if constexpr (arity == 1)                             \
                return function(x);                               \
            else                                                  \
                return function(x, y);                            \
        };
#include "functions.def"
#undef GRIDFOLD_BENCH_FUNCTION
    return nullptr;
}

/// The unit in the last place of x as a T.
template <class T, class W> W unit_of(W x) {
    using Limits = numeric_limits<T>;
    int exponent = 0;
    frexp(x, &exponent);
    return ldexp(W(1), max(exponent, Limits::min_exponent) - Limits::digits);
}

} // namespace

template <class T>
Reference<T>::Reference(const Function& f, const std::vector<T>& a, const std::vector<T>& b) : exact_(a.size()) {
    const Exact<Wider> exact = exact_function(Wider{}, f.name);
    for (std::size_t i = 0; i < a.size(); ++i) exact_[i] = exact(a[i], b.empty() ? T{} : b[i]);
}

template <class T> double Reference<T>::error_of(const std::vector<T>& results) const {
    Wider worst = 0;
    for (std::size_t i = 0; i < exact_.size(); ++i) {
        const Wider error = abs(static_cast<Wider>(results[i]) - exact_[i]) / unit_of<T>(exact_[i]);
        if (!(error <= worst)) worst = isnan(error) ? numeric_limits<Wider>::infinity() : error;
    }
    return static_cast<double>(worst);
}

template class Reference<float>;
template class Reference<double>;

} // namespace bench::functions
