#include "encore/opt/egraph/core/egraph.h"

#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace encore::egraph {
namespace {

struct Fixture {
  explicit Fixture(EGraph::Options options = {}) {
    Language language;
    sort = *language.AddClassSort("E");
    leaf =
        *language.AddOp({.name = "leaf", .args = {kI64Sort}, .result = sort});
    f = *language.AddOp({.name = "f", .args = {sort}, .result = sort});
    g = *language.AddOp({.name = "g", .args = {sort, sort}, .result = sort});
    h = *language.AddOp(
        {.name = "h", .args = {sort, kI64Sort, sort, sort}, .result = sort});
    graph = EGraph(std::move(language), options);
  }
  ClassId Leaf(int64_t i) {
    return graph.Add(leaf, {graph.language().literals().I64(i)});
  }
  SortId sort;
  OpId leaf, f, g, h;
  EGraph graph;
};

TEST(EGraphTest, AddFindsEqualNodes) {
  Fixture t;
  const ClassId x = t.Leaf(1);
  const ClassId y = t.Leaf(2);
  EXPECT_NE(x, y);
  EXPECT_EQ(x, t.Leaf(1));
  EXPECT_EQ(t.graph.Add(t.g, {x.value(), y.value()}),
            t.graph.Add(t.g, {x.value(), y.value()}));
  EXPECT_EQ(t.graph.num_enodes(), 3);
  EXPECT_EQ(t.graph.num_classes(), 3);
}

TEST(EGraphTest, CongruenceRunsUpChains) {
  Fixture t;
  ClassId a = t.Leaf(1);
  ClassId b = t.Leaf(2);
  const ClassId first_a = a;
  const ClassId first_b = b;
  constexpr int kDepth = 300'000;
  for (int i = 0; i < kDepth; ++i) {
    a = t.graph.Add(t.f, {a.value()});
    b = t.graph.Add(t.f, {b.value()});
  }
  EXPECT_FALSE(t.graph.Same(a, b));
  t.graph.Union(first_a, first_b);
  t.graph.Rebuild();
  EXPECT_TRUE(t.graph.Same(a, b));
  EXPECT_EQ(t.graph.num_enodes(), kDepth + 2);
  EXPECT_EQ(t.graph.num_classes(), kDepth + 1);
}

TEST(EGraphTest, NodesOfManyColumnsAreCongruent) {
  for (const size_t count : {3, 201, 256, 70'000}) {
    Fixture t;
    const OpId wide =
        *t.graph.language().AddOp({.name = "wide",
                                   .args = std::vector<SortId>(count, t.sort),
                                   .result = t.sort});
    const ClassId x = t.Leaf(1), y = t.Leaf(2);
    std::vector<Value> first(count, x.value()), second = first;
    second.back() = y.value();
    const ClassId a = t.graph.Add(wide, first);
    const ClassId b = t.graph.Add(wide, second);
    EXPECT_FALSE(t.graph.Same(a, b));
    t.graph.Union(x, y);
    t.graph.Rebuild();
    EXPECT_TRUE(t.graph.Same(a, b)) << count;
    EXPECT_EQ(t.graph.Lookup(wide, second), t.graph.Find(a));
  }
}

// A congruence closure that knows nothing but its definition.
class NaiveClosure {
 public:
  int Add(uint32_t op, std::vector<int64_t> args, uint32_t class_columns) {
    for (int i = 0; i < terms_.size(); ++i) {
      if (terms_[i].op == op && terms_[i].args == args) return i;
    }
    terms_.push_back({op, std::move(args), class_columns});
    parent_.push_back(parent_.size());
    return parent_.size() - 1;
  }
  int Find(int i) const {
    while (parent_[i] != i) i = parent_[i];
    return i;
  }
  void Union(int a, int b) { parent_[Find(a)] = Find(b); }
  void Close() {
    for (bool changed = true; changed;) {
      changed = false;
      std::map<std::vector<int64_t>, int> seen;
      for (int i = 0; i < terms_.size(); ++i) {
        const auto [it, fresh] = seen.try_emplace(Key(i), i);
        if (fresh || Find(it->second) == Find(i)) continue;
        Union(i, it->second);
        changed = true;
      }
    }
  }
  size_t num_nodes() const {
    std::set<std::vector<int64_t>> keys;
    for (int i = 0; i < terms_.size(); ++i) keys.insert(Key(i));
    return keys.size();
  }

 private:
  struct Term {
    uint32_t op;
    std::vector<int64_t> args;
    uint32_t class_columns;
  };
  std::vector<int64_t> Key(int i) const {
    std::vector<int64_t> key = {terms_[i].op};
    for (int k = 0; k < terms_[i].args.size(); ++k) {
      const int64_t arg = terms_[i].args[k];
      key.push_back(terms_[i].class_columns >> k & 1 ? Find(arg) : arg);
    }
    return key;
  }
  std::vector<Term> terms_;
  std::vector<int> parent_;
};

// The same terms are equal in both, and the e-graph's counts, lists and logs
// agree.
void ExpectAgrees(Fixture& t, NaiveClosure& naive,
                  const std::vector<ClassId>& ours,
                  const std::vector<int>& theirs, int seed) {
  std::set<int> classes;
  for (int i = 0; i < ours.size(); ++i) {
    classes.insert(naive.Find(theirs[i]));
    for (int j = 0; j < i; ++j) {
      ASSERT_EQ(t.graph.Same(ours[i], ours[j]),
                naive.Find(theirs[i]) == naive.Find(theirs[j]))
          << "seed " << seed;
    }
  }
  EXPECT_EQ(t.graph.num_classes(), classes.size());
  EXPECT_EQ(t.graph.num_enodes(), naive.num_nodes());
  // Lists and logs say the same.
  size_t members = 0;
  size_t logged = 0;
  for (const int c : classes) {
    for (int i = 0; i < ours.size(); ++i) {
      if (theirs[i] != c) continue;
      members += t.graph.Members(ours[i]).size();
      break;
    }
  }
  for (const OpId op : {t.leaf, t.f, t.g, t.h}) {
    logged += t.graph.NodesOf(op).size();
  }
  EXPECT_EQ(members, t.graph.num_enodes());
  EXPECT_EQ(logged, t.graph.num_enodes());
}

TEST(EGraphTest, AgreesWithNaiveCongruenceClosure) {
  for (int seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    Fixture t({.explanations = seed % 2 == 1});
    NaiveClosure naive;
    std::vector<ClassId> ours;
    std::vector<int> theirs;
    const auto pick = [&] { return random() % ours.size(); };
    for (int step = 0; step < 120; ++step) {
      const int what = ours.size() < 3 ? 0 : random() % 8;
      if (what == 0) {
        const int64_t i = random() % 10;
        const Value v = t.graph.language().literals().I64(i);
        ours.push_back(t.graph.Add(t.leaf, {v}));
        theirs.push_back(naive.Add(t.leaf.value(), {i}, 0));
      } else if (what <= 2) {
        const size_t a = pick();
        ours.push_back(t.graph.Add(t.f, {ours[a].value()}));
        theirs.push_back(naive.Add(t.f.value(), {theirs[a]}, 1));
      } else if (what == 3) {
        const size_t a = pick(), b = pick();
        ours.push_back(t.graph.Add(t.g, {ours[a].value(), ours[b].value()}));
        theirs.push_back(naive.Add(t.g.value(), {theirs[a], theirs[b]}, 3));
      } else if (what <= 5) {
        const size_t a = pick(), b = pick(), c = pick();
        const int64_t i = random() % 2;
        const Value v = t.graph.language().literals().I64(i);
        ours.push_back(t.graph.Add(
            t.h, {ours[a].value(), v, ours[b].value(), ours[c].value()}));
        theirs.push_back(
            naive.Add(t.h.value(), {theirs[a], i, theirs[b], theirs[c]}, 13));
      } else if (what == 6) {
        const size_t a = pick(), b = pick();
        t.graph.Union(ours[a], ours[b]);
        naive.Union(theirs[a], theirs[b]);
      } else {
        t.graph.NextStamp();
        t.graph.Rebuild();
      }
    }
    t.graph.Rebuild();
    naive.Close();
    ExpectAgrees(t, naive, ours, theirs, seed);
  }
}

TEST(EGraphTest, RelationsHoldRowsAndNoClasses) {
  Fixture t;
  const OpId edge = *t.graph.language().AddRelation("edge", {t.sort, t.sort});
  const ClassId x = t.Leaf(1), y = t.Leaf(2);
  t.graph.Add(edge, {x.value(), x.value()});
  t.graph.Add(edge, {x.value(), y.value()});
  EXPECT_EQ(t.graph.num_rows(edge), 2);
  EXPECT_EQ(t.graph.num_enodes(), 2);
  t.graph.Union(x, y);
  t.graph.Rebuild();
  EXPECT_EQ(t.graph.num_rows(edge), 1);
  EXPECT_EQ(t.graph.num_classes(), 1);
}

TEST(EGraphTest, RetiredNodesStayHashConsedAndCongruent) {
  Fixture t;
  const ClassId x = t.Leaf(1), y = t.Leaf(2);
  const ClassId fx = t.graph.Add(t.f, {x.value()});
  const ClassId fy = t.graph.Add(t.f, {y.value()});
  t.graph.Retire(*t.graph.LookupNode(t.f, std::vector<Value>{x.value()}));
  EXPECT_EQ(t.graph.num_enodes(), 3);
  EXPECT_EQ(t.graph.Add(t.f, {x.value()}), fx);
  EXPECT_EQ(t.graph.num_enodes(), 3);
  t.graph.Union(x, y);
  t.graph.Rebuild();
  EXPECT_TRUE(t.graph.Same(fx, fy));
  EXPECT_EQ(t.graph.num_enodes(), 2);
  EXPECT_TRUE(t.graph.NodesOf(t.f).empty());
}

TEST(EGraphTest, ClonesAreIndependent) {
  Fixture t;
  const ClassId x = t.Leaf(1), y = t.Leaf(2);
  EGraph copy = t.graph.Clone();
  copy.Union(x, y);
  copy.Rebuild();
  EXPECT_TRUE(copy.Same(x, y));
  EXPECT_FALSE(t.graph.Same(x, y));
}

}  // namespace
}  // namespace encore::egraph
