// Contender `gridfold`: a graph of one map. A timed call is Prepared::run; compiling and binding are not timed.
#include <memory>

#include <fmt/format.h>

#include <gridfold/gridfold.hpp>

#include "functions.hpp"

namespace bench::functions {
namespace {

gf::Executable compiled(const Function& f, std::string_view type) {
    const std::string_view operands = f.arity == 1 ? "a" : "a, b";
    const std::string second = f.arity == 1 ? "" : fmt::format(", b: {}[n]", type);
    return gf::compile(gf::parse(fmt::format("f(a: {}[n]{}) -> y = {}({})", type, second, f.function, operands)),
                       {.device = "cpu", .threads = 1});
}

} // namespace

template <class T>
std::function<void()> gridfold(const Function& f, std::vector<T>& out, const std::vector<T>& a,
                               const std::vector<T>& b) {
    gf::Bindings inputs{{"a", a}};
    if (f.arity == 2) inputs.emplace_back("b", b);
    const auto prepared =
        std::make_shared<gf::Prepared>(compiled(f, gf::to_text(gf::dtype_of<T>)).prepare(inputs, {{"y", out}}));
    return [prepared] { prepared->run(); };
}
template std::function<void()> gridfold(const Function&, std::vector<float>&, const std::vector<float>&,
                                        const std::vector<float>&);
template std::function<void()> gridfold(const Function&, std::vector<double>&, const std::vector<double>&,
                                        const std::vector<double>&);

std::string gridfold_instruction_set() {
    const std::string device{compiled(all_functions[0], "f32").device()}; // "cpu (AVX2, 1 thread)"
    const std::size_t begin = device.find('(') + 1;
    return device.substr(begin, device.find(',') - begin);
}

} // namespace bench::functions
