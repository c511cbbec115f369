#include "own_ops.hpp"

GRIDFOLD_COMPILED_HERE(range)
GRIDFOLD_COMPILED_HERE(mean_of_squares)
