// Long use of one executable: many host threads and streams at once, and many replays of one Prepared whose pointers
// and extents change. Sums of integers, so that the right result of every run is known.
#include <atomic>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "fusion/device_scale.hpp"

namespace gf {
namespace {

using test::scaled;

constexpr int device = 0;

/// Element i is i mod 1000 + more.
std::vector<std::int32_t> numbers(std::size_t n, int more) {
    std::vector<std::int32_t> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<std::int32_t>(i % 1000) + more;
    return x;
}

class DeviceNumbers {
public:
    explicit DeviceNumbers(const std::vector<std::int32_t>& x) : buffer_(device, x.size() * sizeof(std::int32_t)) {
        const CurrentDevice current(device);
        const Stream stream(device, StreamKind::independent);
        copy_to_device(buffer_.address(), x.data(), buffer_.bytes(), stream);
        stream.wait();
        sums_.push_back(0);
        for (const std::int32_t element : x) sums_.push_back(sums_.back() + element);
    }
    View view(std::size_t first, std::size_t count) const {
        return device_view(static_cast<const std::int32_t*>(buffer_.address()) + first,
                           {static_cast<std::int64_t>(count)});
    }
    std::int64_t sum(std::size_t first, std::size_t count) const { return sums_[first + count] - sums_[first]; }

private:
    DeviceBuffer buffer_;
    std::vector<std::int64_t> sums_;
};

class Stress : public ::testing::Test {
protected:
    void SetUp() override {
        if (const std::string reason = cuda_unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    }
    /// Two sweeps: the second adds the first one's scalar to each element.
    static Executable compiled() {
        return compile(parse("s(x: i32[n], k: i64) let total = sum(x); "
                             "-> total = total, scaled = sum(x * k), shifted = sum(x + total)"),
                       {.device = "cuda"});
    }
    static bool is_right(const Results& r, std::int64_t sum, std::size_t count, std::int64_t k) {
        return r.get<std::int64_t>("total") == sum && r.get<std::int64_t>("scaled") == sum * k &&
               r.get<std::int64_t>("shifted") == sum + static_cast<std::int64_t>(count) * sum;
    }
};

TEST_F(Stress, eight_threads_with_four_streams_each_share_an_executable) {
    const Executable exe = compiled();
    const std::size_t n = scaled(std::size_t{1'000'000});
    const DeviceNumbers x(numbers(n, 1));
    std::atomic<int> wrong = 0;
    const auto work = [&](unsigned thread) {
        std::mt19937 random(thread);
        std::vector<Stream> streams;
        std::vector<Prepared> prepared;
        for (int i = 0; i < 4; ++i) {
            streams.emplace_back(device, i % 2 == 0 ? StreamKind::independent : StreamKind::ordered_with_default);
            prepared.push_back(exe.prepare({{"x", x.view(0, n)}, {"k", 1}}));
        }
        for (int round = 0; round < scaled(500); ++round) {
            std::vector<std::pair<std::size_t, std::size_t>> ranges;
            for (std::size_t i = 0; i < 4; ++i) {
                const std::size_t first = random() % n, count = random() % (n - first);
                ranges.emplace_back(first, count);
                prepared[i].rebind("x", x.view(first, count));
                prepared[i].rebind("k", round);
                prepared[i].enqueue(streams[i]);
            }
            const auto [first, count] = ranges[random() % 4];
            if (!is_right(exe.run({{"x", x.view(first, count)}, {"k", 3}}), x.sum(first, count), count, 3)) ++wrong;
            for (std::size_t i = 0; i < 4; ++i)
                if (!is_right(prepared[i].results(), x.sum(ranges[i].first, ranges[i].second), ranges[i].second, round))
                    ++wrong;
        }
    };
    {
        std::vector<std::jthread> threads;
        for (unsigned t = 0; t < 8; ++t) threads.emplace_back(work, t);
    }
    EXPECT_EQ(wrong, 0);
}

TEST_F(Stress, a_prepared_is_replayed_with_changing_pointers_and_extents) {
    const std::size_t n = scaled(std::size_t{3'000'000});
    const DeviceNumbers x(numbers(n, -3)), y(numbers(n, 500));
    Prepared prepared = compiled().prepare({{"x", x.view(0, n)}, {"k", 1}});
    std::mt19937 random(7);
    for (int i = 0; i < (test::is_emulated() ? 400 : 100'000); ++i) {
        // Mostly small, so that grids grow and shrink; any element may be the first.
        const std::size_t longest = random() % 20 == 0 ? n : std::min<std::size_t>(n, 40'000);
        const std::size_t count = random() % longest, first = random() % (n - count);
        const DeviceNumbers& from = random() % 2 == 0 ? x : y;
        prepared.rebind("x", from.view(first, count));
        if (i % 3 == 0) prepared.rebind("k", i);
        ASSERT_TRUE(is_right(prepared.run(), from.sum(first, count), count, i / 3 * 3))
            << "replay " << i << ", " << count << " elements from " << first;
    }
}

} // namespace
} // namespace gf
