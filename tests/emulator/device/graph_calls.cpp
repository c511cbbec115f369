// The driver's entry points for graphs, instantiated graphs and user objects.
#include <algorithm>
#include <memory>
#include <utility>

#include "calls.hpp"

using gf::driver::KernelNodeParams;
using namespace gf::emulator;

namespace {

// The handles of nodes and user objects are the objects' addresses.
Node* of_handle(CUgraphNode_st* node) { return reinterpret_cast<Node*>(node); }
UserObject* of_handle(CUuserObject_st* object) { return reinterpret_cast<UserObject*>(object); }

} // namespace

EXPORT int cuGraphCreate(CUgraph_st** graph, unsigned) {
    if (const int code = gate(); code != success) return code;
    return keep(graph, new CUgraph_st);
}
EXPORT int cuGraphDestroy(CUgraph_st* graph) { return destroy(graph); }
EXPORT int cuGraphAddKernelNode_v2(CUgraphNode_st** made, CUgraph_st* graph, CUgraphNode_st* const* dependencies,
                                   std::size_t count, const KernelNodeParams* p) {
    if (const int code = gate(); code != success) return code;
    auto node = std::make_unique<Node>();
    if (const int wrong = to_call(p->function, p->grid_x, p->block_x, p->parameters, node->call); wrong != success)
        return wrong;
    for (std::size_t i = 0; i < count; ++i) node->after.push_back(of_handle(dependencies[i]));
    *made = reinterpret_cast<CUgraphNode_st*>(node.get());
    graph->nodes.push_back(std::move(node));
    return success;
}
EXPORT int cuGraphKernelNodeSetAttribute(CUgraphNode_st* node, int attribute, const gf::driver::AttributeValue* value) {
    if (const int code = gate(); code != success) return code;
    if (attribute != gf::driver::launch_cooperative) return invalid_value;
    KernelCall& call = of_handle(node)->call;
    call.cooperative = value->yes != 0;
    return check_room(call);
}
EXPORT int cuGraphAddDependencies_v2(CUgraph_st* graph, CUgraphNode_st* const* from, CUgraphNode_st* const* to,
                                     const gf::driver::EdgeData* edges, std::size_t count) {
    if (const int code = gate(); code != success) return code;
    const auto find = [&](CUgraphNode_st* handle) {
        const auto found =
            std::ranges::find(graph->nodes, of_handle(handle), [](const auto& node) { return node.get(); });
        return found == graph->nodes.end() ? nullptr : found->get();
    };
    for (std::size_t i = 0; i < count; ++i) {
        Node* const before = find(from[i]);
        Node* const after = find(to[i]);
        const bool programmatic = edges[i].type == gf::driver::edge_programmatic;
        if (before == nullptr || after == nullptr || edges[i].to_port != 0 ||
            edges[i].from_port != (programmatic ? gf::driver::port_programmatic : 0))
            return invalid_value;
        after->after.push_back(before); // overlapping is permitted, not required
        const auto lock = locked();
        control().overlaps += programmatic;
        control().overlaps_of_cooperative += programmatic && after->call.cooperative;
    }
    return success;
}
EXPORT int cuGraphInstantiateWithFlags(CUgraphExec_st** exec, CUgraph_st* graph, unsigned long long) {
    if (const int code = gate(); code != success) return code;
    const auto lock = locked();
    ++control().instantiations;
    return keep(exec, new CUgraphExec_st(*graph));
}
EXPORT int cuGraphExecKernelNodeSetParams_v2(CUgraphExec_st* exec, CUgraphNode_st* node, const KernelNodeParams* p) {
    if (const int code = gate(); code != success) return code;
    KernelCall call;
    if (const int wrong = to_call(p->function, p->grid_x, p->block_x, p->parameters, call); wrong != success)
        return wrong;
    call.cooperative = of_handle(node)->call.cooperative;
    if (const int wrong = check_room(call); wrong != success) return wrong;
    const auto lock = locked();
    ++control().updates;
    return exec->update(of_handle(node), std::move(call));
}
EXPORT int cuGraphLaunch(CUgraphExec_st* exec, CUstream_st* stream) {
    if (const int code = gate_of(stream); code != success) return code;
    return exec->launch(stream), success;
}
EXPORT int cuGraphExecDestroy(CUgraphExec_st* exec) { return destroy(exec); }
EXPORT int cuUserObjectCreate(CUuserObject_st** object, void* held, void (*release)(void*), unsigned references,
                              unsigned) {
    if (const int code = gate(); code != success) return code;
    return keep(object, reinterpret_cast<CUuserObject_st*>(new UserObject{held, release, references}));
}
EXPORT int cuUserObjectRelease(CUuserObject_st* object, unsigned count) {
    UserObject::release(of_handle(object), count);
    return gate();
}
EXPORT int cuGraphRetainUserObject(CUgraph_st* graph, CUuserObject_st* object, unsigned count, unsigned flags) {
    if (const int code = gate(); code != success) return code;
    const auto lock = locked();
    if (flags != gf::driver::user_object_move) of_handle(object)->references += count;
    for (unsigned i = 0; i < count; ++i) graph->owned.objects.push_back(of_handle(object));
    return success;
}
