// The pipeline: every pass in its order, with skipping, timing, dumping and verification.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <gridfold/core/error.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/text.hpp>

#include "passes/drop_dead.hpp"
#include "passes/fold_constants.hpp"
#include "passes/linearize.hpp"
#include "passes/lower_shifts.hpp"
#include "passes/place_nodes.hpp"
#include "passes/place_sweeps.hpp"
#include "passes/share_common.hpp"
#include "passes/simplify.hpp"
#include "plan/verify.hpp"

namespace gf::plan {

namespace {

using Rewriting = Graph (*)(const Graph&, const FuseOptions&);
using Placing = Placement (*)(const Graph&, const FuseOptions&);
using Planning = Plan (*)(const Graph&, const Placement&);

Placement place(const Graph& graph, const FuseOptions& options) {
    return options.fuse ? place_sweeps(graph) : place_nodes(graph);
}

struct Pass {
    std::string_view name;
    std::variant<Rewriting, Placing, Planning> run;
    std::string_view why_here;
    bool is_needed = false; ///< can't be skipped
};

constexpr Pass pipeline[] = {
    {"lower_shifts", lower_shifts, "first, because the other passes share and simplify what it makes", true},
    {"fold_constants", fold_constants, "early, because simplify looks for constants"},
    {"share_common", share_common, "before simplify, which compares operands by their node numbers"},
    {"simplify", simplify, "on few and folded nodes"},
    {"share_common", share_common, "again, because simplified values may have become the same"},
    {"drop_dead", drop_dead, "after the passes that leave replaced nodes behind"},
    {"place_sweeps", place, "once the graph is final, because removed and shared nodes change the sweeps"},
    {"linearize", linearize, "last: a Plan has no reference to the graph"},
};

#ifdef NDEBUG
constexpr bool always_verify = false;
#else
constexpr bool always_verify = true;
#endif

/// The current graph, placement and plan. Each kind of pass replaces one of the three.
class Forms {
public:
    Forms(Graph graph, const FuseOptions& options) : graph_(std::move(graph)), options_(options) {}

    void run(Rewriting pass) { graph_ = pass(graph_, options_); }
    void run(Placing pass) { placement_ = pass(graph_, options_); }
    void run(Planning pass) {
        std::string user_text = std::move(plan_.graph_text);
        plan_ = pass(graph_, placement_);
        plan_.graph_text = std::move(user_text);
    }

    std::string text_after(Rewriting) const { return to_text(graph_); }
    std::string text_after(Placing) const { return to_text(graph_, placement_); }
    std::string text_after(Planning) const { return to_text(plan_); }

    void verify_after(Rewriting) const { verify(graph_); }
    void verify_after(Placing) const {} // verifying the plan covers it
    void verify_after(Planning) const { verify(plan_); }

    Plan plan_;

private:
    Graph graph_;
    Placement placement_;
    const FuseOptions& options_;
};

bool may_be_skipped(const Pass& pass) { return std::holds_alternative<Rewriting>(pass.run) && !pass.is_needed; }

void check_skipped(const FuseOptions& options) {
    for (const std::string& skipped : options.skip) {
        const bool known = std::any_of(std::begin(pipeline), std::end(pipeline),
                                       [&](const Pass& pass) { return pass.name == skipped && may_be_skipped(pass); });
        if (!known)
            throw InvalidOption(fmt::format("skip names \"{}\"", skipped), "only passes that rewrite can be left out",
                                "name one of them");
    }
}

} // namespace

} // namespace gf::plan

namespace gf {

Plan fuse(const Graph& graph, const FuseOptions& options) {
    using namespace plan;
    check_skipped(options);
    if (graph.outputs().empty())
        throw InvalidGraph(fmt::format("graph {}", graph.name()), "has no outputs, so there is nothing to compute",
                           "name a result with output()");
    const bool verifies = always_verify || options.verify;
    if (verifies) verify(graph);
    Forms forms(graph, options);
    forms.plan_.graph_text = to_text(graph);
    std::string before = forms.plan_.graph_text;
    for (const Pass& pass : pipeline) {
        if (std::find(options.skip.begin(), options.skip.end(), pass.name) != options.skip.end()) continue;
        std::visit(
            [&](auto run) {
                const auto start = std::chrono::steady_clock::now();
                forms.run(run);
                if (options.time) options.time(pass.name, std::chrono::steady_clock::now() - start);
                if (options.dump) {
                    std::string after = forms.text_after(run);
                    options.dump(pass.name, after == before ? "unchanged" : std::string_view(after));
                    before = std::move(after);
                }
                if (verifies) forms.verify_after(run);
            },
            pass.run);
    }
    forms.plan_.may_join = options.fuse;
    return std::move(forms.plan_);
}

} // namespace gf
