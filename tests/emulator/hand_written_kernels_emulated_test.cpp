// The emulator runs correct hand-written kernels, and finds the errors of others.
#include <array>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "guarded_memory.hpp"
#include "host_module.hpp"

namespace gf::emulator {
namespace {

/// A kernel with the parameter `u64* memory`, of one block (two if it uses the block's index).
std::string kernel(const std::string& body) {
    return "#undef GRIDFOLD_NAMESPACE\n#define GRIDFOLD_NAMESPACE device\nnamespace device {\n"
           "using namespace ::gf::emulator;\n"
           "extern \"C\" __global__ void gridfold_sweep(u64* memory) {\n" +
           body + "\n}\n}\n";
}

/// Declares at(i, writes): element i of 64 words of 64 bits that the threads of a block share.
const std::string shared_array =
    "const auto at = [](u32 i, bool writes) -> u64& {\n"
    "    return *static_cast<u64*>(shared(\"array\", 512, 8 * i, 8, writes ? Use::write : Use::read));\n};\n";

/// Declares other(i): the same of the other block of a cluster of two, to be written.
const std::string in_other =
    "const auto other = [](u32 i) -> u64& {\n"
    "    return *static_cast<u64*>(shared_of(2, 1 - block_index() % 2, \"array\", 512, 8 * i, 8, Use::write));\n};\n";

/// Declares slot(i) and slot_of(block, i): element i of 64 words of this block, and of a block of its cluster of two,
/// for uses that no barrier orders.
const std::string slots = "const auto slot = [](u32 i) -> u64* {\n"
                          "    return static_cast<u64*>(shared(\"array\", 512, 8 * i, 8, Use::relaxed));\n};\n"
                          "const auto slot_of = [](u32 block, u32 i) -> u64* {\n"
                          "    return static_cast<u64*>(shared_of(2, block, \"array\", 512, 8 * i, 8, "
                          "Use::relaxed));\n};\n";

class Emulator : public testing::TestWithParam<Order> {
protected:
    static void SetUpTestSuite() {
        if (host_compiler().empty()) return;
        const std::array sources{
            kernel("memory[thread_index()] = shuffle_xor_word(thread_index(), 5);"),
            kernel(shared_array + "at(thread_index(), true) = thread_index();\nbarrier();\n"
                                  "memory[thread_index()] = at(63 - thread_index(), false);"),
            // Block 0 waits for block 1.
            kernel("if (thread_index() != 0) return;\n"
                   "if (block_index() == 1) return store_relaxed(memory, 7);\n"
                   "while (load_relaxed(memory) != 7) {}\nmemory[1] = 1;"),
            kernel("if (thread_index() != 3) barrier();\nelse shuffle_xor_word(0, 1);"),
            kernel("while (load_relaxed(memory) != 7) {}"),
            kernel("unsigned words[4];\nload_bytes(words, reinterpret_cast<char*>(memory) + 8 * thread_index(), 16);"),
            kernel(shared_array +
                   "at(thread_index(), true) = 1;\nyield();\nmemory[0] = at(63 - thread_index(), false);"),
            kernel(shared_array + "at(0, true) = 1;"),
            kernel(shared_array + "if (thread_index() == 0) at(0, true) = 1;\nbarrier();\n"
                                  "memory[thread_index()] = at(0, false);\nif (thread_index() == 5) at(0, true) = 2;"),
            kernel(shared_array + "memory[0] = at(thread_index(), false);"),
            kernel(shared_array + "at(64 + thread_index(), true) = 1;"),
            kernel("memory[thread_index() == 40 ? 64 : 0] = 1;"),
            kernel("if (thread_index() == 40) memory[0] = memory[-1];"),
            kernel("if (thread_index() % 32 == 7) return;\nshuffle_xor_word(0, 1);"),
            kernel("if (thread_index() % 32 == 7) return barrier();\nshuffle_xor_word(0, 1);"),
            kernel("u64 a, b;\nload_relaxed(memory + 1, a, b);"),
            kernel("store_relaxed(memory + 1, 0, 0);"),
            kernel("if (thread_index() != 9) return;\nvolatile char large[200 * 1024];\nlarge[0] = 1;"),
            kernel("barrier();\n++memory[0];"),
            // Each block of a cluster of two writes to the other's memory.
            kernel(shared_array + in_other +
                   "cluster_barrier(2);\nother(thread_index()) = thread_index();\n"
                   "cluster_barrier(2);\n"
                   "if (block_index() == 3) memory[thread_index()] = at(63 - thread_index(), "
                   "false);"),
            kernel(shared_array + in_other +
                   "cluster_barrier(2);\nother(thread_index()) = thread_index();\n"
                   "barrier();\nmemory[thread_index()] = at(63 - thread_index(), false);"),
            kernel(shared_array + in_other + "other(0) = 1;"),
            kernel("if (thread_index() != 3 || block_index() != 1) cluster_barrier(2);"),
            kernel(shared_array + "at(thread_index(), true) = thread_index();\nwarp_barrier();\n"
                                  "memory[thread_index()] = at(thread_index() ^ 5, false);\nwarp_barrier();\n"
                                  "at(thread_index() ^ 9, true) = 1;"),
            kernel(shared_array + "at(thread_index(), true) = 1;\nwarp_barrier();\n"
                                  "memory[0] = at(63 - thread_index(), false);"),
            kernel(shared_array + "at(thread_index(), true) = 1;\nshuffle_xor_word(0, 1);\n"
                                  "memory[0] = at(thread_index() ^ 5, false);"),
            // Threads of two warps read a word, and one of the second writes it.
            kernel(shared_array + "if (thread_index() == 0) at(0, true) = 1;\nbarrier();\n"
                                  "memory[thread_index()] = at(0, false);\nwarp_barrier();\n"
                                  "if (thread_index() == 40) at(0, true) = 2;"),
            kernel("if (thread_index() != 3) warp_barrier();"),
            kernel("if (thread_index() % 32 != 3) warp_barrier();\nelse shuffle_xor_word(0, 1);"),
            kernel("unsigned words[4];\nload_bytes(words, reinterpret_cast<char*>(memory) + 16 * thread_index(), 16);"),
            // One thread of each block of a cluster polls what the other block puts into its slot.
            kernel(shared_array + slots +
                   "at(thread_index(), true) = 0;\ncluster_barrier(2);\nif (thread_index() != 0) return;\n"
                   "store_relaxed(slot_of(1 - block_index() % 2, 5), block_index() + 1);\n"
                   "while (load_relaxed(slot(5)) == 0) {}\nmemory[block_index() % 2] = load_relaxed(slot(5));"),
            kernel(slots + "cluster_barrier(2);\nif (thread_index() == 0) load_relaxed(slot(5));"),
            // The first block has ended, or may have, when the second puts a slot.
            kernel(shared_array + slots +
                   "at(thread_index(), true) = 0;\ncluster_barrier(2);\nif (block_index() == 0) return;\n"
                   "while (load_relaxed(memory) == 0) store_relaxed(slot_of(0, 5), 7);"),
            kernel("arrive_at_cluster_barrier();"),
            kernel("arrive_at_cluster_barrier();\ncluster_barrier(2);"),
            kernel("await_cluster_barrier(2);"),
        };
        module = std::make_unique<HostModule>(sources);
    }
    static void TearDownTestSuite() { module.reset(); }

    void SetUp() override {
        if (!module) GTEST_SKIP() << "no host compiler: generated kernels cannot be executed here";
    }
    void run(std::size_t number, u32 blocks, u64* address) {
        void* arguments[] = {&address};
        launch(module->entry(number), arguments, blocks, 64, GetParam(), 3);
    }
    void run(std::size_t number, u32 blocks) { run(number, blocks, memory.data()); }
    static void expect_error(const std::function<void()>& run, const std::string& words) {
        try {
            run();
            ADD_FAILURE() << "the emulator found nothing";
        } catch (const std::runtime_error& error) {
            EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
        }
    }

    static std::unique_ptr<HostModule> module;
    alignas(16) std::array<u64, 64> memory{};
};
std::unique_ptr<HostModule> Emulator::module;

TEST_P(Emulator, exchanges_between_the_lanes_of_a_warp) {
    run(0, 1);
    for (u64 i = 0; i < 64; ++i) EXPECT_EQ(memory[i], i ^ 5);
}

TEST_P(Emulator, shares_memory_between_the_threads_of_a_block) {
    run(1, 1);
    for (u64 i = 0; i < 64; ++i) EXPECT_EQ(memory[i], 63 - i);
}

TEST_P(Emulator, lets_other_blocks_run_while_one_polls) {
    run(2, 2);
    EXPECT_EQ(memory[1], 1u);
}

TEST_P(Emulator, runs_grids_of_more_blocks_than_run_at_a_time) {
    run(18, 1000);
    EXPECT_EQ(memory[0], 1000u * 64);
    memory[0] = 0;
    run(2, 1000); // the first waits for the second
    EXPECT_EQ(memory[1], 1u);
}

TEST_P(Emulator, shares_memory_between_the_blocks_of_a_cluster) {
    run(19, 1000);
    for (u64 i = 0; i < 64; ++i) EXPECT_EQ(memory[i], 63 - i);
}

TEST_P(Emulator, orders_the_accesses_of_a_warp_by_its_barriers) {
    run(23, 1);
    for (u64 i = 0; i < 64; ++i) EXPECT_EQ(memory[i], i ^ 5);
    for (const std::size_t number : {24, 25, 26}) expect_error([&] { run(number, 1); }, "a race in shared memory");
    expect_error([&] { run(27, 1); }, "exchange with a lane that has returned");
    expect_error([&] { run(28, 1); }, "a lane exchanges where another waits");
}

TEST_P(Emulator, finds_errors_of_clusters) {
    expect_error([&] { run(20, 2); }, "shared memory"); // a race, or a read of what nobody wrote
    expect_error([&] { run(21, 2); }, "the shared memory of a block that may not be running");
    expect_error([&] { run(22, 2); }, "waits where not every thread comes");
    expect_error([&] { run(19, 3); }, "a cluster of fewer blocks");
    expect_error([&] { run(33, 2); }, "ends before it waits");
    expect_error([&] { run(34, 2); }, "arrives twice");
    expect_error([&] { run(35, 2); }, "without having arrived");
}

TEST_P(Emulator, lets_blocks_of_a_cluster_poll_their_shared_memory) {
    run(30, 2);
    EXPECT_EQ(memory[0], 2u);
    EXPECT_EQ(memory[1], 1u);
    memory = {};
    expect_error([&] { run(31, 2); }, "reads shared memory that nobody wrote");
    expect_error([&] { run(32, 2); }, "the shared memory of a block that may not be running");
}

TEST_P(Emulator, finds_a_barrier_that_a_thread_misses) {
    expect_error([&] { run(3, 1); }, "waits where not every thread comes");
}

TEST_P(Emulator, finds_a_grid_that_polls_for_ever) {
    expect_error([&] { run(4, 1); }, "polls for what nobody stores");
}

TEST_P(Emulator, finds_a_misaligned_wide_load) {
    for (const std::size_t number : {5, 15, 16}) expect_error([&] { run(number, 1); }, "misaligned access of 16 bytes");
}

TEST_P(Emulator, finds_a_thread_that_overruns_its_stack) {
    expect_error([&] { run(17, 1); }, "thread 9 of block 0 accesses");
}

TEST_P(Emulator, finds_reads_and_writes_of_one_shared_word_that_no_barrier_orders) {
    expect_error([&] { run(6, 1); }, "a race in shared memory");
    expect_error([&] { run(7, 1); }, "a race in shared memory");
    expect_error([&] { run(8, 1); }, "a race in shared memory");
}

TEST_P(Emulator, finds_reads_of_shared_memory_that_nobody_wrote_and_accesses_outside_it) {
    expect_error([&] { run(9, 1); }, "reads shared memory that nobody wrote");
    expect_error([&] { run(10, 1); }, " of 512 of shared memory");
}

TEST_P(Emulator, finds_accesses_beside_an_array) {
    const GuardedMemory end(64 * sizeof(u64), Snug::at_end), begin(64 * sizeof(u64), Snug::at_begin);
    const auto words = [](const GuardedMemory& guarded) { return reinterpret_cast<u64*>(guarded.data()); };
    expect_error([&] { run(11, 1, words(end)); }, "thread 40 of block 0 accesses");
    expect_error([&] { run(12, 1, words(begin)); }, "where it has no memory");
    const GuardedMemory odd(1023, Snug::at_end); // before 1 byte of padding
    expect_error([&] { run(29, 1, words(odd)); }, "an access of 16 bytes that ends behind its memory");
    run(0, 1, words(begin));
    EXPECT_TRUE(begin.is_intact());
    run(11, 1, words(begin));
    EXPECT_FALSE(begin.is_intact());
}

TEST_P(Emulator, finds_an_exchange_that_a_lane_of_the_warp_misses) {
    expect_error([&] { run(13, 1); }, "an exchange with a lane that has returned");
    expect_error([&] { run(14, 1); }, "waits where not every thread comes");
}

TEST_P(Emulator, runs_again_after_a_failed_launch) {
    expect_error([&] { run(5, 1); }, "misaligned");
    run(0, 1);
    EXPECT_EQ(memory[1], 4u);
}

INSTANTIATE_TEST_SUITE_P(orders, Emulator, testing::ValuesIn(all_orders), [](const auto& order) {
    return order.param == Order::forward    ? "forward"
           : order.param == Order::backward ? "backward"
           : order.param == Order::shuffled ? "shuffled"
           : order.param == Order::starved  ? "starved"
                                            : "last_block";
});

} // namespace
} // namespace gf::emulator
