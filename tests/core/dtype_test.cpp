// Element types and extents.
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/core/dtype.hpp>
#include <gridfold/core/view.hpp>

#include "error/refusal.hpp"

namespace gf {
namespace {

TEST(DTypes, read_back_from_their_names) {
    EXPECT_EQ(all_dtypes().size(), 13u);
    for (const DType type : all_dtypes()) EXPECT_EQ(dtype_from_text(to_text(type)), type);
    for (const char* text : {"", "f", "f320", "F32", "float", " f32"}) EXPECT_EQ(dtype_from_text(text), std::nullopt);
}

TEST(DTypes, know_their_size_and_kind) {
    for (const DType type : all_dtypes()) {
        EXPECT_EQ(with_type(type, [](auto zero) { return sizeof zero; }), size_of(type));
        EXPECT_EQ(is_floating(type) + is_integer(type) + (type == DType::boolean), 1) << to_text(type);
    }
    EXPECT_EQ(dtype_of<long long>, DType::i64);
    EXPECT_EQ(dtype_of<const unsigned long>, DType::u64);
}

TEST(Extents, hold_up_to_max_rank_numbers) {
    const std::vector<std::int64_t> eight{1, 2, 3, 4, 5, 6, 7, 8};
    const Extents extents{std::span(eight)};
    EXPECT_EQ(extents.rank(), 8);
    EXPECT_EQ(std::vector(extents.begin(), extents.end()), eight);
    EXPECT_EQ(to_text(extents), "[1, 2, 3, 4, 5, 6, 7, 8]");
    EXPECT_EQ(to_text(Extents()), "[]");
    EXPECT_EQ((Extents{3, -1}), (Extents{3, -1}));
    EXPECT_NE((Extents{3}), (Extents{3, 0}));
    test::expect_refused<InvalidBinding>([] { Extents({1, 1, 1, 1, 1, 1, 1, 1, 1}); }, {"9 extents", "at most 8 dims"});
}

TEST(Views, take_any_range_of_elements) {
    std::vector<float> numbers(5);
    const std::vector<double> constants(3);
    const View view = numbers, fixed = constants;
    EXPECT_EQ(view.address, numbers.data());
    EXPECT_EQ(view.type, DType::f32);
    EXPECT_EQ(view.extents, Extents{5});
    EXPECT_TRUE(view.writable);
    EXPECT_EQ(fixed.type, DType::f64);
    EXPECT_FALSE(fixed.writable);
    EXPECT_EQ(host_view(numbers.data(), {5, 1}).memory, Memory::host);
    EXPECT_EQ(device_view(numbers.data(), {5, 1}).memory, Memory::device);
}

} // namespace
} // namespace gf
