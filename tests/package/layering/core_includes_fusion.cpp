#include <gridfold/core/view.hpp>
#ifdef WRONG
#include <gridfold/fusion/executable.hpp>
#endif
