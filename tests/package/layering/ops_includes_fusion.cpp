#include <gridfold/ops/graph.hpp>
#ifdef WRONG
#include <gridfold/fusion/executable.hpp>
#endif
