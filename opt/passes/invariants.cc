#include "encore/opt/passes/invariants.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/transform/rewrite.h"
#include "encore/opt/passes/bodies.h"

namespace encore::opt {
namespace {

using Values = std::vector<Value>;
using ValueSpan = std::span<const Value>;

// What a symbol counts as where bytes are compared.
constexpr int64_t kTypicalExtent = 32;
// So many nodes take longer than their result takes to be read.
constexpr size_t kHeavyNodes = 16;

double Bytes(const Graph& graph, ValueId value) {
  const std::vector<int64_t> sizes(graph.symbols().size(), kTypicalExtent);
  double bytes = BitWidth(graph.dtype(value)) / 8.0;
  for (const Dim& dim : graph.shape(value).dims()) {
    bytes *= static_cast<double>(dim.Evaluate(sizes).value_or(kTypicalExtent));
  }
  return bytes;
}

// Computes no element: read where its operand is.
bool IsView(const Graph& graph, NodeId node) {
  const Op op = graph.op(node);
  return graph.info(node).has(kCheap) || op == Op::kConstant ||
         op == Op::kReshape || op == Op::kBitcast || op == Op::kSlice;
}

bool IsSource(const Graph& graph, NodeId node) {
  return graph.op(node) == Op::kInput || graph.op(node) == Op::kParameter;
}

// Takes longer than its result takes to be read.
bool IsHeavy(const OpInfo& info) {
  return info.has(kContraction) || info.has(kReduction) ||
         (info.has(kElementwise) &&
          std::ranges::none_of(info.dtypes, IsInteger));
}

// The invariants of one body that are worth to be captured.
class Invariants {
 public:
  // `same`: which arguments are the same in each trip.
  Invariants(const Graph& body, const std::vector<bool>& same)
      : body_(body),
        live_(LiveNodes(body)),
        same_(body.value_count()),
        moves_(body.node_count()),
        considered_(body.value_count()) {
    // What is said in symbols of the body cannot move.
    if (DefinesSymbols(body)) return;
    for (size_t i = 0; i < same.size(); ++i) {
      same_[body.arguments()[i].value.value()] = same[i];
    }
    for (const NodeId node : Nodes(body)) {
      if (CanMove(node)) same_[body.result(node).value()] = true;
    }
    for (const NodeId node : Nodes(body)) {
      if (!live_[node.value()] || IsSame(node)) continue;
      for (const ValueId operand : body.operands(node)) Consider(operand);
    }
    for (const Graph::Output& output : body.outputs()) Consider(output.value);
  }

  // Of the body, in the order in which they are captured.
  const std::vector<ValueId>& captured() const { return captured_; }

  // The captured values, in front of the loop. `inputs`: of the arguments that
  // are the same; others may be anything.
  Values Make(GraphBuilder& g, ValueSpan inputs) const {
    Values values(body_.value_count());
    for (size_t i = 0; i < inputs.size(); ++i) {
      values[body_.arguments()[i].value.value()] = inputs[i];
    }
    for (const NodeId node : Nodes(body_)) {
      if (!moves_[node.value()]) continue;
      const auto scope = g.Origin(body_.origin(node));
      Values operands;
      for (const ValueId operand : body_.operands(node)) {
        operands.push_back(values[operand.value()]);
      }
      values[body_.result(node).value()] =
          g.Node(body_.op(node), operands, body_.attributes(node))[0];
    }
    Values made;
    for (const ValueId value : captured_) {
      made.push_back(values[value.value()]);
    }
    return made;
  }

 private:
  bool IsSame(NodeId node) const {
    return body_.result_count(node) == 1 && same_[body_.result(node).value()];
  }

  bool CanMove(NodeId node) const {
    const OpInfo& info = body_.info(node);
    const Op op = body_.op(node);
    if (!live_[node.value()] || IsSource(body_, node) ||
        body_.result_count(node) != 1 || info.bodies > 0 ||
        info.has(kNonFlatValues) || MayFail(op, body_.attributes(node))) {
      return false;
    }
    const TensorType& type = body_.type(body_.result(node));
    return type.kind == ValueKind::kTensor && !IsString(type.dtype) &&
           std::ranges::all_of(body_.operands(node), [this](ValueId operand) {
             return same_[operand.value()];
           });
  }

  // Of an invariant that the body needs: what it is a view of, if that is worth
  // to be captured.
  void Consider(ValueId value) {
    while (same_[value.value()] && IsView(body_, body_.producer(value))) {
      const auto operands = body_.operands(body_.producer(value));
      if (operands.empty()) return;
      value = operands[0];
    }
    if (!same_[value.value()] || considered_[value.value()]) return;
    considered_[value.value()] = true;
    if (IsSource(body_, body_.producer(value)) || !IsWorthIt(value)) return;
    Move(body_.producer(value));
    captured_.push_back(value);
  }

  // A node, and all that it follows from.
  void Move(NodeId node) {
    std::vector<NodeId> work = {node};
    while (!work.empty()) {
      const NodeId next = work.back();
      work.pop_back();
      if (moves_[next.value()] || IsSource(body_, next)) continue;
      moves_[next.value()] = true;
      for (const ValueId operand : body_.operands(next)) {
        work.push_back(body_.producer(operand));
      }
    }
  }

  bool IsWorthIt(ValueId value) const {
    std::vector<NodeId> cone = {body_.producer(value)};
    std::vector<ValueId> read;
    for (size_t i = 0; i < cone.size(); ++i) {
      if (IsHeavy(body_.info(cone[i])) || i == kHeavyNodes) return true;
      for (const ValueId operand : body_.operands(cone[i])) {
        const NodeId node = body_.producer(operand);
        if (IsSource(body_, node)) {
          if (std::ranges::find(read, operand) == read.end()) {
            read.push_back(operand);
          }
        } else if (std::ranges::find(cone, node) == cone.end()) {
          cone.push_back(node);
        }
      }
    }
    double bytes = 0;
    for (const ValueId source : read) bytes += Bytes(body_, source);
    return Bytes(body_, value) <= bytes;
  }

  const Graph& body_;
  const std::vector<bool> live_;
  std::vector<bool> same_;        // by value
  std::vector<bool> moves_;       // by node
  std::vector<bool> considered_;  // by value
  std::vector<ValueId> captured_;
};

// Which of a body's first `count` values are carried unchanged.
std::vector<bool> Unchanged(const Graph& body, size_t count) {
  std::vector<bool> same;
  for (size_t i = 0; i < count; ++i) {
    same.push_back(body.outputs()[i].value == body.arguments()[i].value);
  }
  return same;
}

class Hoister {
 public:
  bool changed() const { return changed_; }

  std::optional<Values> Rewrite(GraphBuilder& g, const Graph& from, NodeId node,
                                ValueSpan operands) {
    if (from.op(node) == Op::kWhile) return While(g, from, node, operands);
    if (from.op(node) == Op::kScan) return Scan(g, from, node, operands);
    return std::nullopt;
  }

 private:
  std::optional<Values> While(GraphBuilder& g, const Graph& from, NodeId node,
                              ValueSpan operands) {
    const Graph &condition = from.bodies(node)[0], &step = from.bodies(node)[1];
    const std::vector<bool> same = Unchanged(step, operands.size());
    const Invariants tested(condition, same), stepped(step, same);
    Values values(operands.begin(), operands.end());
    const Values first = tested.Make(g, operands);
    const Values second = stepped.Make(g, operands);
    if (first.empty() && second.empty()) return std::nullopt;
    changed_ = true;
    values.insert(values.end(), first.begin(), first.end());
    values.insert(values.end(), second.begin(), second.end());
    const size_t count = operands.size();
    Values results = g.While(
        values,
        [&](GraphBuilder& body, ValueSpan in) {
          return Apply(body, condition, in.first(count), tested,
                       in.subspan(count, first.size()));
        },
        [&](GraphBuilder& body, ValueSpan in) {
          Values out = Apply(body, step, in.first(count), stepped,
                             in.subspan(count + first.size()));
          out.insert(out.end(), in.begin() + count, in.end());
          return out;
        });
    results.resize(count);
    return results;
  }

  std::optional<Values> Scan(GraphBuilder& g, const Graph& from, NodeId node,
                             ValueSpan operands) {
    const Graph& body = from.bodies(node)[0];
    ScanAttrs attrs = from.attrs<ScanAttrs>(node);
    std::vector<bool> same = Unchanged(body, attrs.carried);
    same.resize(operands.size() - attrs.captures, false);
    same.resize(operands.size(), true);
    const Invariants invariants(body, same);
    const Values made = invariants.Make(g, operands);
    if (made.empty()) return std::nullopt;
    changed_ = true;
    Values values(operands.begin(), operands.end());
    values.insert(values.end(), made.begin(), made.end());
    attrs.captures += static_cast<int64_t>(made.size());
    const size_t count = operands.size();
    return g.Scan(
        values,
        [&](GraphBuilder& inner, ValueSpan in) {
          return Apply(inner, body, in.first(count), invariants,
                       in.subspan(count));
        },
        attrs);
  }

  // The outputs of `body` with these in place of its invariants.
  Values Apply(GraphBuilder& g, const Graph& body, ValueSpan inputs,
               const Invariants& invariants, ValueSpan captures) {
    const std::vector<ValueId>& captured = invariants.captured();
    const auto rewrite = [&](GraphBuilder& inner, const Graph& from,
                             NodeId node,
                             ValueSpan operands) -> std::optional<Values> {
      if (&from == &body && from.result_count(node) == 1) {
        const auto found = std::ranges::find(captured, from.result(node));
        if (found != captured.end()) {
          return Values{captures[found - captured.begin()]};
        }
      }
      return Rewrite(inner, from, node, operands);
    };
    StatusOr<Values> outputs = InlineGraph(g, body, inputs, rewrite);
    if (outputs.ok()) return *std::move(outputs);
    g.Fail(outputs.status());
    return Values(body.outputs().size());
  }

  bool changed_ = false;
};

}  // namespace

StatusOr<std::optional<Graph>> HoistInvariants(const Graph& graph) {
  std::optional<Graph> hoisted;
  // Once a depth: what came out of a loop may leave the loop around it.
  for (int depth = 0; depth < graph.body_depth(); ++depth) {
    Hoister hoister;
    ENCORE_ASSIGN_OR_RETURN(Graph after,
                            RewriteGraph(hoisted ? *hoisted : graph,
                                         [&](GraphBuilder& g, const Graph& from,
                                             NodeId node, ValueSpan operands) {
                                           return hoister.Rewrite(g, from, node,
                                                                  operands);
                                         }));
    if (!hoister.changed()) break;
    // What moved is dead in the bodies.
    ENCORE_ASSIGN_OR_RETURN(hoisted, Simplify(after));
  }
  return hoisted;
}

}  // namespace encore::opt
