#include <gridfold/fusion/plan.hpp>

namespace gf {

bool is_flat(const Array& array, const Sweep& sweep) { return array.dims == sweep.dims; }

} // namespace gf
