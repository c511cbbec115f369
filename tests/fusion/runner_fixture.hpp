// What tests of the CUDA runner on the emulated device share: numbers in host and device memory, and their bindings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/capture.hpp>
#include <gridfold/fusion/backend.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>

#include "emulator/device/emulated.hpp"

namespace gf::test {

using Numbers = std::vector<std::int32_t>;

inline Numbers numbers(std::size_t n, std::int32_t first = 1) {
    Numbers x(n);
    std::iota(x.begin(), x.end(), first);
    return x;
}
inline std::int64_t total_of(std::span<const std::int32_t> x) {
    return std::accumulate(x.begin(), x.end(), std::int64_t{0});
}

/// Device memory, which the host can read on the emulated device.
class DeviceNumbers {
public:
    explicit DeviceNumbers(const Numbers& x) : buffer_(0, x.size() * sizeof(std::int32_t)), size_(x.size()) {
        std::copy(x.begin(), x.end(), data());
    }
    std::int32_t* data() const { return static_cast<std::int32_t*>(buffer_.address()); }
    std::size_t size() const { return size_; }
    operator std::span<const std::int32_t>() const { return {data(), size_}; }

private:
    DeviceBuffer buffer_;
    std::size_t size_;
};

inline BoundArray bound(const DeviceNumbers& x) { return {x.data(), Memory::device}; }
inline BoundArray bound(Numbers& x) { return {x.data(), Memory::host}; }

/// Bindings of extent x.size(), and an array output if given.
template <class X> Bound bindings(X& x) { return {{static_cast<std::int64_t>(x.size())}, {bound(x)}, {}, {}}; }
template <class X> Bound bindings(X& x, X& out) {
    return {{static_cast<std::int64_t>(x.size())}, {bound(x), bound(out)}, {}, {}};
}
inline std::int64_t run(Runner& runner, int scalars) {
    std::vector<ScalarResult> results(static_cast<std::size_t>(scalars));
    runner.run(results, {});
    return static_cast<std::int64_t>(results[0].bits);
}

class RunnerCuda : public emulator::OnEmulatedDevice {
protected:
    void TearDown() override {
        sums.reset();
        shifts.reset();
        release_retired();
        OnEmulatedDevice::TearDown();
    }
    static std::shared_ptr<const Build> build(const char* text) {
        return build_cuda(std::make_shared<const Plan>(fuse(parse(text))), 0, {});
    }
    std::unique_ptr<Runner> sum_runner() {
        if (!sums) sums = build("s(x: i32[n]) -> total = sum(x)");
        return sums->runner();
    }
    /// Two sweeps: the sum, and a map that uses it.
    std::unique_ptr<Runner> shift_runner() {
        if (!shifts) shifts = build("s(x: i32[n]) let total = sum(x); -> total = total, out = x + i32(total)");
        return shifts->runner();
    }
    static std::int64_t sum(Runner& runner) { return run(runner, 1); }

    std::shared_ptr<const Build> sums, shifts;
};

} // namespace gf::test
