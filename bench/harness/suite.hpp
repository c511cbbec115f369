// The suite of all cases. Each case is registered by name before anything is allocated. When Google Benchmark runs the
// first of its contenders, all selected contenders are measured in turns and their memory is freed; each repetition
// reports one round.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace bench {

struct Settings {
    std::int64_t max_bytes = std::int64_t{1} << 30; ///< larger inputs are not registered
    bool keep_l2 = false;                           ///< does not flush the L2 between contenders
};

/// The measurements of one contender.
struct Series {
    std::vector<double> microseconds; ///< by repetition
    std::string label{};
    std::map<std::string, double> counters{};
};
using Times = std::map<std::string, Series>; ///< by contender

/// A case by name: `workload/type/bytes:B/mode/contender` are its benchmarks.
struct Spec {
    std::string workload, type;
    std::int64_t bytes; ///< bytes of the inputs that one call reads
    std::string mode;   ///< graph or call
    std::int64_t elements;
    std::int64_t moved; ///< bytes read and written by one call
    std::vector<std::string> contenders;
    int repetitions;
    /// Measures the contenders in `wanted`. Throws if a contender fails.
    std::function<Times(const Spec&, const std::set<std::string>& wanted, const Settings&)> measure;

    std::string name(const std::string& contender) const;
};

class Suite {
public:
    explicit Suite(Settings settings) : settings_(settings) {}
    void add(Spec spec);
    /// The names of all benchmarks that `filter` selects. As in Google Benchmark's flag, it is a regular expression
    /// that is searched for in the name; with '-' in front, it excludes matches; "" and "all" select everything.
    std::vector<std::string> names(const std::string& filter) const;
    /// Runs what the filter selects; true if everything succeeded. `writes_file`: --benchmark_out was given.
    bool run(const std::string& filter, bool writes_file);

private:
    Settings settings_;
    std::vector<Spec> specs_;
};

} // namespace bench
