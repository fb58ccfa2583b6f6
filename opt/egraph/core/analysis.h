// Analysis: a fact per class, made from its nodes and joined at unions.
//
// The engine calls Make when a node is created and again when a fact of one of
// its children changed, Merge when two classes become one, and Modify when a
// class is new or its fact changed or it was merged. Joins must be monotone in
// a lattice of finite height; then, after EGraph::Rebuild, each fact is the
// join over all nodes of its class, whatever the order of unions was. When a
// fact changes, the nodes of the class and of its users count as changed, so
// that rules guarded by the fact look at them again.
//
// Most analyses derive from FactAnalysis<T>, which keeps the facts.
#ifndef ENCORE_OPT_EGRAPH_CORE_ANALYSIS_H_
#define ENCORE_OPT_EGRAPH_CORE_ANALYSIS_H_

#include <memory>
#include <utility>
#include <vector>

#include "encore/opt/egraph/core/ids.h"

namespace encore::egraph {

class EGraph;

class Analysis {
 public:
  virtual ~Analysis() = default;

  // Joins what `node` says into the fact of `cls`, the node's class; `fresh`:
  // the class has just been created and has no fact yet. Returns whether the
  // fact changed (ignored for fresh classes).
  virtual bool Make(const EGraph& graph, NodeId node, ClassId cls,
                    bool fresh) = 0;

  struct Merged {
    bool into_changed;  // the joined fact differs from that of `into` before
    bool from_changed;  // ... from that of `from` before
  };
  // Joins the fact of `from` into that of `into`.
  virtual Merged Merge(EGraph* graph, ClassId into, ClassId from) = 0;

  // May add nodes, union `cls` with them, and retire nodes of `cls`.
  virtual void Modify(EGraph* graph, ClassId cls) {}

  // For copies of the graph.
  virtual std::unique_ptr<Analysis> Clone() const = 0;
  virtual size_t memory_bytes() const { return 0; }
};

// Facts of type T (copyable, ==) in a flat store. Derived classes give Of and
// Join, and Clone as `return std::make_unique<Derived>(*this);`.
template <typename T>
class FactAnalysis : public Analysis {
 public:
  // REQUIRES: `cls` is canonical and has a node.
  const T& fact(ClassId cls) const { return facts_[cls.value()]; }

  bool Make(const EGraph& graph, NodeId node, ClassId cls,
            bool fresh) override {
    T made = Of(graph, node);
    if (facts_.size() <= cls.value()) facts_.resize(cls.value() + 1);
    if (fresh) {
      facts_[cls.value()] = std::move(made);
      return true;
    }
    return Join(nullptr, &facts_[cls.value()], made);
  }

  Merged Merge(EGraph* graph, ClassId into, ClassId from) override {
    T old = facts_[from.value()];
    const bool changed = Join(graph, &facts_[into.value()], old);
    return {changed, !(facts_[into.value()] == old)};
  }

  size_t memory_bytes() const override { return facts_.capacity() * sizeof(T); }

 protected:
  // What the node says, from the facts of its children.
  virtual T Of(const EGraph& graph, NodeId node) = 0;
  // Joins `from` into `into`; whether `into` changed. `graph` is where a
  // contradiction is reported (EGraph::SetError); null when `from` was made
  // from a node.
  virtual bool Join(EGraph* graph, T* into, const T& from) = 0;

 private:
  std::vector<T> facts_;
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_CORE_ANALYSIS_H_
