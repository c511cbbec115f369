// The measured functions, their operands, and the contenders' loops over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace bench::functions {

struct Function {
    std::string_view name;     ///< of the case
    std::string_view function; ///< gridfold's name
    int arity;
    double low, high;
};
inline constexpr Function all_functions[] = {
#define GRIDFOLD_BENCH_FUNCTION(name, function, arity, low, high) {#name, #function, arity, low, high},
#include "functions.def"
#undef GRIDFOLD_BENCH_FUNCTION
};

/// Pseudo-random operands: SplitMix64's last two steps over the index (Steele, Lea and Flood, 2014).
/// numpy_functions.py makes the same. A second operand begins at index 2^32.
template <class T> std::vector<T> operands(const Function& f, std::size_t n, std::uint64_t first = 0) {
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        std::uint64_t bits = (first + i + 1) * 0x9e3779b97f4a7c15U;
        bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
        bits ^= bits >> 27;
        x[i] = static_cast<T>(f.low + (f.high - f.low) * (static_cast<double>(bits >> 11) * 0x1p-53));
    }
    return x;
}

/// The largest error of results in units of the last place of the exact ones, which a wider type gives. Infinite if a
/// result is NaN.
template <class T> class Reference {
public:
    Reference(const Function& f, const std::vector<T>& a, const std::vector<T>& b);
    double error_of(const std::vector<T>& results) const;

private:
    using Wider = std::conditional_t<sizeof(T) == 4, double, long double>;
    std::vector<Wider> exact_;
};

/// out[i] = f(a[i], b[i]); b is not read where the arity is 1.
template <class T> using Loop = void (*)(T* out, const T* a, const T* b, std::size_t n);

/// A row of a contender's table of functions.
struct Row {
    std::string_view function;
    Loop<float> of_f32;
    Loop<double> of_f64;

    template <class T> Loop<T> loop() const {
        if constexpr (sizeof(T) == 4)
            return of_f32;
        else
            return of_f64;
    }
};

// The tables, each compiled for one instruction set; empty where the library is not there.
std::vector<Row> libmvec_avx2();
std::vector<Row> libmvec_avx512();
std::vector<Row> sleef_avx2();
std::vector<Row> sleef_avx512();

/// One call of gridfold's CPU backend, on one thread.
template <class T>
std::function<void()> gridfold(const Function& f, std::vector<T>& out, const std::vector<T>& a,
                               const std::vector<T>& b);
/// "AVX2", "AVX-512" or "baseline"
std::string gridfold_instruction_set();

} // namespace bench::functions
