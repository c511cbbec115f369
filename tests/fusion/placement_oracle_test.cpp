// The placement of random graphs against the transitive closure of their DAG.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/transitive_closure.hpp>
#include <boost/range/iterator_range.hpp>
#include <gtest/gtest.h>

#include <gridfold/fusion/fuse.hpp>

#include "generate.hpp"
#include "passes/place_nodes.hpp"
#include "passes/place_sweeps.hpp"

namespace gf {
namespace {

using namespace plan;

/// leads[a][b]: true if there is a path from node a to node b.
std::vector<std::vector<bool>> closure_of(const Graph& graph) {
    using Plain = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
    const auto count = static_cast<std::size_t>(graph.node_count());
    Plain plain(count), closure;
    for (const NodeId n : graph.nodes())
        for (const NodeId operand : graph.operands(n)) boost::add_edge(operand.index(), n.index(), plain);
    boost::transitive_closure(plain, closure);
    std::vector<std::vector<bool>> leads(count, std::vector<bool>(count));
    for (const auto edge : boost::make_iterator_range(boost::edges(closure)))
        leads[boost::source(edge, closure)][boost::target(edge, closure)] = true;
    return leads;
}

class PlacementOracle {
public:
    explicit PlacementOracle(const Graph& graph) : graph_(graph), leads_(closure_of(graph)) {}

    void expect_legal(const Placement& placement) const {
        Table<NodeId, int> folded(static_cast<std::size_t>(graph_.node_count()));
        std::set<ArrayId> stored;
        for (const SweepId s : placement.sweeps.ids()) {
            const PlacedSweep& sweep = placement.sweeps[s];
            std::vector<NodeId> taken; // every value that the sweep folds, masks by or stores
            for (const NodeId reduce : sweep.reduces) {
                ++folded[reduce];
                for (const NodeId operand : graph_.operands(reduce)) taken.push_back(operand);
            }
            for (const PlacedStore& store : sweep.stores) {
                taken.push_back(store.node);
                EXPECT_TRUE(stored.insert(store.array).second) << "an array is stored twice";
            }
            for (const NodeId reduce : sweep.reduces)
                for (const NodeId value : taken)
                    EXPECT_FALSE(leads(reduce, value) || reduce == value)
                        << "sweep " << s.number() << " has a path through " << reduce.number();
            for (const NodeId node : sweep.nodes) {
                const bool is_reduce = graph_.node(node).kind == NodeKind::reduce;
                EXPECT_LE(is_reduce ? placement.made_in[node] : SweepId(), s)
                    << node.number() << " is read before it is made";
            }
        }
        for (const NodeId n : graph_.nodes())
            EXPECT_EQ(folded[n], graph_.node(n).kind == NodeKind::reduce && is_live(n) ? 1 : 0)
                << "node " << n.number();
        for (const ArrayId a : placement.arrays.ids())
            EXPECT_EQ(stored.count(a), placement.arrays[a].role == ArrayRole::input ? 0U : 1U)
                << placement.arrays[a].name;
    }

    /// A value's stage is the length of the longest chain of reductions before it.
    void expect_minimal(const Placement& placement) const {
        // Reductions that must be done before a value is.
        Table<NodeId, int> chain(static_cast<std::size_t>(graph_.node_count()));
        for (const NodeId n : graph_.nodes()) {
            for (NodeId r(0); r < n; r = r.next())
                if (leads(r, n)) chain[n] = std::max(chain[n], chain[r]);
            if (graph_.node(n).kind == NodeKind::reduce) ++chain[n];
        }
        std::set<std::pair<std::vector<DimId>, int>> kinds;
        std::size_t splits = 0;
        for (const PlacedSweep& sweep : placement.sweeps) {
            for (const NodeId reduce : sweep.reduces) EXPECT_EQ(sweep.stage, chain[reduce] - 1);
            for (const PlacedStore& store : sweep.stores) EXPECT_EQ(sweep.stage, chain[store.node]);
            if (!kinds.insert({sweep.dims, sweep.stage}).second) {
                ++splits;
                EXPECT_NE(sweep.reason.find("a sweep "), std::string::npos) << "split without need";
            }
        }
        EXPECT_EQ(kinds.size() + splits, placement.sweeps.size());
    }

private:
    bool leads(NodeId from, NodeId to) const { return leads_[from.index()][to.index()]; }
    bool is_live(NodeId node) const {
        return std::any_of(graph_.outputs().begin(), graph_.outputs().end(), [&](const Graph::Output& output) {
            return output.node == node || leads(node, output.node);
        });
    }

    const Graph& graph_;
    std::vector<std::vector<bool>> leads_;
};

TEST(Placement, of_random_graphs_is_legal_and_minimal) {
    oracle::Coverage coverage;
    std::size_t most_sweeps = 0;
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        const oracle::Case test = oracle::generate(seed, {}, coverage);
        SCOPED_TRACE(oracle::describe(test));
        const PlacementOracle oracle(test.graph);
        const Placement fused = place_sweeps(test.graph), unfused = place_nodes(test.graph);
        most_sweeps = std::max(most_sweeps, fused.sweeps.size());
        oracle.expect_legal(fused);
        oracle.expect_minimal(fused);
        oracle.expect_legal(unfused);
        if (HasFailure()) break;
    }
    EXPECT_GE(most_sweeps, 4U) << "the graphs are too simple to show anything";
}

TEST(Fuse, of_random_graphs_passes_every_verifier_with_any_pass_left_out) {
    oracle::Coverage coverage;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const oracle::Case test = oracle::generate(seed, {}, coverage);
        SCOPED_TRACE(oracle::describe(test));
        for (const char* skipped : {"", "fold_constants", "share_common", "simplify", "drop_dead"})
            for (const bool is_fused : {true, false}) {
                FuseOptions options;
                options.fuse = is_fused;
                options.verify = true;
                if (*skipped) options.skip = {skipped};
                EXPECT_NO_THROW(fuse(test.graph, options)) << skipped;
            }
        if (HasFailure()) break;
    }
}

} // namespace
} // namespace gf
