// Tries the elementary functions at many points, through gridfold's public API: results of a device against the
// double-double reference, and their bits against those of the CPU with each of its instruction sets. Writes JSON.
//
//     function_errors [--device=cuda|cpu] [--points=LOG2] [--baseline-points=LOG2] [--functions=exp,log,…]
//                     [--types=f32,f64] [--out=FILE.json]
//
// Without --points: every operand of a function of one f32, and 2^30 points of others. The instruction set without fma
// is slow, and gets the first 2^28 points of each. The exit code is the number of functions with wrong results, too
// large errors or other bits.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "functions/trial.hpp"
#include "host_kernels/kernels.hpp"

namespace {

using namespace gf::test;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Settings {
    std::string device = GRIDFOLD_TRIAL_DEVICE;
    int points = -1, baseline_points = 28; ///< log2
    std::string functions, types = "f32,f64", out;
};
Settings settings_of(int count, char** arguments) {
    Settings s;
    for (int i = 1; i < count; ++i) {
        const std::string_view argument = arguments[i];
        const auto take = [&](std::string_view flag) {
            return argument.starts_with(flag) ? arguments[i] + flag.size() : nullptr;
        };
        if (const char* device = take("--device="))
            s.device = device;
        else if (const char* points = take("--points="))
            s.points = std::atoi(points);
        else if (const char* baseline = take("--baseline-points="))
            s.baseline_points = std::atoi(baseline);
        else if (const char* functions = take("--functions="))
            s.functions = functions;
        else if (const char* types = take("--types="))
            s.types = types;
        else if (const char* out = take("--out="))
            s.out = out;
        else
            throw std::runtime_error(fmt::format("unknown argument {}", argument));
    }
    return s;
}
/// Whether a list such as "exp,log" has this name; an empty list has all.
bool names(const std::string& list, std::string_view name) {
    return list.empty() || ("," + list + ",").find(fmt::format(",{},", name)) != std::string::npos;
}

struct Set {
    const char* name; ///< as GRIDFOLD_CPU says it
    gf::cpu::InstructionSet set;
};
constexpr Set all_sets[] = {{"baseline", gf::cpu::InstructionSet::baseline},
                            {"avx2", gf::cpu::InstructionSet::avx2},
                            {"avx512", gf::cpu::InstructionSet::avx512}};

/// What was found of a function with an instruction set of the CPU.
struct Bits {
    std::uint64_t points = 0;
    Difference different;
};
struct Outcome {
    Tally tally;
    std::map<std::string, Bits> bits;
};

std::string text(double x) { return fmt::format("{:a}", x); }
template <class T> std::string operands_text(const Function& f, Points points, std::uint64_t index) {
    const Point<T> p = chosen_point<T>(f.domain, points, index);
    return f.arity() == 1 ? text(static_cast<double>(p.a))
                          : text(static_cast<double>(p.a)) + ", " + text(static_cast<double>(p.b));
}

template <class T>
Outcome outcome(Trial<T>& trial, std::uint64_t capacity, const Function& f, Points points, std::uint64_t count,
                const Settings& s) {
    const gf::Executable device = compiled(f, gf::dtype_of<T>, s.device);
    std::vector<std::pair<const char*, gf::Executable>> cpus;
    for (const Set& set : all_sets)
        if (gf::cpu::has(set.set)) {
            setenv("GRIDFOLD_CPU", set.name, 1);
            cpus.emplace_back(set.name, compiled(f, gf::dtype_of<T>, "cpu"));
        }
    unsetenv("GRIDFOLD_CPU");
    Outcome o;
    for (std::uint64_t first = 0; first < count; first += capacity) {
        const std::uint64_t n = std::min(capacity, count - first);
        trial.make(f, points, first, n);
        run(device, f, trial.a(), trial.b(), trial.results());
        o.tally.add(trial.errors(f));
        for (const auto& [name, exe] : cpus) {
            Bits& bits = o.bits[name];
            if (name == std::string_view("baseline") && bits.points >= std::uint64_t{1} << s.baseline_points) continue;
            run(exe, f, trial.host_a(), trial.host_b(), trial.host_results());
            const Difference d = trial.difference(n);
            bits.points += n;
            if (bits.different.count == 0) bits.different.at = d.at;
            bits.different.count += d.count;
        }
    }
    return o;
}

/// A line of the JSON file.
template <class T> std::string json(const Function& f, Points points, const Outcome& o, double seconds) {
    std::string bits;
    for (const auto& [set, found] : o.bits)
        bits += fmt::format(R"({}"{}": {{"points": {}, "different": {}}})", bits.empty() ? "" : ", ", set, found.points,
                            found.different.count);
    return fmt::format(R"({{"function": "{}", "type": "{}", "points": {}, "all": {}, "ulp": {:.5f}, "at": "{}", )"
                       R"("most": {}, "misrounded": {:.6f}, "wrong": {}, "bits": {{{}}}, "seconds": {:.2f}}})",
                       f.name, gf::to_text(gf::dtype_of<T>), o.tally.points, points == Points::all_bits, o.tally.most,
                       operands_text<T>(f, points, o.tally.at), f.most<T>(),
                       static_cast<double>(o.tally.misrounded) / static_cast<double>(o.tally.points), o.tally.wrong,
                       bits, seconds);
}

/// Prints what was found. True if all is well.
template <class T> bool report(const Function& f, Points points, const Outcome& o, double seconds) {
    const std::string name = fmt::format("{} {}", f.name, gf::to_text(gf::dtype_of<T>));
    fmt::print("{}: {} points, {:.4f} ulp at {}, {:.3f} % misrounded, {:.1f} s\n", name, o.tally.points, o.tally.most,
               operands_text<T>(f, points, o.tally.at),
               100 * static_cast<double>(o.tally.misrounded) / static_cast<double>(o.tally.points), seconds);
    bool well = true;
    if (o.tally.wrong != 0) {
        well = false;
        fmt::print("WRONG: {} of {} special or signed results, first at {}\n", o.tally.wrong, name,
                   operands_text<T>(f, points, o.tally.wrong_at));
    }
    if (o.tally.most > f.most<T>()) {
        well = false;
        fmt::print("TOO LARGE: {} may have {} ulp\n", name, f.most<T>());
    }
    for (const auto& [set, bits] : o.bits)
        if (bits.different.count != 0) {
            well = false;
            fmt::print("OTHER BITS: {} of {} results of {} on the CPU with {}, first at {}\n", bits.different.count,
                       bits.points, name, set, operands_text<T>(f, points, bits.different.at));
        }
    std::fflush(stdout);
    return well;
}

/// Appends a line for each function of one type. Returns the number of those that fail.
template <class T> int try_all(const Settings& s, std::vector<std::string>& lines) {
    if (!names(s.types, gf::to_text(gf::dtype_of<T>))) return 0;
    const std::uint64_t capacity = std::uint64_t{1} << std::min(28, s.points < 0 ? 28 : s.points);
#if GRIDFOLD_TRIAL_GPU
    const auto trial = s.device == "cpu" ? trial_on_host<T>(capacity) : trial_on_gpu<T>(capacity);
#else
    const auto trial = trial_on_host<T>(capacity);
#endif
    int failed = 0;
    for (const Function& f : all_functions) {
        if (!names(s.functions, f.name)) continue;
        const auto start = Clock::now();
        const bool all = s.points < 0 && sizeof(T) == 4 && f.arity() == 1;
        const Points points = all ? Points::all_bits : Points::hard;
        const std::uint64_t count = std::uint64_t{1} << (all ? 32 : s.points < 0 ? 30 : s.points);
        const Outcome o = outcome(*trial, capacity, f, points, count, s);
        const double seconds = seconds_since(start);
        failed += report<T>(f, points, o, seconds) ? 0 : 1;
        lines.push_back(json<T>(f, points, o, seconds));
    }
    return failed;
}

/// The kernel module's version, such as "580.159.04", or "none".
std::string driver_version() {
    std::ifstream file("/proc/driver/nvidia/version");
    for (std::string word; file >> word;)
        if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos)
            return word;
    return "none";
}
void write(const Settings& s, const std::vector<std::string>& lines) {
    std::ofstream file(s.out);
    const std::time_t now = std::time(nullptr);
    char date[32];
    std::strftime(date, sizeof date, "%FT%T+00:00", std::gmtime(&now));
    const auto device_of = [](const std::string& device) {
        return compiled(all_functions[0], gf::DType::f32, device).device();
    };
    file << fmt::format(R"({{"context": {{"date": "{}", "device": "{}", "cpu": "{}", "driver": "{}"}},)", date,
                        device_of(s.device), device_of("cpu"), driver_version())
         << "\n\"functions\": [\n";
    for (std::size_t i = 0; i < lines.size(); ++i) file << lines[i] << (i + 1 < lines.size() ? ",\n" : "\n");
    file << "]}\n";
    if (!file) throw std::runtime_error("cannot write " + s.out);
}

} // namespace

int main(int count, char** arguments) try {
    const Settings s = settings_of(count, arguments);
    std::vector<std::string> lines;
    const int failed = try_all<float>(s, lines) + try_all<double>(s, lines);
    if (!s.out.empty()) write(s, lines);
    fmt::print("{} functions, {} failed\n", lines.size(), failed);
    return failed;
} catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 100;
}
