// Elementary functions on a GPU: gridfold's own, CUDA's by Options::fast_math, and CUDA's that a user's map calls.
#include <cmath>
#include <string>
#include <vector>

#include "functions/functions.hpp"
#include "harness/case.hpp"
#include "harness/cuda.hpp"
#include "harness/gridfold.hpp"
#include "harness/workloads.hpp"

GRIDFOLD_MAP(cuda_exp, 1, floating, "CUDA's exp", T(::expf(f32(a))))
GRIDFOLD_MAP(cuda_log, 1, floating, "CUDA's log", T(::logf(f32(a))))
GRIDFOLD_MAP(cuda_sin, 1, floating, "CUDA's sin", T(::sinf(f32(a))))
GRIDFOLD_MAP(cuda_tanh, 1, floating, "CUDA's tanh", T(::tanhf(f32(a))))
GRIDFOLD_MAP(cuda_erf, 1, floating, "CUDA's erf", T(::erff(f32(a))))
GRIDFOLD_MAP(cuda_pow, 2, floating, "CUDA's pow", T(::powf(f32(a), f32(b))))

namespace bench {

namespace {

using functions::Function;

constexpr std::int64_t elements = std::int64_t{1} << 28;
constexpr std::size_t period = std::size_t{1} << 22; ///< operands repeat after so many

/// Operands in device memory.
template <class T> Input<T> column(const Function& f, int copies, std::uint64_t first) {
    const Input<T> x(elements, copies);
    const std::vector<T> some(functions::operands<T>(f, period, first));
    for (int copy = 0; copy < copies; ++copy)
        for (std::int64_t i = 0; i < elements; i += std::int64_t{period})
            check(cudaMemcpy(x.copy(copy) + i, some.data(), period * sizeof(T), cudaMemcpyHostToDevice));
    return x;
}

gf::Graph graph(const Function& f, std::string_view prefix, std::string_view type) {
    const std::string t(type), name = std::string(prefix) + std::string(f.function);
    return gf::parse(f.arity == 1 ? "f(a: " + t + "[n]) -> y = " + name + "(a)"
                                  : "f(a: " + t + "[n], b: " + t + "[n]) -> y = " + name + "(a, b)");
}

template <class T> Make make(const Function& f) {
    return [&f](Case& made) {
        const int copies = made.copies();
        const Input<T> a = column<T>(f, copies, 0), y(elements, copies);
        const Input<T> b = f.arity == 2 ? column<T>(f, copies, std::uint64_t{1} << 32) : a;
        const auto add = [&](const std::string& name, std::string_view prefix, const gf::Options& options) {
            if (!made.wants(name)) return;
            Contender contender = gridfold_contender(
                name, graph(f, prefix, Element<T>::name), options, copies,
                [a, b, arity = f.arity](int copy) {
                    gf::Bindings inputs{{"a", a.view(copy)}};
                    if (arity == 2) inputs.emplace_back("b", b.view(copy));
                    return inputs;
                },
                [y](int copy) {
                    return gf::Bindings{{"y", y.view(copy)}};
                });
            if constexpr (std::is_same_v<T, float>)
                contender.counters = [&f, y] {
                    std::vector<float> results(period);
                    check(cudaMemcpy(results.data(), y.copy(0), period * sizeof(float), cudaMemcpyDeviceToHost));
                    const std::vector<float> a_of_host = functions::operands<float>(f, period);
                    const std::vector<float> b_of_host = functions::operands<float>(f, period, std::uint64_t{1} << 32);
                    const functions::Reference<float> reference(f, a_of_host, b_of_host);
                    return std::map<std::string, double>{{"ulps", reference.error_of(results)}};
                };
            made.add(std::move(contender));
        };
        add("gridfold", "", on_gpu());
        add("gridfold_fast_math", "", {.device = "cuda", .fast_math = true});
        add("cuda", "cuda_", on_gpu());
    };
}

template <class T> void add_function(Suite& suite, const Function& f) {
    suite.add(graph_case({.workload = "function_" + std::string(f.name),
                          .type = Element<T>::name,
                          .bytes = f.arity * elements * std::int64_t{sizeof(T)},
                          .elements = elements,
                          .contenders = {"gridfold", "gridfold_fast_math", "cuda"},
                          .writes = 1.0 / f.arity,
                          .extra = 1.0 / f.arity},
                         make<T>(f)));
}

} // namespace

void add_functions(Suite& suite) {
    for (const Function& f : functions::all_functions)
        for (const std::string_view name : {"exp", "log", "sin", "tanh", "erf", "pow"})
            if (f.name == name) {
                add_function<float>(suite, f);
                add_function<__nv_bfloat16>(suite, f);
            }
}

} // namespace bench
