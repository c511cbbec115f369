// Arithmetic of elements by the value of their row, for the instruction set that this file is compiled for: a call for
// all rows of a tile, because a call for each of short ones takes longer than its elements.
#include "host_kernels/map_rows.hpp"
#include "host_kernels/row_values.hpp"
#include "host_kernels/tree.hpp"

namespace GRIDFOLD_NAMESPACE {

using gf::cpu::RowValueKernel;

RowValueKernel row_value_kernel(int map, int compute);

namespace kernels {

template <class Map> inline constexpr bool is_division = false;
template <class T> inline constexpr bool is_division<divide_map<T>> = true;

#if defined(__FMA__) || defined(__aarch64__)
inline constexpr bool has_fma = true;
#else
inline constexpr bool has_fma = false;
#endif

/// Division of many elements by one number without a division for each, as divisor.cuh has it, which says why the bits
/// are the same.
template <class T> struct Quotients {
    using Bits = typename BitsOf<sizeof(T)>::type;
    static constexpr T most_divisor = sizeof(T) == 4 ? T(0x1p40) : T(0x1p300), least_divisor = T(1) / most_divisor,
                       least_quotient = sizeof(T) == 4 ? T(0x1p-60) : T(0x1p-600);

    T value, reciprocal, rest;

    GRIDFOLD_FN explicit Quotients(T divisor)
        : value(divisor), reciprocal(T(1) / divisor), rest(fma(-divisor, reciprocal, T(1)) * reciprocal) {}
    GRIDFOLD_FN bool is_safe() const { return abs(value) > least_divisor && abs(value) < most_divisor; }
    GRIDFOLD_FN T of(T x) const {
        const T near = fma(x, reciprocal, x * rest);
        return fma(fma(-value, near, x), reciprocal, near); // defect: quotient of a row
    }
    /// Sets n quotients. False if one may not be sure: it is too small, or no number.
    GRIDFOLD_FN bool set(T* r, const T* x, std::size_t n) const {
        const Bits sign = Bits(1) << (8 * sizeof(T) - 1), least = to_bits(least_quotient),
                   most = to_bits(infinity<T>()) - least;
        Bits farthest = 0;
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < n; ++i) {
            r[i] = of(x[i]);
            const Bits distance = Bits(to_bits(r[i]) & ~sign) - least; // wraps for what is smaller
            farthest = distance > farthest ? distance : farthest;
        }
        return farthest < most; // defect: sure quotients
    }
};

template <class Map, class T> struct OfRows {
    static constexpr std::size_t width = vector_bytes / sizeof(T);

    static constexpr std::size_t piece = 16 * width; ///< the quotients that are checked together

    static void kernel(void* out, const void* in, const void* values, std::size_t first, std::size_t length,
                       std::size_t n) {
        auto* const r = static_cast<T*>(out);
        const auto* const x = static_cast<const T*>(in);
        const auto* value = static_cast<const T*>(values);
        // Where one quotient is not sure, others will not be: of a row of many zeros, for example.
        bool are_sure = is_division<Map> && has_fma && r != x;
        for (std::size_t i = 0, run = length - first; i < n; i += run, run = length, ++value) {
            if (run > n - i) run = n - i;
            std::size_t done = 0;
            if (are_sure && run >= width) {
                done = set_quotients(r + i, x + i, *value, run);
                are_sure = done == run;
            }
            row(r + i + done, x + i + done, *value, run - done);
        }
    }

private:
    /// Sets quotients as long as they are sure, and returns their number. The last vector may overlap the one before.
    GRIDFOLD_FN static std::size_t set_quotients(T* r, const T* x, T value, std::size_t n) {
        const Quotients<T> quotients(value);
        if (!quotients.is_safe()) return 0;
        std::size_t done = 0;
        for (std::size_t count = 0; done + width <= n; done += count) {
            count = (n - done < piece ? n - done : piece) / width * width;
            if (!quotients.set(r + done, x + done, count)) return done;
        }
        return done == n || quotients.set(r + n - width, x + n - width, width) ? n : done;
    }
    /// The vector that ends a row overlaps the one before it, so it is computed before that is stored.
    GRIDFOLD_FN static void row(T* r, const T* x, T value, std::size_t n) {
        if (n < width) {
            for (std::size_t i = 0; i < n; ++i) r[i] = Map::apply(x[i], value, T{});
            return;
        }
        const std::size_t whole = n / width * width;
        T last[width];
        if (whole != n) {
            GRIDFOLD_ONE_VECTOR
            for (std::size_t i = 0; i < width; ++i) last[i] = Map::apply(x[n - width + i], value, T{});
        }
        GRIDFOLD_INDEPENDENT
        for (std::size_t i = 0; i < whole; ++i) r[i] = Map::apply(x[i], value, T{});
        if (whole != n) __builtin_memcpy(r + n - width, last, sizeof last); // defect: last vector of a row
    }
};

template <template <class> class Map, DType type> constexpr RowValueKernel entry_of_rows() {
    if constexpr (is_arithmetic<Map<f32>> && type == DType::f32)
        return &OfRows<Map<f32>, f32>::kernel;
    else if constexpr (is_arithmetic<Map<f32>> && type == DType::f64)
        return &OfRows<Map<f64>, f64>::kernel;
    else
        return nullptr;
}

template <template <class> class Map> struct RowOfRows {
    static constexpr RowValueKernel entries[] = {
#define GRIDFOLD_DTYPE(type, ...) entry_of_rows<Map, DType::type>(),
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    };
};

} // namespace kernels

RowValueKernel row_value_kernel(int map, int compute) {
    static constexpr const RowValueKernel* rows[] = {
#define GRIDFOLD_MAP_OP(id, ...) kernels::RowOfRows<kernels::id##_map>::entries,
#include <gridfold/ops/map.def>
#undef GRIDFOLD_MAP_OP
    };
    return rows[map][compute];
}

} // namespace GRIDFOLD_NAMESPACE
