// The results of folds over some dims, computed from the order as docs/numerics.md states it: neither by the kernels
// nor from what plans say of it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <gridfold/fusion/order.hpp>
#include <gridfold/ops/device/monoid.cuh>

namespace gf::emulator {

using device::f32;
using device::f64;
using device::i64;
using Sums = device::Sum<f32, f32>;
using Places = device::ArgMax<f32, f32>;
using Spread = device::Moments<f32, f64>;

/// Dims of which the even ones are folded and the odd ones are kept, in a batch.
struct Domain {
    i64 batch;
    std::vector<i64> extents;
};

/// The numbers of the order, from its definition.
struct Order1 {
    std::vector<i64> box, chunks;
    i64 parts, slabs, blocks, results;
    std::size_t cut = 0;
    bool is_one_slab = true;

    explicit Order1(const Domain& domain) : box(domain.extents), chunks(domain.extents.size(), 1) {
        const std::vector<i64>& extents = domain.extents;
        i64 inner = 1;
        std::size_t d = extents.size();
        while (d > 0 && inner * extents[d - 1] <= 2048) inner *= extents[--d];
        if (d > 0) {
            is_one_slab = false;
            cut = d - 1;
            box[cut] = i64(std::bit_floor(std::uint64_t(2048 / inner)));
            chunks[cut] = (extents[cut] + box[cut] - 1) / box[cut];
            for (std::size_t i = 0; i < cut; ++i) box[i] = 1, chunks[i] = extents[i];
        }
        parts = domain.batch, slabs = 1, results = domain.batch;
        i64 side = 1, elements = 1;
        for (std::size_t i = 0; i < extents.size(); ++i) {
            (i % 2 ? parts : slabs) *= chunks[i];
            if (i > 0) side *= chunks[i];
            if (i % 2)
                results *= extents[i];
            else
                elements *= extents[i];
        }
        if (elements == 0 || results == 0) slabs = 0;
        blocks = extents.size() == 1 ? block_count(elements) : std::max<i64>(1, std::min(256 / side, slabs / 16));
    }
};

struct Result {
    f32 sum;
    i64 at;
    f64 variance;
    f32 masked;
};

template <class M> using Lanes = std::map<i64, typename M::State>;

/// Combines neighbours pairwise by number, lowest bit first.
template <class M> typename M::State pairwise(Lanes<M> lanes) {
    if (lanes.empty()) return M::identity();
    while (lanes.size() > 1 || lanes.begin()->first > 0) {
        Lanes<M> half;
        for (const auto& [number, state] : lanes) {
            const auto [at, is_new] = half.try_emplace(number / 2, state);
            if (!is_new) M::combine(at->second, state);
        }
        lanes = half;
    }
    return lanes.begin()->second;
}

/// The folds of one block of one result.
struct Block {
    Lanes<Sums> sums, masked;
    Lanes<Places> places;
    Lanes<Spread> spread;
    Lanes<Spread::OfBlock> of_block;
    f64 origin = 0, elements = 0;
};

inline std::vector<Result> expected(const Domain& domain, const std::vector<f32>& x) {
    const Order1 order(domain);
    const std::size_t rank = domain.extents.size();
    std::vector<std::map<i64, Block>> blocks(std::size_t(order.results));
    i64 all = 1;
    for (const i64 extent : domain.extents) all *= extent;
    for (i64 e = 0; e < domain.batch * all; ++e) {
        std::vector<i64> at(rank);
        i64 rest = e;
        for (std::size_t d = rank; d-- > 0; rest /= domain.extents[d]) at[d] = rest % domain.extents[d];
        i64 result = rest, index = 0, slab = 0, lane = 0;
        for (std::size_t d = 0; d < rank; ++d) {
            if (d % 2 == 1) {
                result = result * domain.extents[d] + at[d];
                continue;
            }
            index = index * domain.extents[d] + at[d];
            slab = slab * order.chunks[d] + at[d] / order.box[d];
            lane = lane * order.box[d] + at[d] % order.box[d];
        }
        Block& block = blocks[std::size_t(result)][slab % order.blocks];
        const f32 value = x[std::size_t(e)];
        if (block.elements++ == 0) block.origin = Spread::origin(value);
        Sums::accumulate(block.sums.try_emplace(lane, Sums::identity()).first->second, value, index);
        Places::accumulate(block.places.try_emplace(lane, Places::identity()).first->second, value, index);
        Spread::accumulate(block.spread.try_emplace(lane, Spread::identity()).first->second, value, index);
        Spread::OfBlock::accumulate(block.of_block.try_emplace(lane, Spread::OfBlock::identity()).first->second, value,
                                    block.origin);
        auto& masked = block.masked.try_emplace(lane, Sums::identity()).first->second;
        if (value > 0) Sums::accumulate(masked, value, index);
    }
    std::vector<Result> results;
    for (const auto& of_result : blocks) {
        Lanes<Sums> sums, masked;
        Lanes<Places> places;
        Lanes<Spread> spread;
        for (const auto& [number, block] : of_result) {
            sums[number] = pairwise<Sums>(block.sums);
            masked[number] = pairwise<Sums>(block.masked);
            places[number] = pairwise<Places>(block.places);
            spread[number] =
                rank == 1 ? Spread::close(pairwise<Spread::OfBlock>(block.of_block), block.origin, i64(block.elements))
                          : pairwise<Spread>(block.spread);
        }
        const auto state = pairwise<Spread>(spread);
        results.push_back({pairwise<Sums>(sums).sum, Places::index(pairwise<Places>(places)),
                           state.count == 0 ? 0 : Spread::variance(state, 0), pairwise<Sums>(masked).sum});
    }
    return results;
}

} // namespace gf::emulator
