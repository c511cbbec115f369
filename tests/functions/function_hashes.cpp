// Prints a hash of each elementary function's bits at a sample of the points, to compare architectures. Compiles the
// device text alone, without the library. NaN are equal.
#include <cstdio>

#include <gridfold/core/device/prelude.cuh>

#include "functions/error.cuh"
#include "functions/functions.hpp"

namespace {

using namespace gf::test;

template <class T, class Result> void print_hash(const char* name, Result result) {
    constexpr std::uint64_t sample = 50'000, prime = 0x100000001b3u; // FNV-1a, by words
    const Domain& domain = find_function(name)->domain;
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (std::uint64_t i = 0; i < special_points(domain) + sample; ++i) {
        const Point<T> p = point<T>(domain, i);
        const T y = result(p.a, p.b);
        hash = (hash ^ (y != y ? 1 : bits_of(y))) * prime;
    }
    std::printf("%s f%zu %016llx\n", name, 8 * sizeof(T), static_cast<unsigned long long>(hash));
}

#define RESULT_one(name) [](auto a, auto) { return gf::device::name(a); }
#define RESULT_power(name) [](auto a, auto b) { return gf::device::name(a, b); }
#define RESULT_legs(name) RESULT_power(name)

} // namespace

int main() {
#define GRIDFOLD_FUNCTION(name, operands, ...)         \
    print_hash<float>(#name, RESULT_##operands(name)); \
    print_hash<double>(#name, RESULT_##operands(name));
#include "functions/functions.def"
#undef GRIDFOLD_FUNCTION
}
