#include "encore/opt/tensor/coded/gather_terms.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/shape.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/tensor/coded/coded_rules.h"
#include "encore/opt/tensor/interned.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

struct Term {
  eg::ClassId c;
  bool negative = false;
};

// What terms have in common.
struct Common {
  enum class Kind : uint8_t { kTerm, kOperand, kAttributes, kWeights };
  Kind kind;
  Op op = Op::kInput;
  int operand = 0;            // of kOperand: which one
  uint32_t value = 0;         // the class, or the type of the operands
  eg::Value attributes = {};  // of the node

  auto operator<=>(const Common&) const = default;
};

class Gatherer {
 public:
  Gatherer(TensorEGraph* tensors, Op op, RoundedFloats floats, RuleCount* count,
           eg::RuleId rule)
      : tensors_(*tensors),
        op_(op),
        floats_(floats),
        count_(*count),
        rule_(rule) {}

  void Run() {
    eg::EGraph& graph = tensors_.graph();
    const size_t enodes = graph.num_enodes();
    Look();
    for (const eg::NodeId root : Roots()) {
      const std::vector<Term> terms = TermsOf(root);
      if (terms.size() < 3) continue;
      const auto gathered = Gather(terms);
      if (!gathered) continue;
      const eg::ClassId sum = SumOf(*gathered);
      count_.applications +=
          UniteByCode(&tensors_, rule_, eg::ClassId(root.value()), sum);
    }
    graph.Rebuild();
    count_.nodes += graph.num_enodes() - enodes;
  }

 private:
  // The node of each class, and how often each is an operand.
  void Look() {
    const eg::EGraph& graph = tensors_.graph();
    for (uint32_t n = 0; n < graph.node_limit(); ++n) {
      const eg::NodeId node(n);
      if (!graph.live(node)) continue;
      nodes_.emplace(graph.class_of(node), node);
      const TensorOp& op = tensors_.op(node);
      if (op.kind == TensorOp::Kind::kArgument) continue;
      for (const eg::ClassId operand : tensors_.operands(node)) {
        ++uses_[operand];
      }
    }
  }

  bool IsInner(eg::NodeId node) const {
    const TensorOp& op = tensors_.op(node);
    if (op.kind != TensorOp::Kind::kOp ||
        (op.op != op_ && !(op_ == Op::kAdd && op.op == Op::kSub))) {
      return false;
    }
    const TensorType* const type =
        tensors_.type(tensors_.graph().class_of(node));
    return type != nullptr &&
           (!IsFloat(type->dtype) || floats_ == RoundedFloats::kAll ||
            BitWidth(type->dtype) >= 32);
  }

  // A sign before a term, or before terms.
  bool IsNegated(eg::NodeId node) const {
    const TensorOp& op = tensors_.op(node);
    return op_ == Op::kAdd && op.kind == TensorOp::Kind::kOp &&
           op.op == Op::kNeg;
  }

  // Sums that are no term of another.
  std::vector<eg::NodeId> Roots() const {
    std::map<eg::ClassId, bool> inner;
    for (const auto& [c, node] : nodes_) {
      if (!IsInner(node)) continue;
      for (const eg::ClassId operand : tensors_.operands(node)) {
        inner[operand] = true;
      }
    }
    std::vector<eg::NodeId> roots;
    for (const auto& [c, node] : nodes_) {
      if (IsInner(node) && !(inner.contains(c) && uses_.at(c) == 1)) {
        roots.push_back(node);
      }
    }
    return roots;
  }

  // From left to right; nothing where there are too many.
  std::vector<Term> TermsOf(eg::NodeId root) const {
    std::vector<Term> terms;
    std::vector<Term> stack;
    const auto push = [&](eg::NodeId node, bool negative) {
      const std::vector<eg::ClassId> operands = tensors_.operands(node);
      const bool difference = tensors_.op(node).op == Op::kSub;
      stack.push_back({operands[1], negative != difference});
      stack.push_back({operands[0], negative});
    };
    push(root, false);
    while (!stack.empty()) {
      const Term term = stack.back();
      stack.pop_back();
      const eg::NodeId node = nodes_.at(term.c);
      if (uses_.at(term.c) == 1 && IsNegated(node)) {
        stack.push_back({tensors_.operands(node)[0], !term.negative});
      } else if (IsInner(node) && uses_.at(term.c) == 1) {
        push(node, term.negative);
      } else {
        terms.push_back(term);
      }
      if (terms.size() + stack.size() > kMostGathered) return {};
    }
    return terms;
  }

  uint32_t TypeOf(eg::ClassId c) {
    const TensorType* const type = tensors_.type(c);
    return type == nullptr ? UINT32_MAX : types_.Number(*type);
  }

  std::vector<Common> CommonsOf(eg::ClassId c) {
    const eg::NodeId node = nodes_.at(c);
    const TensorOp& op = tensors_.op(node);
    std::vector<Common> commons = {
        {.kind = Common::Kind::kTerm, .value = c.value()}};
    if (op.kind == TensorOp::Kind::kOp) {
      const std::vector<eg::ClassId> operands = tensors_.operands(node);
      const eg::Value attributes =
          op.has_attributes ? tensors_.graph().args(node).back() : eg::Value{};
      switch (op.op) {
        case Op::kDotGeneral:
        case Op::kConvolution:
          for (const int k : {0, 1}) {
            commons.push_back({Common::Kind::kOperand, op.op, k,
                               operands[k].value(), attributes});
          }
          break;
        case Op::kMul:
          for (const int k : {0, 1}) {
            commons.push_back(
                {Common::Kind::kOperand, op.op, 0, operands[k].value()});
          }
          break;
        case Op::kBroadcast:
        case Op::kReduce:
        case Op::kCumulative:
          commons.push_back({Common::Kind::kAttributes, op.op, 0,
                             TypeOf(operands[0]), attributes});
          break;
        default:
          break;
      }
    }
    if (tensors_.fact(c).weight_only) {
      commons.push_back({.kind = Common::Kind::kWeights});
    }
    return commons;
  }

  // Groups of terms in the order of their first ones; nothing where they stand
  // like that already.
  std::optional<std::vector<std::vector<Term>>> Gather(
      const std::vector<Term>& terms) {
    std::vector<std::vector<Common>> commons;
    std::map<Common, std::vector<size_t>> members;
    for (size_t i = 0; i < terms.size(); ++i) {
      commons.push_back(CommonsOf(terms[i].c));
      for (const Common& common : commons.back()) {
        std::vector<size_t>& those = members[common];
        if (those.empty() || those.back() != i) those.push_back(i);
      }
    }
    std::vector<bool> taken(terms.size());
    std::vector<std::vector<Term>> groups;
    bool any = false;
    for (size_t i = 0; i < terms.size(); ++i) {
      if (taken[i]) continue;
      std::vector<size_t> best = {i};
      for (const Common& common : commons[i]) {
        std::vector<size_t> left;
        for (const size_t k : members[common]) {
          if (!taken[k]) left.push_back(k);
        }
        if (left.size() > best.size()) best = std::move(left);
      }
      groups.emplace_back();
      for (const size_t k : best) {
        taken[k] = true;
        groups.back().push_back(terms[k]);
      }
      any |= best.size() > 1;
    }
    if (!any) return std::nullopt;
    return groups;
  }

  // The terms as one, positive ones first.
  Term Fold(const std::vector<Term>& terms) {
    std::vector<Term> ordered;
    for (const bool negative : {false, true}) {
      std::ranges::copy_if(
          terms, std::back_inserter(ordered),
          [&](const Term& term) { return term.negative == negative; });
    }
    Term sum = ordered[0];
    for (size_t i = 1; i < ordered.size(); ++i) {
      const eg::ClassId operands[2] = {sum.c, ordered[i].c};
      const bool difference = ordered[i].negative != sum.negative;
      sum.c = tensors_.Add(difference ? Op::kSub : op_, operands,
                           DefaultAttributes(Info(op_).attributes));
    }
    return sum;
  }

  eg::ClassId SumOf(const std::vector<std::vector<Term>>& groups) {
    std::vector<Term> folded;
    for (const std::vector<Term>& group : groups) folded.push_back(Fold(group));
    const Term sum = Fold(folded);
    return sum.negative ? tensors_.Add(Op::kNeg, {&sum.c, 1},
                                       DefaultAttributes(Info(op_).attributes))
                        : sum.c;
  }

  TensorEGraph& tensors_;
  const Op op_;
  const RoundedFloats floats_;
  RuleCount& count_;
  const eg::RuleId rule_;
  std::map<eg::ClassId, eg::NodeId> nodes_;
  std::map<eg::ClassId, int> uses_;
  Interned<TensorType> types_;
};

}  // namespace

void GatherTerms(TensorEGraph* tensors, Op op, RoundedFloats floats,
                 RuleCount* count, eg::RuleId rule) {
  Gatherer(tensors, op, floats, count, rule).Run();
}

}  // namespace encore::opt
