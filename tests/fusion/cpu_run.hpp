// Shared by tests of the CPU backend: a plan bound to memory by name, the canonical order, elements that reveal errors,
// and settings.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <omp.h>

#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/fusion/order.hpp>
#include <gridfold/ops/device/monoid.cuh>
#include <gridfold/ops/expr.hpp>
#include <gridfold/ops/fold_traits.hpp>

#include "environment.hpp"
#include "host_kernels/kernels.hpp"

namespace gf::test {

using namespace plan;

using gf::cpu::InstructionSet;

/// Sets OpenMP's number of threads while it lives.
class ThreadCount {
public:
    explicit ThreadCount(int n) : saved_(omp_get_max_threads()) { omp_set_num_threads(n); }
    ~ThreadCount() { omp_set_num_threads(saved_); }
    ThreadCount(const ThreadCount&) = delete;
    ThreadCount& operator=(const ThreadCount&) = delete;

private:
    int saved_;
};

inline std::vector<const char*> sets_of_this_machine() {
    std::vector<const char*> names{"baseline"};
    if (gf::cpu::has(InstructionSet::avx2)) names.push_back("avx2");
    if (gf::cpu::has(InstructionSet::avx512)) names.push_back("avx512");
    return names;
}

/// A graph's plan, bound to memory by name and run.
class BoundPlan {
public:
    explicit BoundPlan(const gf::Graph& graph)
        : plan_(std::make_shared<gf::Plan>(gf::fuse(graph))), build_(gf::build_cpu(plan_, {})),
          runner_(build_->runner()) {
        bound_.extents.resize(plan_->dims.size());
        bound_.arrays.resize(plan_->arrays.size());
        bound_.parameters.resize(plan_->parameters.size());
    }
    BoundPlan& extent(std::string_view name, std::int64_t extent) {
        bound_.extents[find(plan_->dims, name)] = extent;
        return *this;
    }
    BoundPlan& array(std::string_view name, const void* address) {
        bound_.arrays[find(plan_->arrays, name)].address = const_cast<void*>(address);
        return *this;
    }
    BoundPlan& parameter(std::string_view name, std::uint64_t bits) {
        bound_.parameters[find(plan_->parameters, name)] = bits;
        return *this;
    }
    BoundPlan& now() {
        scalars_.assign(plan_->scalars.size(), {});
        runner_->bind(bound_);
        runner_->run(scalars_, {});
        return *this;
    }
    gf::ScalarResult scalar(std::string_view name) const {
        return scalars_[plan_->outputs[find(plan_->outputs, name)].scalar.index()];
    }
    template <class T> T get(std::string_view name) const {
        T value;
        const std::uint64_t bits = scalar(name).bits;
        std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
        return value;
    }
    const gf::Plan& plan() const { return *plan_; }
    std::string device() const { return build_->device(); }

private:
    template <class Named> static std::size_t find(const std::vector<Named>& all, std::string_view name) {
        for (std::size_t i = 0; i < all.size(); ++i)
            if (all[i].name == name) return i;
        ADD_FAILURE() << "no " << name;
        return 0;
    }
    std::shared_ptr<const gf::Plan> plan_;
    std::shared_ptr<const gf::Build> build_;
    std::unique_ptr<gf::Runner> runner_;
    gf::Bound bound_;
    std::vector<gf::ScalarResult> scalars_;
};

/// An optional mask.
struct Mask {
    const bool* keep = nullptr;
    bool operator()(std::int64_t i) const { return keep == nullptr || keep[i]; }
};

/// A fold in the canonical order of order.hpp.
/// x[i]: element i, as Operands gives it for monoids of several operands.
template <class M, class X> typename M::State canonical(const X& x, std::int64_t n, Mask mask) {
    constexpr bool of_block = requires { typename M::OfBlock; };
    const std::int64_t blocks = gf::block_count(n);
    const auto pairwise = [](std::vector<typename M::State>& states) {
        for (std::size_t d = 1; d < states.size(); d *= 2)
            for (std::size_t i = 0; i + d < states.size(); i += 2 * d) M::combine(states[i], states[i + d]);
        return states[0];
    };
    std::vector<typename M::State> of_blocks;
    for (std::int64_t block = 0; block < blocks; ++block) {
        std::vector<typename M::State> lanes;
        for (std::int64_t lane = block * gf::slab_elements; lane < (block + 1) * gf::slab_elements; ++lane) {
            const std::int64_t stride = blocks * gf::slab_elements;
            if constexpr (of_block)
                if (mask.keep == nullptr) {
                    const auto origin = device::origin_of<M>(x[block * gf::slab_elements]);
                    typename M::OfBlock::State state = M::OfBlock::identity();
                    for (std::int64_t i = lane; i < n; i += stride)
                        device::accumulate_in<typename M::OfBlock>(state, x[i], origin);
                    lanes.push_back(M::close(state, origin, lane < n ? (n - lane + stride - 1) / stride : 0));
                    continue;
                }
            typename M::State& state = lanes.emplace_back(M::identity());
            for (std::int64_t i = lane; i < n; i += stride)
                if (mask(i)) device::accumulate_in<M>(state, x[i], i);
        }
        of_blocks.push_back(pairwise(lanes));
    }
    return pairwise(of_blocks);
}

/// What a monoid of several operands, or of a payload, takes of element i.
template <class M, class E, class Second> struct Operands {
    const E* x;
    const Second* y;
    auto operator[](std::int64_t i) const {
        if constexpr (device::operand_count<M> == 1)
            return device::payload_of(x[i]);
        else if constexpr (requires { typename M::Payload; })
            return device::Two<E, std::uint64_t>{x[i], device::payload_of(y[i])};
        else
            return device::Two<E, Second>{x[i], y[i]};
    }
};

/// The bits of an element, the same for each NaN.
inline std::uint64_t bits_of_element(const std::byte* at, DType type) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, at, size_of(type));
    float narrow = 0;
    double wide = 0;
    if (type == DType::f32) std::memcpy(&narrow, at, sizeof narrow);
    if (type == DType::f64) std::memcpy(&wide, at, sizeof wide);
    const bool is_nan = std::isnan(narrow) || std::isnan(wide);
    return is_nan ? ~std::uint64_t{0} : bits;
}

/// Elements whose fold changes with a wrong order, a lost element or a wrong rounding.
template <class E> struct Elements {
    explicit Elements(std::size_t n, unsigned seed = 1) : memory(new E[n]) {
        std::mt19937_64 random(seed);
        for (std::size_t i = 0; i < n; ++i) {
            if constexpr (std::is_same_v<E, bool>)
                memory[i] = random() % 8 != 0;
            else if constexpr (std::is_floating_point_v<E>)
                memory[i] = static_cast<E>(std::ldexp(static_cast<double>(random()) - 0x1p63, -60));
            else
                memory[i] = static_cast<E>(random());
        }
    }
    E* data() const { return memory.get(); }
    E& operator[](std::int64_t i) const { return memory[static_cast<std::size_t>(i)]; }
    std::unique_ptr<E[]> memory;
};

} // namespace gf::test
