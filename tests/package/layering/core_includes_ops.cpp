#include <gridfold/core/view.hpp>
#ifdef WRONG
#include <gridfold/ops/graph.hpp>
#endif
