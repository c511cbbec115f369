// CUDA Graphs of the emulated device: kernels, what each waits for, and what a graph owns.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device.hpp"

namespace gf::emulator {

/// What CUDA calls when the last graph that owned it is gone; itself it may call nothing of CUDA.
struct UserObject {
    void* pointer;
    void (*destroy)(void*);
    unsigned references;
    static void release(UserObject* object, unsigned count);
};

/// True while this thread is inside UserObject::destroy.
bool in_destroy();

struct Node {
    KernelCall call;
    std::vector<const Node*> after;
};

/// References to user objects, given back at the end.
struct Ownership {
    std::vector<UserObject*> objects;
    Ownership() = default;
    Ownership(const Ownership& other);
    Ownership& operator=(const Ownership&) = delete;
    ~Ownership();
};

struct Graph {
    std::vector<std::unique_ptr<Node>> nodes;
    Ownership owned;
};

/// An instantiated graph.
class Exec {
public:
    explicit Exec(const Graph& graph);
    /// Puts another call in place of a node's.
    int update(const Node* node, KernelCall call);
    /// Asks for a run after the ones before, the nodes in an order that their dependencies allow.
    void launch(const Stream* stream);

private:
    struct Step {
        KernelCall call;
        std::vector<std::size_t> after;
    };
    struct Run {
        std::vector<Step> steps;
        std::shared_ptr<const Ownership> owned;
        std::uint64_t seed; ///< of the order of the nodes
        void operator()() const;
    };
    std::vector<const Node*> nodes_;
    std::vector<Step> steps_;
    std::shared_ptr<const Ownership> owned_; // also by the runs under way
    std::uint64_t last_ = 0, launches_ = 0;
};

} // namespace gf::emulator
