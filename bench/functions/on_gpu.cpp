// Elementary functions on a GPU: gridfold's own, CUDA's by Options::fast_math, and CUDA's that a user's map calls.
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "functions/functions.hpp"
#include "harness/case.hpp"
#include "harness/cuda.hpp"
#include "harness/gridfold.hpp"
#include "harness/workloads.hpp"

GRIDFOLD_MAP(cuda_exp, 1, floating, "CUDA's exp", T(::expf(f32(a))))
GRIDFOLD_MAP(cuda_log, 1, floating, "CUDA's log", T(::logf(f32(a))))
GRIDFOLD_MAP(cuda_log1p, 1, floating, "CUDA's log1p", T(::log1pf(f32(a))))
GRIDFOLD_MAP(cuda_sin, 1, floating, "CUDA's sin", T(::sinf(f32(a))))
GRIDFOLD_MAP(cuda_tanh, 1, floating, "CUDA's tanh", T(::tanhf(f32(a))))
GRIDFOLD_MAP(cuda_erf, 1, floating, "CUDA's erf", T(::erff(f32(a))))
GRIDFOLD_MAP(cuda_pow, 2, floating, "CUDA's pow", T(::powf(f32(a), f32(b))))

namespace bench {

namespace {

using functions::Function;

/// A graph around a function. `{}` in its text is what stands before the function's name: nothing, or "cuda_".
struct Chain {
    std::string_view name, function, text;
    std::int64_t elements;
};
constexpr Chain chains[] = {
    {"log1p_zscore", "log1p", "let c = {}log1p(clamp(a, 0, 100)); -> y = (c - mean(c)) / stddev(c)",
     std::int64_t{1} << 30},
    {"exp_minus_max", "exp", "-> y = {}exp(a - max(a))", std::int64_t{1} << 28},
};

constexpr std::int64_t elements = std::int64_t{1} << 28; ///< of the functions by themselves
constexpr std::size_t period = std::size_t{1} << 22;     ///< operands repeat after so many

/// Operands in device memory.
template <class T> Input<T> column(const Function& f, std::int64_t n, int copies, std::uint64_t first) {
    const Input<T> x(n, copies);
    const std::vector<T> some(functions::operands<T>(f, period, first));
    for (int copy = 0; copy < copies; ++copy)
        for (std::int64_t i = 0; i < n; i += std::int64_t{period})
            check(cudaMemcpy(x.copy(copy) + i, some.data(), period * sizeof(T), cudaMemcpyHostToDevice));
    return x;
}

gf::Graph graph(const Function& f, const Chain* chain, std::string_view prefix, std::string_view type) {
    const std::string t(type), name = std::string(prefix) + std::string(f.function);
    if (chain) return gf::parse("f(a: " + t + "[n]) " + fmt::format(fmt::runtime(chain->text), prefix));
    return gf::parse(f.arity == 1 ? "f(a: " + t + "[n]) -> y = " + name + "(a)"
                                  : "f(a: " + t + "[n], b: " + t + "[n]) -> y = " + name + "(a, b)");
}

/// The function by itself, or in a chain.
template <class T> Make make(const Function& f, const Chain* chain = nullptr) {
    return [&f, chain](Case& made) {
        const int copies = made.copies();
        const std::int64_t n = chain ? chain->elements : elements;
        const Input<T> a = column<T>(f, n, copies, 0), y(n, copies);
        const Input<T> b = f.arity == 2 ? column<T>(f, n, copies, std::uint64_t{1} << 32) : a;
        const auto add = [&](const std::string& name, std::string_view prefix, const gf::Options& options) {
            if (!made.wants(name)) return;
            Contender contender = gridfold_contender(
                name, graph(f, chain, prefix, Element<T>::name), options, copies,
                [a, b, arity = f.arity](int copy) {
                    gf::Bindings inputs{{"a", a.view(copy)}};
                    if (arity == 2) inputs.emplace_back("b", b.view(copy));
                    return inputs;
                },
                [y](int copy) {
                    return gf::Bindings{{"y", y.view(copy)}};
                });
            if constexpr (std::is_same_v<T, float>)
                if (!chain)
                    contender.counters = [&f, y] {
                        std::vector<float> results(period);
                        check(cudaMemcpy(results.data(), y.copy(0), period * sizeof(float), cudaMemcpyDeviceToHost));
                        const std::vector<float> a_of_host = functions::operands<float>(f, period);
                        const std::vector<float> b_of_host =
                            functions::operands<float>(f, period, std::uint64_t{1} << 32);
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

void add_chain(Suite& suite, const Function& f, const Chain& chain) {
    suite.add(graph_case({.workload = "function_" + std::string(chain.name),
                          .type = Element<float>::name,
                          .bytes = chain.elements * std::int64_t{sizeof(float)},
                          .elements = chain.elements,
                          .contenders = {"gridfold", "gridfold_fast_math", "cuda"},
                          .writes = 1,
                          .extra = 1},
                         make<float>(f, &chain)));
}

} // namespace

void add_functions(Suite& suite) {
    for (const Function& f : functions::all_functions)
        for (const std::string_view name : {"exp", "log", "sin", "tanh", "erf", "pow"})
            if (f.name == name) {
                add_function<float>(suite, f);
                add_function<__nv_bfloat16>(suite, f);
            }
    for (const Chain& chain : chains)
        for (const Function& f : functions::all_functions)
            if (f.name == chain.function) add_chain(suite, f, chain);
}

} // namespace bench
