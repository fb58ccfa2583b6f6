#include "encore/backends/lowering/loops.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "encore/ir/builder.h"
#include "encore/ir/rewrite.h"
#include "encore/ir/support/check.h"

namespace encore::backends {
namespace {

using Values = std::vector<Value>;
using ValueSpan = std::span<const Value>;

std::optional<Values> LowerNode(GraphBuilder& g, const Graph& from, NodeId node,
                                ValueSpan operands);

// The outputs of `body` for these inputs, as nodes of `g`.
Values Apply(GraphBuilder& g, const Graph& body, ValueSpan inputs) {
  StatusOr<Values> outputs = InlineGraph(g, body, inputs, LowerNode);
  if (outputs.ok()) return *std::move(outputs);
  g.Fail(outputs.status());
  return Values(body.outputs().size());
}

Values Joined(std::initializer_list<ValueSpan> lists) {
  Values all;
  for (const ValueSpan list : lists) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

// What a scan stacks or takes apart is addressed by the byte.
DType WholeBytes(DType dtype) {
  if (dtype == DType::kI4) return DType::kI8;
  if (dtype == DType::kU4) return DType::kU8;
  return dtype;
}

// A scan whose elements travel as whole bytes.
Values MakeScan(GraphBuilder& g, Values operands,
                const GraphBuilder::Body& body, ScanAttrs attrs) {
  const auto carried = static_cast<size_t>(attrs.carried);
  const size_t captures = operands.size() - attrs.captures;
  std::vector<DType> elements, stacked;
  for (size_t i = carried; i < captures; ++i) {
    elements.push_back(operands[i].dtype());
    operands[i] = g.Cast(operands[i], WholeBytes(elements.back()));
  }
  Values results = g.Scan(
      operands,
      [&](GraphBuilder& inner, ValueSpan in) {
        Values inputs(in.begin(), in.end());
        for (size_t i = 0; i < elements.size(); ++i) {
          inputs[carried + i] = inner.Cast(in[carried + i], elements[i]);
        }
        Values outputs = body(inner, inputs);
        for (size_t k = carried; k < outputs.size(); ++k) {
          stacked.push_back(outputs[k].dtype());
          outputs[k] = inner.Cast(outputs[k], WholeBytes(stacked.back()));
        }
        return outputs;
      },
      std::move(attrs));
  for (size_t k = carried; k < results.size(); ++k) {
    if (!results[k].valid()) continue;
    results[k] = g.Cast(results[k], stacked[k - carried]);
  }
  return results;
}

// The results of `node` where no trip is made: what is carried, and nothing
// stacked.
Values WithoutTrips(GraphBuilder& g, const Graph& from, NodeId node,
                    ValueSpan carried) {
  Values results(carried.begin(), carried.end());
  for (int i = static_cast<int>(carried.size()); i < from.result_count(node);
       ++i) {
    const TensorType& type = from.type(from.result(node, i));
    results.push_back(g.BroadcastTo(g.Scalar(type.dtype, 0.0), type.shape));
  }
  return results;
}

// A loop node in parts.
struct LoopParts {
  const LoopAttrs& attrs;
  const Graph& body;
  Value trips, condition;
  ValueSpan carried, captures;

  size_t carried_count() const { return carried.size(); }
  bool stacks() const { return !attrs.trips.empty(); }
  // Whether the condition never ends the loop.
  bool counts() const {
    const Literal* start = condition.constant();
    if (start == nullptr || start->AsInt(0) == 0) return false;
    const ValueId output = body.outputs()[0].value;
    const Literal* constant = body.constant(output);
    return constant != nullptr ? constant->AsInt(0) != 0
                               : output == body.arguments()[1].value;
  }
};

// Whether a node of `body` or of a body in it finds out a size.
bool FindsSizes(const Graph& body) {
  std::vector<const Graph*> work = {&body};
  while (!work.empty()) {
    const Graph& graph = *work.back();
    work.pop_back();
    for (const NodeId node : Nodes(graph)) {
      if (graph.info(node).has(kFindsSizes)) return true;
      for (const Graph& inner : graph.bodies(node)) work.push_back(&inner);
    }
  }
  return false;
}

// The values after the loop: how many trips there were, what is carried, then
// for each type in `stacked` a sequence of what the trips gave to be stacked.
Values MakeWhile(GraphBuilder& g, const LoopParts& loop,
                 std::span<const TensorType> stacked) {
  const Value start[] = {g.Scalar(DType::kI64, int64_t{0}), loop.condition,
                         loop.trips};
  Values sequences;
  for (const TensorType& type : stacked) {
    sequences.push_back(
        g.Node(Op::kSequence, {}, ElementTypeAttrs{type.dtype})[0]);
  }
  const Values values = Joined({start, loop.carried, sequences, loop.captures});
  const size_t carried = loop.carried_count();
  const size_t states = carried + stacked.size();
  const auto condition = [](GraphBuilder& body, ValueSpan in) {
    return Values{body.And(in[1], body.Compare(in[0], in[2], Comparison::kLt))};
  };
  const auto step = [&](GraphBuilder& body, ValueSpan in) {
    const Values inputs =
        Joined({in.first(2), in.subspan(3, carried), in.subspan(3 + states)});
    const Values outputs = Apply(body, loop.body, inputs);
    const Value next[] = {body.Add(in[0], 1), outputs[0], in[2]};
    Values longer;
    for (size_t k = carried; k < states; ++k) {
      const Value length = body.Node1(Op::kSequenceLength, {in[3 + k]});
      longer.push_back(
          body.Node1(Op::kSequenceInsert, {in[3 + k], outputs[1 + k], length}));
    }
    return Joined({next, ValueSpan(outputs).subspan(1, carried), longer,
                   in.subspan(3 + states)});
  };
  const Values results = g.While(values, condition, step);
  if (results.size() < 3 + states) return Values(1 + states);
  return Joined(
      {ValueSpan(results).first(1), ValueSpan(results).subspan(3, states)});
}

// The loop with exactly `trips` trips, a scan over their numbers.
Values MakeCountedScan(GraphBuilder& g, const LoopParts& loop, Value trips) {
  const Dim& count = loop.attrs.trips[0];
  const Value numbers = count.is_constant() ? g.Iota(DType::kI64, {count}, 0)
                                            : g.Node1(Op::kCountUp, {trips},
                                                      CountUpAttrs{{count}});
  const size_t carried = loop.carried_count();
  const Values operands = Joined({loop.carried, {&numbers, 1}, loop.captures});
  const auto body = [&](GraphBuilder& inner, ValueSpan in) {
    const Value start[] = {in[carried], inner.Constant(Literal::Scalar(true))};
    const Values outputs =
        Apply(inner, loop.body,
              Joined({start, in.first(carried), in.subspan(carried + 1)}));
    return Values(outputs.begin() + 1, outputs.end());
  };
  ScanAttrs attrs;
  attrs.carried = static_cast<int64_t>(carried);
  attrs.captures = static_cast<int64_t>(loop.captures.size());
  return MakeScan(g, operands, body, std::move(attrs));
}

Values LowerLoop(GraphBuilder& g, const Graph& from, NodeId node,
                 ValueSpan operands) {
  const LoopAttrs& attrs = from.attrs<LoopAttrs>(node);
  const auto carried = static_cast<size_t>(attrs.carried);
  LoopParts loop{
      attrs,       from.bodies(node)[0],         g.Max(operands[0], 0),
      operands[1], operands.subspan(2, carried), operands.subspan(2 + carried)};
  if (loop.stacks() && attrs.trips[0] == Dim(0)) {
    return WithoutTrips(g, from, node, loop.carried);
  }
  if (loop.counts() && loop.stacks()) {
    return MakeCountedScan(g, loop, loop.trips);
  }
  if (loop.stacks() && !FindsSizes(loop.body)) {
    return MakeCountedScan(g, loop, MakeWhile(g, loop, {})[0]);
  }
  std::vector<TensorType> stacked;
  for (int i = static_cast<int>(carried); i < from.result_count(node); ++i) {
    stacked.push_back(from.type(from.result(node, i)));
  }
  Values results = MakeWhile(g, loop, stacked);
  results.erase(results.begin());
  for (size_t k = 0; k < stacked.size(); ++k) {
    Value& result = results[carried + k];
    result = g.Node1(Op::kSequenceConcat, {result},
                     SequenceConcatAttrs{/*axis=*/0, /*stack=*/true,
                                         stacked[k].shape.dims()});
  }
  return results;
}

// The permutation that moves `axis` to the front, or back from there.
Ints Moved(int rank, int64_t axis, bool back) {
  Ints order(rank), inverse(rank);
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + axis, order.begin() + axis + 1);
  if (!back) return order;
  for (int i = 0; i < rank; ++i) inverse[order[i]] = i;
  return inverse;
}

Values LowerScan(GraphBuilder& g, const Graph& from, NodeId node,
                 ValueSpan operands) {
  ScanAttrs attrs = from.attrs<ScanAttrs>(node);
  const auto carried = static_cast<size_t>(attrs.carried);
  const size_t scanned = operands.size() - carried - attrs.captures;
  if (from.shape(from.operand(
          node, attrs.carried))[static_cast<int>(attrs.scan_axes[0])] ==
      Dim(0)) {
    return WithoutTrips(g, from, node, operands.first(carried));
  }
  Values inputs(operands.begin(), operands.end());
  for (size_t i = 0; i < scanned; ++i) {
    Value& whole = inputs[carried + i];
    if (attrs.scan_axes[i] == 0) continue;
    whole = g.Transpose(whole, Moved(whole.rank(), attrs.scan_axes[i], false));
  }
  const Ints axes(attrs.scan_axes.begin() + scanned, attrs.scan_axes.end());
  std::fill(attrs.scan_axes.begin(), attrs.scan_axes.end(), 0);
  const Graph& body = from.bodies(node)[0];
  Values results = MakeScan(
      g, inputs,
      [&](GraphBuilder& inner, ValueSpan in) { return Apply(inner, body, in); },
      std::move(attrs));
  for (size_t k = 0; k < axes.size() && carried + k < results.size(); ++k) {
    Value& whole = results[carried + k];
    if (axes[k] == 0 || !whole.valid()) continue;
    whole = g.Transpose(whole, Moved(whole.rank(), axes[k], true));
  }
  return results;
}

std::optional<Values> LowerNode(GraphBuilder& g, const Graph& from, NodeId node,
                                ValueSpan operands) {
  if (from.op(node) == Op::kLoop) return LowerLoop(g, from, node, operands);
  if (from.op(node) == Op::kScan) return LowerScan(g, from, node, operands);
  return std::nullopt;
}

}  // namespace

StatusOr<Graph> LowerLoops(Graph graph) {
  // Without bodies there are none.
  if (graph.body_depth() == 0) return graph;
  return RewriteGraph(graph, LowerNode);
}

}  // namespace encore::backends
