// A CUDA Graph of kernels with explicit dependencies, instantiated once and updated in place.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include <gridfold/core/module.hpp>
#include <gridfold/core/stream.hpp>

struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;

namespace gf {

/// A kernel node: its launch, and the earlier nodes (by number) that it runs after.
struct KernelNode {
    Launch launch;
    std::span<const int> after;
};

/// Owns an instantiated graph. Two launches of one GraphExec never overlap, whatever streams they are in: CUDA orders
/// them. The device's primary context must be current for every call but the destructor.
class GraphExec {
public:
    GraphExec() = default;
    GraphExec(int device, std::span<const KernelNode> nodes);
    GraphExec(GraphExec&& other) noexcept { swap(other); }
    GraphExec& operator=(GraphExec&& other) noexcept {
        GraphExec(std::move(other)).swap(*this);
        return *this;
    }
    ~GraphExec();

    explicit operator bool() const noexcept { return exec_ != nullptr; }
    /// Changes grid and parameters of a node for launches from now on; those under way keep theirs.
    void update(int node, const Launch& launch);
    void launch(StreamView stream) const;

private:
    void swap(GraphExec& other) noexcept {
        std::swap(graph_, other.graph_);
        std::swap(exec_, other.exec_);
        std::swap(nodes_, other.nodes_);
        std::swap(device_, other.device_);
    }
    CUgraph_st* graph_ = nullptr; // kept: updates name its nodes
    CUgraphExec_st* exec_ = nullptr;
    std::vector<CUgraphNode_st*> nodes_;
    int device_ = 0;
};

} // namespace gf
