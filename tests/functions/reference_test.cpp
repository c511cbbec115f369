// The double-double reference against MPFR, at the points with which the functions are tried.
#include <algorithm>
#include <cmath>
#include <string_view>

#include <gtest/gtest.h>
#include <mpfr.h>

#include "functions/error.cuh"
#include "functions/functions.hpp"

namespace {

using gf::test::Function;
using gf::test::reference::Exact;

/// A number of 200 bits.
class Number {
public:
    Number() { mpfr_init2(number_, 200); }
    explicit Number(double x) : Number() { mpfr_set_d(number_, x, MPFR_RNDN); }
    ~Number() { mpfr_clear(number_); }
    Number(const Number&) = delete;
    Number& operator=(const Number&) = delete;
    operator mpfr_ptr() { return number_; } // NOLINT(google-explicit-constructor): an operand of MPFR's functions

private:
    mpfr_t number_;
};

// What MPFR lacks, named as it would.
int mpfr_rsqrt(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t round) {
    mpfr_sqrt(y, x, round);
    return mpfr_ui_div(y, 1, y, round);
}
int mpfr_sigmoid(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t round) {
    mpfr_neg(y, x, round);
    mpfr_exp(y, y, round);
    mpfr_add_ui(y, y, 1, round);
    return mpfr_ui_div(y, 1, y, round);
}

using OfOne = int(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
using OfTwo = int(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
void apply(OfOne* f, mpfr_ptr y, mpfr_srcptr a, mpfr_srcptr) { f(y, a, MPFR_RNDN); }
void apply(OfTwo* f, mpfr_ptr y, mpfr_srcptr a, mpfr_srcptr b) { f(y, a, b, MPFR_RNDN); }

/// The relative error of the reference, as its log2. Infinite if zeros, infinities, NaN or signs differ.
double log2_of_error(const Exact& actual, mpfr_ptr exact) {
    constexpr double none = -1000, wrong = INFINITY;
    const double high = actual.value.high;
    if (std::isnan(high) || mpfr_nan_p(exact) != 0) return std::isnan(high) && mpfr_nan_p(exact) != 0 ? none : wrong;
    if (std::signbit(high) != (mpfr_signbit(exact) != 0)) return wrong;
    // Far outside of f64's range it is enough to be there, too.
    constexpr int most = 1030, least = -1090;
    const bool is_zero = high == 0, is_infinite = std::isinf(high);
    const long exponent = is_zero || is_infinite ? 0 : std::ilogb(high) + actual.exponent;
    if (mpfr_zero_p(exact) != 0 || (!mpfr_inf_p(exact) && mpfr_get_exp(exact) < least))
        return is_zero || (!is_infinite && exponent < least) ? none : wrong;
    if (mpfr_inf_p(exact) != 0 || mpfr_get_exp(exact) > most)
        return is_infinite || (!is_zero && exponent >= most) ? none : wrong;
    Number error(high);
    mpfr_add_d(error, error, actual.value.low, MPFR_RNDN);
    mpfr_mul_2si(error, error, actual.exponent, MPFR_RNDN);
    mpfr_sub(error, error, exact, MPFR_RNDN);
    mpfr_div(error, error, exact, MPFR_RNDN);
    return mpfr_zero_p(error) != 0 ? none : static_cast<double>(mpfr_get_exp(error));
}

template <class Name, class T, class Mpfr> void check(const Function& f, std::uint64_t count, Mpfr* mpfr) {
    double worst = -1000;
    for (std::uint64_t i = 0; i < gf::test::special_points(f.domain) + count; ++i) {
        const gf::test::Point<T> p = gf::test::point<T>(f.domain, i);
        Number a(static_cast<double>(p.a)), b(static_cast<double>(p.b)), y;
        apply(mpfr, y, a, b);
        const double error = log2_of_error(Name::exact(p.a, p.b), y);
        ASSERT_LE(error, -90) << f.name << '(' << p.a << ", " << p.b << ") as " << sizeof(T) << " bytes, point " << i;
        worst = std::max(worst, error);
    }
    std::printf("%s of %zu bytes: 2^%.0f\n", f.name.data(), sizeof(T), worst);
}

#define GRIDFOLD_FUNCTION(name, operands, low, high, step, most_f32, most_f64) \
    TEST(Reference, agrees_with_mpfr_on_##name) {                              \
        const Function& f = *gf::test::find_function(#name);                   \
        check<gf::test::name##_name, float>(f, 10'000, mpfr_##name);           \
        check<gf::test::name##_name, double>(f, 20'000, mpfr_##name);          \
    }
#include "functions/functions.def"
#undef GRIDFOLD_FUNCTION

} // namespace
