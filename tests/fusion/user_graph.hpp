// A CUDA Graph that a user captures with driver calls.
#pragma once

#include <cstring>
#include <utility>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <gridfold/core/stream.hpp>

struct CUgraph_st;
struct CUgraphExec_st;

namespace gf::test {

/// The outcome of a driver call that the library does not make, to capture and run a graph.
template <class... Args> int outcome_of(const char* symbol, Args... args) {
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    int (*function)(Args...) = nullptr;
    void* found = dlsym(library, symbol);
    std::memcpy(&function, &found, sizeof found);
    return function == nullptr ? -1 : function(args...);
}
template <class... Args> void call(const char* symbol, Args... args) {
    ASSERT_EQ(outcome_of(symbol, args...), 0) << symbol;
}

struct UserGraph {
    CUgraph_st* graph = nullptr;
    CUgraphExec_st* exec = nullptr;

    static void begin(StreamView stream) { call("cuStreamBeginCapture_v2", stream.get(), 0); }
    void end(StreamView stream) {
        call("cuStreamEndCapture", stream.get(), &graph);
        call("cuGraphInstantiateWithFlags", &exec, graph, 0ull);
    }
    void launch(StreamView stream) const { call("cuGraphLaunch", exec, stream.get()); }
    void destroy() {
        if (exec != nullptr) call("cuGraphExecDestroy", std::exchange(exec, nullptr));
        if (graph != nullptr) call("cuGraphDestroy", std::exchange(graph, nullptr));
    }
    UserGraph() = default;
    UserGraph(const UserGraph&) = delete;
    UserGraph& operator=(const UserGraph&) = delete;
    ~UserGraph() { destroy(); }
};

} // namespace gf::test
