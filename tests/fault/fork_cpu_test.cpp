// A process forks between compiling and running: the child runs on the calling thread alone, gives the same bits and
// ends; the parent is unaffected.
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <span>
#include <vector>

#include <sys/mman.h>

#include <gtest/gtest.h>
#include <omp.h>

#include <gridfold/gridfold.hpp>

#include "fault/child.hpp"

namespace gf::fault {
namespace {

constexpr const char* text =
    "f(x: f32[n]) let d = x - mean(x); -> z = d / stddev(x), s = sum(d * d), c = count(x > 0.5)";
const Options on_cpu{.device = "cpu"};

std::vector<float> elements() {
    std::vector<float> x(1'000'003);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 1009) / 1009.0F;
    return x;
}

bool same_bits(const Results& a, const Results& b) {
    for (const std::size_t scalar : {1, 2})
        if (a.entries()[scalar].bits != b.entries()[scalar].bits) return false;
    const auto x = a.span<float>("z"), y = b.span<float>("z");
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size_bytes()) == 0;
}

std::ptrdiff_t thread_count() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

class Fork : public ::testing::Test {
protected:
    Fork() { omp_set_num_threads(4); }
    const std::vector<float> x = elements();
    const Executable exe = compile(parse(text), on_cpu);
};

TEST_F(Fork, before_the_first_run_gives_the_bits_of_the_parent) {
    // The child's result is in shared memory.
    const std::size_t bytes = x.size() * sizeof(float);
    void* const shared = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    const std::span<float> z(static_cast<float*>(shared), x.size());
    expect_in_child([&] {
        exe.run({{"x", x}}, {{"z", z}});
        return thread_count() == 1 && exe.device().ends_with("1 thread)");
    });
    const Results here = exe.run({{"x", x}});
    EXPECT_EQ(std::memcmp(here.span<float>("z").data(), shared, bytes), 0);
    munmap(shared, bytes);
}

TEST_F(Fork, between_runs_gives_the_bits_of_the_parent_on_one_thread) {
    Prepared prepared = exe.prepare({{"x", x}});
    const Results before = exe.run({{"x", x}});
    prepared.run();
    ASSERT_GT(thread_count(), 1) << "the parent has threads";
    expect_in_child([&] {
        const bool same = same_bits(exe.run({{"x", x}}), before) && same_bits(prepared.run(), before) &&
                          same_bits(exe.prepare({{"x", x}}).run(), before) &&
                          same_bits(compile(parse(text), on_cpu).run({{"x", x}}), before);
        prepared.rebind("x", View(std::span(x).first(x.size() / 2)));
        prepared.run();
        prepared.rebind("x", View(std::span(x)));
        return same && same_bits(prepared.run(), before) && thread_count() == 1;
    });
    EXPECT_TRUE(same_bits(exe.run({{"x", x}}), before));
    EXPECT_TRUE(same_bits(prepared.run(), before));
    EXPECT_GT(thread_count(), 1);
}

TEST_F(Fork, runs_many_that_were_prepared_before) {
    const Results before = exe.run({{"x", x}});
    PreparedMany many = exe.prepare_many(std::vector<Bindings>(20, {{"x", x}}));
    (void)many.run();
    expect_in_child([&] { return same_bits(many.run()[19], before); });
}

TEST_F(Fork, of_a_fork_gives_the_bits_too) {
    const Results before = exe.run({{"x", x}});
    expect_in_child([&] {
        const pid_t grandchild = fork();
        if (grandchild == 0) _exit(same_bits(exe.run({{"x", x}}), before) ? 0 : 1);
        int status = -1;
        return waitpid(grandchild, &status, 0) == grandchild && status == 0 && same_bits(exe.run({{"x", x}}), before);
    });
}

} // namespace
} // namespace gf::fault
