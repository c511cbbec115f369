#include <gridfold/npy/npy.hpp>
#ifdef WRONG
#include <gridfold/ops/graph.hpp>
#endif
