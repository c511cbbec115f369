// CUDA Graphs of the emulated device: kernels, their dependencies, and a graph's user objects.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device.hpp"

namespace gf::emulator {

/// An object whose `destroy` is called after its last owning graph is gone. `destroy` may not call CUDA.
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

/// Owned references to user objects.
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
    /// Replaces a node's call.
    int update(const Node* node, KernelCall call);
    /// Pushes a run after all earlier ones. Its nodes run in a random order that their dependencies allow.
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
    std::shared_ptr<const Ownership> owned_; // shared with runs in progress
    std::uint64_t last_ = 0, launches_ = 0;
};

} // namespace gf::emulator
