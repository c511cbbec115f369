// Prepareds for the copies of an input, and results as numbers.
#include "harness/gridfold.hpp"

#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

namespace bench {

namespace {

template <class T> double bits_to_double(std::uint64_t bits) {
    T value;
    std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
    return static_cast<double>(static_cast<std::conditional_t<std::is_arithmetic_v<T>, T, float>>(value));
}

double to_double(const gf::Results::Entry& entry) {
    if (entry.empty) return std::numeric_limits<double>::quiet_NaN();
    switch (entry.type) {
#define GRIDFOLD_DTYPE(name, text, type, ...) \
    case gf::DType::name: return bits_to_double<type>(entry.bits);
#include <gridfold/core/dtype.def>
#undef GRIDFOLD_DTYPE
    }
    return std::numeric_limits<double>::quiet_NaN();
}

} // namespace

std::vector<double> scalars(const gf::Results& results) {
    std::vector<double> values;
    for (const gf::Results::Entry& entry : results.entries())
        if (!entry.is_array) values.push_back(to_double(entry));
    return values;
}

std::vector<double> scalars(const std::vector<gf::Results>& all) {
    std::vector<double> values;
    for (const gf::Results& results : all)
        for (const double value : scalars(results)) values.push_back(value);
    return values;
}

gf::Options on_gpu() { return {.device = "cuda"}; }
gf::Options on_gpu_unfused() { return {.device = "cuda", .fuse = false}; }

Contender gridfold_contender(std::string name, const gf::Graph& graph, const gf::Options& options, int copies,
                             const Bind& inputs, const Bind& outputs) {
    const gf::Executable exe = gf::compile(graph, options);
    const auto prepared = std::make_shared<std::vector<gf::Prepared>>();
    for (int copy = 0; copy < copies; ++copy)
        prepared->push_back(exe.prepare(inputs(copy), outputs ? outputs(copy) : gf::Bindings{}));
    const auto of = [prepared](int copy) -> gf::Prepared& { return (*prepared)[static_cast<std::size_t>(copy)]; };
    return {.name = std::move(name),
            // The closure also owns the arrays of the bindings.
            .enqueue = [of, inputs, outputs](cudaStream_t stream, int copy) { of(copy).enqueue(stream); },
            .call = [of] { of(0).run(); },
            .results = [of](int copy) { return scalars(of(copy).results()); }};
}

Contender gridfold_many_contender(const gf::Graph& graph, int copies, const BindMany& inputs) {
    const gf::Executable exe = gf::compile(graph, on_gpu());
    const auto prepared = std::make_shared<std::vector<gf::PreparedMany>>();
    for (int copy = 0; copy < copies; ++copy) prepared->push_back(exe.prepare_many(inputs(copy)));
    const auto of = [prepared](int copy) -> gf::PreparedMany& { return (*prepared)[static_cast<std::size_t>(copy)]; };
    return {.name = "gridfold",
            .enqueue = [of, inputs](cudaStream_t stream, int copy) { of(copy).enqueue(stream); },
            .call = [of] { of(0).run(); },
            .results = [of](int copy) { return scalars(of(copy).results()); }};
}

} // namespace bench
