#include <gridfold/core/graph_exec.hpp>

#include "driver/release.hpp"

namespace gf {

using driver::check;

namespace {

driver::KernelNodeParams to_params(const Launch& launch) {
    return {launch.kernel.function, launch.blocks, 1,       1,      launch.threads, 1, 1, 0,
            launch.parameters,      nullptr,       nullptr, nullptr};
}

} // namespace

GraphExec::GraphExec(int device, std::span<const KernelNode> nodes) {
    const CurrentDevice current(device);
    const driver::Table& cu = driver::table();
    GraphExec made; // destroys what there is if a later call fails
    made.device_ = device;
    check(cu.graph_create(&made.graph_, 0));
    std::vector<CUgraphNode_st*> dependencies;
    for (const KernelNode& node : nodes) {
        dependencies.clear();
        for (const int earlier : node.after) dependencies.push_back(made.nodes_[static_cast<std::size_t>(earlier)]);
        const driver::KernelNodeParams params = to_params(node.launch);
        CUgraphNode_st* added = nullptr;
        const bool overlaps = node.launch.may_overlap && cu.graph_add_dependencies.function != nullptr;
        check(cu.graph_add_kernel_node(&added, made.graph_, dependencies.data(), overlaps ? 0 : dependencies.size(),
                                       &params));
        if (overlaps && !dependencies.empty()) {
            // It starts when the blocks of those before have let it (griddepcontrol.launch_dependents), or are done.
            constexpr driver::EdgeData programmatic{driver::port_programmatic, 0, driver::edge_programmatic, {}};
            const std::vector<CUgraphNode_st*> to(dependencies.size(), added);
            const std::vector<driver::EdgeData> edges(dependencies.size(), programmatic);
            check(cu.graph_add_dependencies(made.graph_, dependencies.data(), to.data(), edges.data(), edges.size()));
        }
        made.nodes_.push_back(added);
    }
    check(cu.graph_instantiate(&made.exec_, made.graph_, 0));
    swap(made);
}

GraphExec::~GraphExec() {
    if (graph_ == nullptr) return;
    driver::release_on(device_, [&](const driver::Table& cu) {
        if (exec_ != nullptr) driver::report(cu.graph_exec_destroy(exec_));
        return cu.graph_destroy(graph_);
    });
}

void GraphExec::update(int node, const Launch& launch) {
    const driver::KernelNodeParams params = to_params(launch);
    check(driver::table().graph_exec_set_kernel(exec_, nodes_[static_cast<std::size_t>(node)], &params));
}

void GraphExec::launch(StreamView stream) const { check(driver::table().graph_launch(exec_, stream.get())); }

} // namespace gf
