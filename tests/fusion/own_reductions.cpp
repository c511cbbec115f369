#include "fusion/own_reductions.hpp"

GRIDFOLD_COMPILED_HERE(ordered)
GRIDFOLD_COMPILED_HERE(five_facts)
GRIDFOLD_COMPILED_HERE(eight_powers)
GRIDFOLD_COMPILED_HERE(thirty_two_scales)
GRIDFOLD_COMPILED_HERE(histogram_mark)
GRIDFOLD_COMPILED_HERE(widest)
GRIDFOLD_COMPILED_HERE(farthest)
