// The canonical order: the number of blocks for a number of elements, which determines every reduction's bits.
#include <gtest/gtest.h>

#include <gridfold/fusion/order.hpp>

namespace {

using gf::block_count;

TEST(Order, blocks_follow_from_the_number_of_elements) {
    EXPECT_EQ(block_count(0), 1);
    EXPECT_EQ(block_count(5 * 2048), 1);
    EXPECT_EQ(block_count(5 * 2048 + 1), 3);
    EXPECT_EQ(block_count(6 * 2048 + 1), 4);
    EXPECT_EQ(block_count(254 * 2048), 127);
    EXPECT_EQ(block_count(255 * 2048), 128);
    EXPECT_EQ(block_count(1 << 20), 128);
    EXPECT_EQ(block_count(1032 * 2048), 129);
    EXPECT_EQ(block_count(1 << 22), 256);
    EXPECT_EQ(block_count(std::int64_t{1} << 40), 256);
}

TEST(Order, a_fold_has_the_lanes_of_a_slab_in_each_block) {
    static_assert(gf::order_version == 1 && gf::function_version == 1);
    EXPECT_EQ(gf::fold_order(1 << 22), (gf::FoldOrder{2048, 256}));
    EXPECT_EQ(gf::fold_order(3), (gf::FoldOrder{2048, 1}));
}

} // namespace
