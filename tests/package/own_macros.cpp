// A program with its own macros: gridfold's headers must neither use nor undefine their names.
#define MAP(x) x
#define REDUCE(x) x
#define UNARY 1
#define BINARY 2
#define TERNARY 3
#define DTYPE(x) x
#define MONOID 4
#define OPERATOR 5

#include <gridfold/gridfold.hpp>

GRIDFOLD_MAP(leaky_relu, 1, floating, "a, or a tenth of it below 0", a > T(0) ? a : a / T(10))

static_assert(MAP(UNARY) + REDUCE(BINARY) + DTYPE(TERNARY) + MONOID + OPERATOR == 15, "they mean what they meant");

// Macros for gridfold's own headers have its prefix.
#if defined(GRIDFOLD_TEXT) || defined(GRIDFOLD_PARAMETERS_1) || defined(GRIDFOLD_USER_MAP) || defined(GRIDFOLD_DTYPE)
#error "a macro of gridfold's internals is defined"
#endif

gf::Value use(gf::Graph& graph) { return gf::sum(gf::leaky_relu(graph.input<float>("x", {graph.dim("n")}))); }
