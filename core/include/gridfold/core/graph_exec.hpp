// A CUDA Graph of kernels with explicit dependencies, instantiated once and updated in place.
#pragma once

#include <span>
#include <vector>

#include <gridfold/core/handle.hpp>
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

namespace detail {
void release(int device, CUgraph_st* graph) noexcept;
void release(int device, CUgraphExec_st* exec) noexcept;
} // namespace detail

/// Owns an instantiated graph. CUDA orders the launches of one GraphExec: two never overlap, in any streams. The
/// device's primary context must be current for every call but the destructor.
class GraphExec {
public:
    GraphExec() = default;
    GraphExec(int device, std::span<const KernelNode> nodes);

    explicit operator bool() const noexcept { return exec_.get() != nullptr; }
    /// Changes grid and parameters of a node for later launches; earlier ones keep theirs.
    void update(int node, const Launch& launch);
    void launch(StreamView stream) const;

private:
    Handle<CUgraph_st, detail::release> graph_; // owns the nodes that updates name
    Handle<CUgraphExec_st, detail::release> exec_;
    std::vector<CUgraphNode_st*> nodes_;
};

} // namespace gf
