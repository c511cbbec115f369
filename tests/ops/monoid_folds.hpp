// What tests of monoids share: folds of elements, and what holds of the folds of exact monoids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/core/device/prelude.cuh>

#include <gridfold/core/device/fold.cuh>
#include <gridfold/ops/device/monoid.cuh>

namespace gf::test {

namespace device = gf::device;
using std::int64_t, std::uint64_t, std::int32_t, std::int8_t, std::uint8_t;
template <class T> using Limits = std::numeric_limits<T>;
inline constexpr double inf = Limits<double>::infinity(), not_a_number = Limits<double>::quiet_NaN();

/// Folds elements [begin, end) of x from the identity.
template <class M, class E> typename M::State fold(const std::vector<E>& x, std::size_t begin, std::size_t end) {
    typename M::State s = M::identity();
    for (std::size_t i = begin; i < end; ++i) M::accumulate(s, x[i], static_cast<int64_t>(i));
    return s;
}
template <class M, class E> typename M::State fold(const std::vector<E>& x) { return fold<M>(x, 0, x.size()); }

template <class S> bool same_bytes(const S& a, const S& b) { return std::memcmp(&a, &b, sizeof(S)) == 0; }

/// Every split of x into two, folded separately and combined, equals the whole fold in bits; combining with the
/// identity on either side changes nothing.
template <class M, class E> void any_split_is_the_whole(const std::vector<E>& x) {
    const auto whole = fold<M>(x);
    for (std::size_t cut = 0; cut <= x.size(); ++cut) {
        auto s = fold<M>(x, 0, cut);
        M::combine(s, fold<M>(x, cut, x.size()));
        EXPECT_TRUE(same_bytes(s, whole)) << "split at " << cut;
        auto swapped = fold<M>(x, cut, x.size());
        M::combine(swapped, fold<M>(x, 0, cut));
        EXPECT_TRUE(same_bytes(swapped, whole)) << "split at " << cut << ", the later part first";
    }
}
inline const std::vector<float> mixed{3.0f, -0.0f, 0.0f, -7.5f, 1e30f, -7.5f, 0x1p-149f, 12.0f, 1e30f};

} // namespace gf::test
