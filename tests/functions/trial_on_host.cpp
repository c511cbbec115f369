// Trials in ordinary memory, checked by all threads.
#include <string>
#include <vector>

#include "functions/trial.hpp"

namespace gf::test {

Executable compiled(const Function& f, DType type, const std::string& device) {
    const std::string t{to_text(type)}, name{f.name};
    return compile(parse(f.arity() == 1 ? "f(a: " + t + "[n]) -> y = " + name + "(a)"
                                        : "f(a: " + t + "[n], b: " + t + "[n]) -> y = " + name + "(a, b)"),
                   {.device = device});
}
void run(const Executable& exe, const Function& f, const View& a, const View& b, const View& y) {
    Bindings inputs{{"a", a}};
    if (f.arity() == 2) inputs.emplace_back("b", b);
    exe.run(inputs, {{"y", y}});
}

namespace {

using ExactOf = reference::Exact (*)(double, double);
ExactOf exact_of(const Function& f) {
#define GRIDFOLD_FUNCTION(function, ...) \
    if (f.name == #function) return function##_name::exact;
#include "functions/functions.def"
#undef GRIDFOLD_FUNCTION
    return nullptr;
}

template <class T> class HostTrial : public Trial<T> {
public:
    explicit HostTrial(std::uint64_t capacity) : a_(capacity), b_(capacity), results_(capacity), others_(capacity) {}

    void make(const Function& f, Points points, std::uint64_t first, std::uint64_t count) override {
        first_ = first;
        count_ = count;
#pragma omp parallel for
        for (std::uint64_t i = 0; i < count; ++i) {
            const Point<T> p = chosen_point<T>(f.domain, points, first + i);
            a_[i] = p.a;
            b_[i] = p.b;
        }
    }
    View a() override { return view(a_); }
    View b() override { return view(b_); }
    View results() override { return view(results_); }
    Tally errors(const Function& f) override {
        const ExactOf exact = exact_of(f);
        Tally all;
#pragma omp parallel
        {
            Tally own;
#pragma omp for schedule(dynamic, 1024)
            for (std::uint64_t i = 0; i < count_; ++i)
                own.add(error_in_ulps(results_[i], exact(static_cast<double>(a_[i]), static_cast<double>(b_[i]))),
                        first_ + i);
#pragma omp critical
            all.add(own);
        }
        return all;
    }
    View host_a() override { return a(); }
    View host_b() override { return b(); }
    View host_results() override { return view(others_); }
    Difference difference(std::uint64_t count) override {
        Difference all;
        for (std::uint64_t i = 0; i < count; ++i)
            if (!same_bits(results_[i], others_[i])) {
                if (all.count == 0) all.at = first_ + i;
                ++all.count;
            }
        return all;
    }

private:
    View view(std::vector<T>& x) const { return gf::host_view(x.data(), {static_cast<std::int64_t>(count_)}); }

    std::vector<T> a_, b_, results_, others_;
    std::uint64_t first_ = 0, count_ = 0;
};

} // namespace

template <class T> std::unique_ptr<Trial<T>> trial_on_host(std::uint64_t capacity) {
    return std::make_unique<HostTrial<T>>(capacity);
}
template std::unique_ptr<Trial<float>> trial_on_host(std::uint64_t);
template std::unique_ptr<Trial<double>> trial_on_host(std::uint64_t);

} // namespace gf::test
