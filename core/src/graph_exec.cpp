#include <gridfold/core/graph_exec.hpp>

#include "driver/release.hpp"

namespace gf {

using driver::check;

namespace {

driver::KernelNodeParams to_params(const Launch& launch) {
    return {launch.kernel.function, launch.blocks,     1,       1,       launch.threads, 1, 1,
            launch.shared_bytes,    launch.parameters, nullptr, nullptr, nullptr};
}

} // namespace

void detail::release(int device, CUgraph_st* graph) noexcept {
    driver::release_on(device, [&](const driver::Table& cu) { return cu.graph_destroy(graph); });
}

void detail::release(int device, CUgraphExec_st* exec) noexcept {
    driver::release_on(device, [&](const driver::Table& cu) { return cu.graph_exec_destroy(exec); });
}

GraphExec::GraphExec(int device, std::span<const KernelNode> nodes) {
    const CurrentDevice current(device);
    const driver::Table& cu = driver::table();
    CUgraph_st* graph = nullptr;
    check(cu.graph_create(&graph, 0));
    graph_ = {device, graph};
    std::vector<CUgraphNode_st*> dependencies;
    for (const KernelNode& node : nodes) {
        dependencies.clear();
        for (const int earlier : node.after) dependencies.push_back(nodes_[static_cast<std::size_t>(earlier)]);
        const driver::KernelNodeParams params = to_params(node.launch);
        CUgraphNode_st* added = nullptr;
        const bool may_overlap = node.launch.may_overlap && !node.launch.cooperative; // defect: cooperative
        const bool overlaps = may_overlap && cu.graph_add_dependencies.function != nullptr;
        check(
            cu.graph_add_kernel_node(&added, graph, dependencies.data(), overlaps ? 0 : dependencies.size(), &params));
        if (node.launch.cooperative) {
            const driver::AttributeValue yes{1, {}};
            check(cu.graph_node_set_attribute(added, driver::launch_cooperative, &yes));
        }
        if (overlaps && !dependencies.empty()) {
            // It starts when all blocks of the previous kernels have called griddepcontrol.launch_dependents or ended.
            constexpr driver::EdgeData programmatic{driver::port_programmatic, 0, driver::edge_programmatic, {}};
            const std::vector<CUgraphNode_st*> to(dependencies.size(), added);
            const std::vector<driver::EdgeData> edges(dependencies.size(), programmatic);
            check(cu.graph_add_dependencies(graph, dependencies.data(), to.data(), edges.data(), edges.size()));
        }
        nodes_.push_back(added);
    }
    CUgraphExec_st* exec = nullptr;
    check(cu.graph_instantiate(&exec, graph, 0));
    exec_ = {device, exec};
}

void GraphExec::update(int node, const Launch& launch) {
    const driver::KernelNodeParams params = to_params(launch);
    check(driver::table().graph_exec_set_kernel(exec_.get(), nodes_[static_cast<std::size_t>(node)], &params));
}

void GraphExec::launch(StreamView stream) const { check(driver::table().graph_launch(exec_.get(), stream.get())); }

} // namespace gf
