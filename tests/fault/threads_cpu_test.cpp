// Eight threads at once on one Executable, each also with its own Prepared: every answer has the same bits as a single
// run. Also built with ThreadSanitizer (the preset tsan).
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <gridfold/gridfold.hpp>

#include "fault/bits.hpp"

namespace gf::fault {
namespace {

constexpr std::size_t thread_count = 8;
constexpr int rounds = 12;

const Options on_cpu{.device = "cpu"};
constexpr const char* text = "f(x: f32[n], alpha: f32) let d = (x - mean(x)) * alpha; "
                             "-> z = d, s = sum(d * d where x > 0.25), top = max(x), at = argmax(x), v = variance(x)";

/// The work of one thread: its own elements and extent, so that mixed-up Prepareds give wrong answers.
struct Work {
    std::vector<float> x;
    float alpha;
    std::vector<std::uint64_t> right;
    explicit Work(std::size_t number) : x(40'000 + 3001 * number), alpha(static_cast<float>(number) + 0.5F) {
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i + number) * 7919 % 1009) / 1009.0F;
    }
    Bindings bindings() const { return {{"x", x}, {"alpha", alpha}}; }
};

class Threads : public ::testing::Test {
protected:
    Threads() {
        for (std::size_t i = 0; i < thread_count; ++i) {
            Work& one = work.emplace_back(i);
            one.right = bits_of(compile(parse(text), on_cpu).run(one.bindings()));
        }
    }
    /// Calls `body(work, wrong)` on every thread at once; `wrong` must stay 0.
    template <class Body> void on_all(Body&& body) {
        std::atomic<std::size_t> waiting = thread_count;
        std::array<int, thread_count> wrong{};
        std::vector<std::thread> threads;
        for (std::size_t t = 0; t < thread_count; ++t)
            threads.emplace_back([&, t] {
                --waiting;
                while (waiting > 0) std::this_thread::yield();
                body(work[t], wrong[t]);
            });
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(wrong, (std::array<int, thread_count>{}));
    }

    const Executable exe = compile(parse(text), on_cpu);
    std::vector<Work> work;
};

TEST_F(Threads, on_one_executable_get_the_bits_of_a_run_alone) {
    on_all([&](const Work& own, int& wrong) {
        std::vector<Results> held; // as many sets of memory as rounds
        for (int round = 0; round < rounds; ++round) held.push_back(exe.run(own.bindings()));
        for (const Results& results : held) wrong += bits_of(results) != own.right;
    });
}

TEST_F(Threads, with_a_prepared_each_get_the_bits_of_a_run_alone) {
    on_all([&](const Work& own, int& wrong) {
        Prepared prepared = exe.prepare(own.bindings());
        for (int round = 0; round < rounds; ++round) wrong += bits_of(prepared.run()) != own.right;
    });
}

TEST_F(Threads, that_run_prepare_rebind_and_compile_get_the_bits_of_a_run_alone) {
    on_all([&](const Work& own, int& wrong) {
        const Executable shared = exe; // copies share the plan
        Prepared prepared = shared.prepare(work[0].bindings());
        std::optional<Results> kept;
        for (int round = 0; round < rounds; ++round) {
            switch (round % 4) {
            case 0: wrong += bits_of(shared.run(own.bindings())) != own.right; break;
            case 1:
                prepared.rebind(own.bindings());
                kept = prepared.run();
                wrong += bits_of(*kept) != own.right;
                break;
            case 2:
                prepared.rebind(work[0].bindings());
                wrong += bits_of(prepared.run()) != work[0].right;
                break;
            default:
                wrong += bits_of(compile(parse(text), on_cpu).run(own.bindings())) != own.right;
                wrong += exe.explain().empty() || exe.device().empty();
            }
        }
    });
}

TEST_F(Threads, that_make_mistakes_beside_others_get_errors_and_disturb_nobody) {
    on_all([&](const Work& own, int& wrong) {
        for (int round = 0; round < rounds; ++round) {
            try {
                exe.run({{"x", own.x}});
                ++wrong;
            } catch (const InvalidBinding&) {}
            wrong += bits_of(exe.run(own.bindings())) != own.right;
        }
    });
}

TEST_F(Threads, may_destroy_an_executable_while_others_still_run_it) {
    std::optional<Executable> first = compile(parse(text), on_cpu);
    std::array<std::optional<Executable>, thread_count> copies;
    copies.fill(first);
    first.reset();
    std::atomic<std::size_t> next = 0;
    on_all([&](const Work& own, int& wrong) {
        std::optional<Executable>& mine = copies[next++];
        const Results results = mine->run(own.bindings());
        mine.reset();
        wrong += bits_of(results) != own.right;
    });
}

} // namespace
} // namespace gf::fault
