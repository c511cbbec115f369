// The canonical order: the geometry that determines every reduction's bits, against an enumeration of all elements that
// follows the text of order.hpp one element at a time.
#include <algorithm>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/fusion/order.hpp>

namespace {

using gf::block_count, gf::fold_order, gf::FoldOrder;

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
    static_assert(gf::order_version == 1 && gf::function_version == 3);
    constexpr FoldOrder large = fold_order(1 << 22), small = fold_order(3);
    static_assert(large.lanes == 2048 && large.blocks == 256 && large.parts == 1 && large.slabs == 2048);
    static_assert(small.lanes == 3 && small.blocks == 1 && small.parts == 1 && small.slabs == 1);
}

using Extents = std::vector<std::int64_t>;

/// Where an element is folded.
struct Where {
    std::int64_t result, part, slab, lane, index;
    friend bool operator==(const Where&, const Where&) = default;
};

std::int64_t product(const Extents& extents) {
    std::int64_t n = 1;
    for (const std::int64_t extent : extents) n *= extent;
    return n;
}

/// The place of every element, by the text: coordinates of the original dims, never of merged ones.
std::vector<Where> enumerate(const Extents& extents, const std::vector<bool>& kept) {
    const std::size_t rank = extents.size();
    std::size_t first = 0; // the first dim that is not of the batch
    while (first < rank && kept[first]) ++first;
    // Whole inner groups of neighbouring dims of one kind, then the cut group.
    std::size_t cut_end = rank, cut_begin = rank;
    std::int64_t inner = 1;
    while (cut_end > first) {
        cut_begin = cut_end - 1;
        while (cut_begin > first && kept[cut_begin - 1] == kept[cut_end - 1]) --cut_begin;
        const std::int64_t group = product({extents.begin() + static_cast<std::ptrdiff_t>(cut_begin),
                                            extents.begin() + static_cast<std::ptrdiff_t>(cut_end)});
        if (inner * group > 2048) break;
        inner *= group;
        cut_end = cut_begin;
    }
    const bool has_cut = cut_end > first;
    std::int64_t chunk = 1;
    while (chunk * 2 * inner <= 2048) chunk *= 2;

    std::vector<Where> places;
    std::map<std::vector<std::int64_t>, std::int64_t> parts;
    for (std::int64_t e = 0; e < product(extents); ++e) {
        Extents at(rank);
        for (std::int64_t left = e, d = static_cast<std::int64_t>(rank) - 1; d >= 0; --d) {
            at[static_cast<std::size_t>(d)] = left % extents[static_cast<std::size_t>(d)];
            left /= extents[static_cast<std::size_t>(d)];
        }
        Where where{0, 0, 0, 0, 0};
        std::vector<std::int64_t> part;
        std::int64_t of_cut = 0, cut_extent = 1;
        for (std::size_t d = 0; d < rank; ++d) {
            std::int64_t& number = kept[d] ? where.result : where.index;
            number = number * extents[d] + at[d];
            const bool outside = !has_cut ? d < first : d < cut_begin;
            if (outside && kept[d]) part.push_back(at[d]);
            if (outside && !kept[d]) where.slab = where.slab * extents[d] + at[d];
            if (has_cut && d >= cut_begin && d < cut_end) {
                of_cut = of_cut * extents[d] + at[d];
                cut_extent *= extents[d];
            }
            const bool inside = has_cut ? d >= cut_end : d >= first;
            if (inside && !kept[d]) where.lane = where.lane * extents[d] + at[d];
        }
        if (has_cut) {
            const std::int64_t chunks = (cut_extent + chunk - 1) / chunk;
            if (kept[cut_begin]) {
                part.push_back(of_cut / chunk);
            } else {
                where.slab = where.slab * chunks + of_cut / chunk;
                std::int64_t lanes_inside = 1;
                for (std::size_t d = cut_end; d < rank; ++d) lanes_inside *= kept[d] ? 1 : extents[d];
                where.lane += of_cut % chunk * lanes_inside;
            }
        }
        where.part = parts.try_emplace(part, static_cast<std::int64_t>(parts.size())).first->second;
        places.push_back(where);
    }
    // Parts are numbered by coordinates, row-major; a std::map iterates in that order.
    std::vector<std::int64_t> number(parts.size());
    std::int64_t next = 0;
    for (const auto& [coordinates, met] : parts) number[static_cast<std::size_t>(met)] = next++;
    for (Where& where : places) where.part = number[static_cast<std::size_t>(where.part)];
    return places;
}

unsigned bits(const std::vector<bool>& kept) {
    unsigned set = 0;
    for (std::size_t d = 0; d < kept.size(); ++d) set |= kept[d] ? 1U << d : 0U;
    return set;
}

FoldOrder order_of(const Extents& extents, const std::vector<bool>& kept) {
    return fold_order(extents.data(), static_cast<int>(extents.size()), bits(kept));
}

void expect_enumerated(const Extents& extents, const std::vector<bool>& kept) {
    const FoldOrder order = order_of(extents, kept);
    const std::vector<Where> expected = enumerate(extents, kept);
    std::vector<Where> found(expected.size(), Where{-1, -1, -1, -1, -1});
    std::int64_t seen = 0, next_result = 0;
    for (std::int64_t p = 0; p < order.parts; ++p) {
        const gf::PartOfOrder part = part_of(order, p);
        ASSERT_EQ(part.result, next_result);
        next_result += part.results;
        for (std::int64_t s = 0; s < order.slabs; ++s) {
            const gf::SlabOfOrder slab = slab_of(order, part, s);
            ASSERT_LE(slab.elements, gf::slab_elements);
            for (std::int64_t i = 0; i < slab.elements; ++i) {
                const gf::PositionOfOrder at = position_of(order, i);
                ASSERT_LT(at.lane, order.lanes);
                ASSERT_LT(at.result, part.results);
                found.at(static_cast<std::size_t>(slab.element + i)) = {part.result + at.result, p, s, at.lane,
                                                                        slab.index + at.lane};
                ++seen;
            }
        }
    }
    EXPECT_EQ(next_result, order.results);
    EXPECT_EQ(seen, product(extents));
    EXPECT_TRUE(found == expected);
}

TEST(Order, every_element_has_the_place_that_the_text_gives_it) {
    constexpr bool keep = true, fold = false;
    // rows
    for (const std::int64_t n : {1, 64, 2047, 2048, 2049, 5000}) expect_enumerated({7, n}, {keep, fold});
    // columns
    for (const std::int64_t width : {1, 8, 64, 256, 1024, 2047, 2048, 2049, 4096})
        for (const std::int64_t n : {1, 7, 33, 300}) expect_enumerated({n, width}, {fold, keep});
    expect_enumerated({3, 131071}, {fold, keep});
    // channels
    expect_enumerated({2, 9, 11, 3}, {fold, fold, fold, keep});
    expect_enumerated({50, 9, 11, 3}, {fold, fold, fold, keep});
    for (const std::int64_t pixels : {49, 3136}) {
        expect_enumerated({5, 3, pixels}, {fold, keep, fold});
        expect_enumerated({4, 70, pixels}, {fold, keep, fold});
    }
    // several kept and folded dims
    expect_enumerated({3, 4, 5, 6}, {fold, keep, fold, keep});
    expect_enumerated({3, 40, 5, 60}, {fold, keep, fold, keep});
    expect_enumerated({3, 40, 5, 60}, {keep, fold, keep, fold});
    expect_enumerated({2, 3, 4, 50, 6, 7}, {keep, fold, fold, keep, fold, keep});
    expect_enumerated({2, 3, 2, 3, 2, 3, 2, 300}, {fold, keep, fold, keep, fold, keep, fold, keep});
    expect_enumerated({2, 3, 2, 3, 2, 3, 300, 3}, {keep, keep, fold, keep, fold, keep, fold, keep});
    expect_enumerated({300, 1}, {fold, keep});
}

TEST(Order, rows_have_the_order_of_a_row) {
    for (const std::int64_t n : {1, 5000, 100000}) {
        const FoldOrder rows = order_of({1000, n}, {true, false}), row = fold_order(n);
        EXPECT_EQ(rows.parts, 1000);
        EXPECT_EQ(rows.slabs, row.slabs);
        EXPECT_EQ(rows.blocks, row.blocks);
        EXPECT_EQ(rows.lanes, row.lanes);
        EXPECT_EQ(rows.blocks, block_count(n));
    }
}

TEST(Order, the_batch_changes_only_the_number_of_parts) {
    const FoldOrder one = order_of({40, 5000, 3}, {true, false, true}), alone = order_of({5000, 3}, {false, true});
    FoldOrder same = alone;
    same.batch = one.batch, same.parts = one.parts, same.results = one.results;
    EXPECT_EQ(one, same);
    EXPECT_EQ(one.parts, 40 * alone.parts);
}

TEST(Order, slabs_are_the_largest_boxes_that_fit) {
    constexpr bool keep = true, fold = false;
    struct Case {
        Extents extents;
        std::vector<bool> kept;
        std::int64_t parts, slabs, blocks, results, lanes;
    };
    const Case cases[] = {
        {{100000, 8}, {fold, keep}, 1, 391, 48, 8, 256},        // 256 rows of 8
        {{100000, 256}, {fold, keep}, 1, 12500, 256, 256, 8},   // 8 rows of 256
        {{100000, 1024}, {fold, keep}, 1, 50000, 256, 1024, 2}, // 2 rows
        {{100000, 4096}, {fold, keep}, 2, 100000, 128, 2048, 1},
        {{1000, 131071}, {fold, keep}, 64, 1000, 4, 2048, 1},
        {{32, 100, 100, 3}, {fold, fold, fold, keep}, 1, 625, 78, 3, 512}, // 512 pixels
        {{64, 3, 3136}, {fold, keep, fold}, 3, 128, 16, 1, 2048},
        {{64, 512, 49}, {fold, keep, fold}, 16, 64, 8, 32, 49},                    // 32 channels
        {{256, 3, 1024, 1024}, {fold, keep, fold, fold}, 3, 131072, 128, 1, 2048}, // 85 blocks would not be precise
        {{64, 64, 65536}, {fold, keep, fold}, 64, 2048, 4, 1, 2048},
        {{20000, 1 << 20}, {fold, keep}, 512, 20000, 20, 2048, 1},
    };
    for (const Case& c : cases) {
        const FoldOrder order = order_of(c.extents, c.kept);
        SCOPED_TRACE(c.extents.back());
        EXPECT_EQ(order.parts, c.parts);
        EXPECT_EQ(order.slabs, c.slabs);
        EXPECT_EQ(order.blocks, c.blocks);
        EXPECT_EQ(order.slab_results, c.results);
        EXPECT_EQ(order.lanes, c.lanes);
    }
}

TEST(Order, domains_without_elements_have_results_without_slabs) {
    const FoldOrder empty_rows = order_of({5, 0}, {true, false}), no_rows = order_of({0, 5}, {true, false});
    EXPECT_EQ(empty_rows.parts, 5);
    EXPECT_EQ(empty_rows.slabs, 0);
    EXPECT_EQ(empty_rows.results, 5);
    EXPECT_EQ(part_of(empty_rows, 3).result, 3);
    EXPECT_EQ(no_rows.parts, 0);
    EXPECT_EQ(order_of({4000, 0, 3}, {false, false, true}).parts, 3);
    EXPECT_EQ(fold_order(0).parts, 1);
    EXPECT_EQ(fold_order(0).slabs, 0);
}

} // namespace
