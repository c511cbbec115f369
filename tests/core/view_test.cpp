// Views with strides: what they say, the bytes that they cover, and reading their elements in order.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/core/gather.hpp>
#include <gridfold/core/view.hpp>

#include "error/refusal.hpp"

#if __has_include(<mdspan>)
#include <mdspan>
#endif

namespace gf {
namespace {

constexpr auto most = std::numeric_limits<std::int64_t>::max(), least = std::numeric_limits<std::int64_t>::min();

TEST(Strides, hold_up_to_max_rank_numbers_of_any_sign) {
    const Strides strides{3, 0, -1};
    EXPECT_EQ(strides.rank(), 3);
    EXPECT_EQ(strides[2], -1);
    EXPECT_EQ(to_text(strides), "[3, 0, -1]");
    EXPECT_NE(strides, (Strides{3, 0}));
    test::expect_refused<InvalidBinding>([] { Strides({1, 1, 1, 1, 1, 1, 1, 1, 1}); }, {"9 strides", "at most 8 dims"});
}

TEST(Views, have_no_strides_unless_they_are_given_some) {
    std::vector<float> numbers(6);
    EXPECT_EQ(View(numbers).strides, Strides());
    EXPECT_EQ(view(numbers.data(), {2, 3}).strides, Strides());
    const Strides columns{1, 2};
    EXPECT_EQ(view(numbers.data(), {2, 3}, columns).strides, columns);
    EXPECT_EQ(host_view(numbers.data(), {2, 3}, {1, 2}).strides, columns);
    EXPECT_EQ(device_view(numbers.data(), {2, 3}, {1, 2}).strides, columns);
    EXPECT_EQ(host_view(numbers.data(), {2, 3}, {1, 2}).memory, Memory::host);
    EXPECT_EQ(device_view(numbers.data(), {2, 3}, {1, 2}).memory, Memory::device);
}

TEST(Views, are_contiguous_if_their_strides_are_those_of_row_major_order) {
    const auto is_contiguous = [](const Extents& extents, const Strides& strides) {
        return View(nullptr, DType::f32, extents, Memory::host, false, strides).is_contiguous();
    };
    EXPECT_TRUE(is_contiguous({4, 5}, {}));
    EXPECT_TRUE(is_contiguous({4, 5}, {5, 1}));
    EXPECT_FALSE(is_contiguous({4, 5}, {1, 4}));
    EXPECT_FALSE(is_contiguous({4, 5}, {6, 1}));
    EXPECT_FALSE(is_contiguous({4, 5}, {5, -1}));
    EXPECT_FALSE(is_contiguous({4, 5}, {0, 1}));
    EXPECT_FALSE(is_contiguous({4}, {2}));
    // Strides of extents 0 and 1 have no meaning.
    EXPECT_TRUE(is_contiguous({1, 5}, {-77, 1}));
    EXPECT_TRUE(is_contiguous({4, 1, 5}, {5, 1000, 1}));
    EXPECT_TRUE(is_contiguous({4, 1}, {1, least}));
    EXPECT_TRUE(is_contiguous({4, 0}, {9, 9}));
    EXPECT_TRUE(is_contiguous({}, {}));
    EXPECT_FALSE(is_contiguous({most, most, 2}, {1, 2, 1})); // without overflow
}

TEST(ByteRanges, are_those_from_the_first_to_the_last_element) {
    EXPECT_EQ(byte_range({4, 5}, {}, DType::f32), (ByteRange{0, 80}));
    EXPECT_EQ(byte_range({4, 5}, {1, 4}, DType::f32), (ByteRange{0, 80}));
    EXPECT_EQ(byte_range({4, 5}, {100, 2}, DType::f64), (ByteRange{0, 8 * 309}));
    EXPECT_EQ(byte_range({7}, {-3}, DType::i16), (ByteRange{-36, 2}));
    EXPECT_EQ(byte_range({4, 5}, {5, -1}, DType::u8), (ByteRange{-4, 16}));
    EXPECT_EQ(byte_range({4, 5}, {0, 0}, DType::u8), (ByteRange{0, 1}));
    EXPECT_EQ(byte_range({1, 3}, {least, 2}, DType::f32), (ByteRange{0, 20}));
    EXPECT_EQ(byte_range({4, 0}, {most, 1}, DType::f32), (ByteRange{0, 0}));
    EXPECT_EQ(byte_range({most, 0}, {}, DType::f32), (ByteRange{0, 0}));
    EXPECT_EQ(byte_range({}, {}, DType::f32), (ByteRange{0, 4}));
}

TEST(ByteRanges, that_no_memory_has_are_none) {
    constexpr std::int64_t half = std::int64_t{1} << 61;
    EXPECT_EQ(byte_range({most, 2}, {}, DType::u8), std::nullopt);
    EXPECT_EQ(byte_range({most}, {}, DType::i16), std::nullopt);
    EXPECT_EQ(byte_range({2}, {most}, DType::u8), std::nullopt);
    EXPECT_EQ(byte_range({2}, {least}, DType::u8), std::nullopt);
    EXPECT_EQ(byte_range({2}, {least}, DType::f64), std::nullopt);
    EXPECT_EQ(byte_range({3, 2}, {most / 2, 1}, DType::f64), std::nullopt);
    EXPECT_EQ(byte_range({2, 2}, {half, half}, DType::u8), std::nullopt);
    EXPECT_EQ(byte_range({2, 2}, {-half, half}, DType::u8), std::nullopt);
    EXPECT_EQ(byte_range({2}, {half}, DType::u8), (ByteRange{0, half + 1}));
    EXPECT_EQ(byte_range({2}, {-half}, DType::u8), (ByteRange{-half, 1}));
}

/// Element number `i` of a view of i32, by its coordinates.
std::int32_t element(const View& view, std::size_t i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t at = 0;
    for (int d = view.extents.rank() - 1; d >= 0; --d) {
        at += rest % view.extents[d] * view.strides[d];
        rest /= view.extents[d];
    }
    return static_cast<const std::int32_t*>(view.address)[at];
}

TEST(Gathers, read_any_elements_in_order) {
    std::vector<std::int32_t> memory(1000);
    std::iota(memory.begin(), memory.end(), 0);
    const std::int32_t* const middle = memory.data() + 500;
    for (const View& array :
         {view(middle, {4, 5}, {1, 4}), view(middle, {4, 5, 6}, {30, 6, 1}), view(middle, {4, 5, 6}, {1, 24, 4}),
          view(middle, {3, 4, 5}, {-40, 10, -2}), view(middle, {7, 9}, {0, -1}), view(middle, {7, 9}, {11, 0}),
          view(middle, {1, 6, 1, 8, 1}, {5, 8, 5, 1, 5}), view(middle, {100}, {-5}),
          view(middle, {2, 3, 2, 3}, {3, 1, 30, -6}), view(middle, {5, 5}, {5, 1}), view(middle, {1, 1}, {3, 4})}) {
        const std::size_t count = element_count(array.extents);
        const Walk order = walk(array);
        for (const std::size_t first : {std::size_t{0}, std::size_t{1}, count / 2, count - 1}) {
            std::vector<std::int32_t> out(count - first, -1);
            gather(out.data(), array.address, sizeof(std::int32_t), order, static_cast<std::int64_t>(first),
                   out.size());
            for (std::size_t i = 0; i < out.size(); ++i)
                ASSERT_EQ(out[i], element(array, first + i))
                    << to_text(array.extents) << " with strides " << to_text(array.strides) << " from " << first;
        }
    }
}

TEST(Gathers, merge_dims_that_one_stride_covers) {
    std::int8_t element = 0;
    EXPECT_EQ(walk(view(&element, {4, 5, 6}, {60, 12, 2})).rank, 1);
    EXPECT_EQ(walk(view(&element, {4, 5, 6}, {-30, -6, -1})).rank, 1);
    EXPECT_EQ(walk(view(&element, {4, 5, 6}, {0, 0, 0})).rank, 1);
    EXPECT_EQ(walk(view(&element, {4, 5, 6}, {31, 6, 1})).rank, 2);
    EXPECT_EQ(walk(view(&element, {4, 5, 6}, {1, 4, 20})).rank, 3);
    EXPECT_EQ(walk(view(&element, {4, 5, 6})).rank, 1);
}

/// As std::mdspan with std::layout_stride.
template <class T, std::size_t Rank, class Reference = T&> struct Span {
    using element_type = T;
    using reference = Reference;
    T* pointer = nullptr;
    std::array<int, Rank> extents{}, strides{};
    static constexpr std::size_t rank() { return Rank; }
    int extent(std::size_t r) const { return extents[r]; }
    int stride(std::size_t r) const { return strides[r]; }
    T* data_handle() const { return pointer; }
};

TEST(Views, take_strided_spans) {
    std::vector<double> numbers(20);
    const Span<double, 2> transposed{numbers.data(), {5, 4}, {1, 5}};
    const View of_span = transposed;
    EXPECT_EQ(of_span.address, numbers.data());
    EXPECT_EQ(of_span.type, DType::f64);
    EXPECT_EQ(of_span.extents, (Extents{5, 4}));
    EXPECT_EQ(of_span.strides, (Strides{1, 5}));
    EXPECT_EQ(of_span.memory, Memory::unknown);
    EXPECT_TRUE(of_span.writable);
    EXPECT_FALSE(View(Span<const double, 1>{numbers.data(), {7}, {-2}}).writable); // a temporary span
    EXPECT_EQ(View(Span<double, 0>{numbers.data(), {}, {}}).extents.rank(), 0);
    // An accessor that computes elements: the pointer's are others.
    static_assert(!std::is_convertible_v<Span<double, 1, double>, View>);
    static_assert(!std::is_convertible_v<Extents, View>);
    test::expect_refused<InvalidBinding>([&] { View(Span<double, 9>{numbers.data(), {}, {}}); }, {"9 extents"});
}

#if defined(__cpp_lib_mdspan)
TEST(Views, take_the_standard_librarys_spans) {
    std::vector<float> numbers(12);
    const View rows = std::mdspan(numbers.data(), 3, 4);
    EXPECT_TRUE(rows.is_contiguous());
    const View columns = std::mdspan(numbers.data(), std::layout_left::mapping(std::extents(3, 4)));
    EXPECT_EQ(columns.extents, (Extents{3, 4}));
    EXPECT_EQ(columns.strides, (Strides{1, 3}));
}
#endif

} // namespace
} // namespace gf
