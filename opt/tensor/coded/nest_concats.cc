#include "encore/opt/tensor/coded/nest_concats.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/core/ids.h"
#include "encore/opt/tensor/coded/coded_rules.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

struct Concat {
  eg::ClassId result;
  int64_t axis = 0;
  std::vector<eg::ClassId> operands{};
  eg::ClassId node{};                  // the id of the concat itself
  std::vector<eg::ClassId> written{};  // TensorEGraph::WrittenOperands
};

// The concats that are there, of at least so many operands.
std::vector<Concat> ConcatsOf(const TensorEGraph& tensors, size_t least) {
  const eg::EGraph& graph = tensors.graph();
  std::vector<Concat> concats;
  for (uint32_t n = 0; n < graph.node_limit(); ++n) {
    const eg::NodeId node(n);
    if (!graph.live(node)) continue;
    const TensorOp& op = tensors.op(node);
    if (op.kind != TensorOp::Kind::kOp || op.op != Op::kConcat) continue;
    Concat concat{.result = graph.class_of(node),
                  .axis = tensors.attributes(node).Get<AxisAttrs>().axis,
                  .operands = tensors.operands(node),
                  .node = eg::ClassId(n),
                  .written = tensors.WrittenOperands(node)};
    if (concat.operands.size() >= least &&
        concat.operands.size() <= kMostNested) {
      concats.push_back(std::move(concat));
    }
  }
  return concats;
}

// All operands of nested concats, by class and dim.
class Flattener {
 public:
  explicit Flattener(const std::vector<Concat>& concats) {
    for (const Concat& concat : concats) {
      if (concat.operands.size() == 2) {
        pairs_.try_emplace({concat.result, concat.axis}, concat);
      }
    }
  }

  // Nothing else than the operands where they are no concats; in the order of
  // the result. Goes into a class once, so that no cycle is followed, and stops
  // at kMostNested.
  // `equal`: what it took for one.
  std::vector<eg::ClassId> Flatten(const Concat& concat,
                                   TensorEGraph::EqualIds* equal) const {
    std::vector<eg::ClassId> flat;
    std::set<eg::ClassId> entered = {concat.result};
    struct Operand {
      eg::ClassId c, written;
    };
    std::vector<Operand> stack;
    const auto push = [&](const Concat& of) {
      for (size_t i = of.operands.size(); i-- > 0;) {
        stack.push_back({of.operands[i], of.written[i]});
      }
    };
    push(concat);
    while (!stack.empty()) {
      const auto [c, written] = stack.back();
      stack.pop_back();
      const auto it = pairs_.find({c, concat.axis});
      if (it == pairs_.end() ||
          flat.size() + stack.size() + 2 > size_t{kMostNested} ||
          !entered.insert(c).second) {
        flat.push_back(written);
        continue;
      }
      if (it->second.node != written) {
        equal->emplace_back(it->second.node, written);
      }
      push(it->second);
    }
    return flat;
  }

 private:
  std::map<std::pair<eg::ClassId, int64_t>, Concat> pairs_;
};

}  // namespace

void NestConcats(TensorEGraph* tensors, RuleCount* count, eg::RuleId rule) {
  eg::EGraph& graph = tensors->graph();
  const size_t nodes = graph.num_enodes();
  for (const Concat& concat : ConcatsOf(*tensors, 3)) {
    eg::ClassId nested = concat.written.back();
    for (size_t i = concat.written.size() - 1; i-- > 0;) {
      const eg::ClassId pair[2] = {concat.written[i], nested};
      nested = tensors->Add(Op::kConcat, pair, AxisAttrs{.axis = concat.axis});
    }
    count->applications += UniteByCode(tensors, rule, concat.node, nested);
  }
  graph.Rebuild();
  count->nodes += graph.num_enodes() - nodes;
}

void FlattenConcats(TensorEGraph* tensors, RuleCount* count, eg::RuleId rule) {
  eg::EGraph& graph = tensors->graph();
  const size_t nodes = graph.num_enodes();
  const std::vector<Concat> concats = ConcatsOf(*tensors, 2);
  const Flattener flattener(concats);
  for (const Concat& concat : concats) {
    TensorEGraph::EqualIds equal;
    const std::vector<eg::ClassId> flat = flattener.Flatten(concat, &equal);
    if (flat.size() == concat.operands.size()) continue;
    const eg::ClassId all =
        tensors->Add(Op::kConcat, flat, AxisAttrs{.axis = concat.axis});
    count->applications +=
        UniteByCode(tensors, rule, concat.node, all, std::move(equal));
  }
  graph.Rebuild();
  count->nodes += graph.num_enodes() - nodes;
}

}  // namespace encore::opt
