#include "encore/opt/passes/loops.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/transform/rewrite.h"
#include "encore/opt/passes/bodies.h"

namespace encore::opt {
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
  if (IsPacked(dtype)) {
    return IsSigned(dtype)  ? DType::kI8
           : IsFloat(dtype) ? DType::kF8E4M3
                            : DType::kU8;
  }
  return dtype;
}

// An empty sequence for what is stacked.
Value EmptySequence(GraphBuilder& g, DType dtype) {
  return g.Node(Op::kSequence, {}, ElementTypeAttrs{dtype})[0];
}

// `sequence` with `value` at its end, or at its beginning.
Value Longer(GraphBuilder& g, Value sequence, Value value, bool at_front) {
  const Value at = at_front ? g.Scalar(DType::kI64, int64_t{0})
                            : g.Node1(Op::kSequenceLength, {sequence});
  return g.Node1(Op::kSequenceInsert, {sequence, value, at});
}

Value StackedSequence(GraphBuilder& g, Value sequence, Dims dims) {
  return g.Node1(
      Op::kSequenceConcat, {sequence},
      SequenceConcatAttrs{/*axis=*/0, /*stack=*/true, std::move(dims)});
}

// A scan in the form that plans have. Packed elements travel as whole bytes.
// Strings, which a plan neither slices nor stacks, are captured whole and taken
// by the number of the trip; what the trips give of them is carried in a
// sequence.
class PlanScan {
 public:
  // `stacked`: the dtypes of what is stacked.
  PlanScan(GraphBuilder& g, ScanAttrs attrs, std::vector<DType> stacked)
      : g_(g), attrs_(std::move(attrs)), stacked_(std::move(stacked)) {}

  Values Make(ValueSpan operands, const GraphBuilder::Body& body) && {
    const auto carried = static_cast<size_t>(attrs_.carried);
    const size_t end = operands.size() - attrs_.captures;
    const ValueSpan elements = operands.subspan(carried, end - carried);
    attrs_.directions.resize(elements.size() + stacked_.size());
    length_ = elements[0].shape()[0];
    Values sequences, scanned, captures(operands.begin() + end, operands.end());
    ScanAttrs attrs = attrs_;
    attrs.directions.resize(elements.size());
    for (const Value& whole : elements) {
      elements_.push_back(whole.dtype());
      if (IsString(whole.dtype())) {
        scanned.push_back(g_.Iota(DType::kI64, {length_}, 0));
        captures.push_back(whole);
      } else {
        scanned.push_back(g_.Cast(whole, WholeBytes(whole.dtype())));
      }
    }
    for (size_t k = 0; k < stacked_.size(); ++k) {
      if (IsString(stacked_[k])) {
        sequences.push_back(EmptySequence(g_, stacked_[k]));
      } else {
        attrs.directions.push_back(attrs_.directions[elements.size() + k]);
      }
    }
    attrs.scan_axes.assign(attrs.directions.size(), 0);
    attrs.carried += static_cast<int64_t>(sequences.size());
    attrs.captures = static_cast<int64_t>(captures.size());
    const Values results = g_.Scan(
        Joined({operands.first(carried), sequences, scanned, captures}),
        [&](GraphBuilder& inner, ValueSpan in) {
          return Outputs(inner, in.subspan(carried, sequences.size()),
                         body(inner, Inputs(inner, in, sequences.size())));
        },
        attrs);
    return Results(results, sequences.size());
  }

 private:
  // What the body takes, of what the plan's scan gives.
  Values Inputs(GraphBuilder& inner, ValueSpan in, size_t sequences) const {
    const auto carried = static_cast<size_t>(attrs_.carried);
    const ValueSpan scanned = in.subspan(carried + sequences, elements_.size());
    const ValueSpan captures =
        in.subspan(carried + sequences + elements_.size());
    Values inputs(in.begin(), in.begin() + carried);
    auto whole = captures.begin() + attrs_.captures;
    for (size_t i = 0; i < elements_.size(); ++i) {
      inputs.push_back(IsString(elements_[i])
                           ? inner.Take(*whole++, scanned[i], 0)
                           : inner.Cast(scanned[i], elements_[i]));
    }
    inputs.insert(inputs.end(), captures.begin(),
                  captures.begin() + attrs_.captures);
    return inputs;
  }

  // What the plan's scan takes, of what the body gives: carried values,
  // sequences, stacked ones.
  Values Outputs(GraphBuilder& inner, ValueSpan sequences,
                 const Values& outputs) {
    const auto carried = static_cast<size_t>(attrs_.carried);
    Values longer, stacked;
    for (size_t k = 0; k < stacked_.size(); ++k) {
      const Value& output = outputs[carried + k];
      if (!IsString(stacked_[k])) {
        stacked.push_back(inner.Cast(output, WholeBytes(stacked_[k])));
        continue;
      }
      const bool backward = attrs_.directions[elements_.size() + k] != 0;
      if (output.valid()) shapes_.push_back(output.shape().dims());
      longer.push_back(
          Longer(inner, sequences[longer.size()], output, backward));
    }
    return Joined({ValueSpan(outputs).first(carried), longer, stacked});
  }

  // The results of the scan, of those of the plan's.
  Values Results(const Values& results, size_t sequences) const {
    const auto carried = static_cast<size_t>(attrs_.carried);
    if (!g_.status().ok()) return Values(carried + stacked_.size());
    Values all(results.begin(), results.begin() + carried);
    size_t sequence = 0, tensor = carried + sequences;
    for (const DType dtype : stacked_) {
      if (!IsString(dtype)) {
        all.push_back(g_.Cast(results[tensor++], dtype));
        continue;
      }
      Dims dims = shapes_[sequence];
      dims.insert(dims.begin(), length_);
      all.push_back(
          StackedSequence(g_, results[carried + sequence++], std::move(dims)));
    }
    return all;
  }

  GraphBuilder& g_;
  ScanAttrs attrs_;
  const std::vector<DType> stacked_;
  std::vector<DType> elements_;
  Dim length_;
  std::vector<Dims> shapes_;  // of an element of each sequence
};

// The results of `node` where no trip is made: what is carried, and nothing
// stacked.
Values WithoutTrips(GraphBuilder& g, const Graph& from, NodeId node,
                    ValueSpan carried) {
  Values results(carried.begin(), carried.end());
  for (int i = static_cast<int>(carried.size()); i < from.result_count(node);
       ++i) {
    const TensorType& type = from.type(from.result(node, i));
    const Value zero = g.Constant(Literal(type.dtype, {}));
    results.push_back(g.BroadcastTo(zero, type.shape));
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

// The values after the loop: how many trips there were, what is carried, then
// for each type in `stacked` a sequence of what the trips gave to be stacked.
Values MakeWhile(GraphBuilder& g, const LoopParts& loop,
                 std::span<const TensorType> stacked) {
  const Value start[] = {g.Scalar(DType::kI64, int64_t{0}), loop.condition,
                         loop.trips};
  Values sequences;
  for (const TensorType& type : stacked) {
    sequences.push_back(EmptySequence(g, type.dtype));
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
      longer.push_back(
          Longer(body, in[3 + k], outputs[1 + k], /*at_front=*/false));
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
  if (!count.is_constant()) g.DefineSymbols(trips, {count});
  const Value numbers = g.Iota(DType::kI64, {count}, 0);
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
  std::vector<DType> stacked;
  const std::span outputs(loop.body.outputs());
  for (const Graph::Output& output : outputs.subspan(1 + carried)) {
    stacked.push_back(loop.body.dtype(output.value));
  }
  return PlanScan(g, std::move(attrs), std::move(stacked)).Make(operands, body);
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
  if (loop.stacks() && !DefinesSymbols(loop.body)) {
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
    result = StackedSequence(g, result, stacked[k].shape.dims());
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
  std::vector<DType> stacked;
  for (size_t k = 0; k < axes.size(); ++k) {
    stacked.push_back(
        from.dtype(from.result(node, static_cast<int>(carried + k))));
  }
  const Graph& body = from.bodies(node)[0];
  Values results = PlanScan(g, std::move(attrs), std::move(stacked))
                       .Make(inputs, [&](GraphBuilder& inner, ValueSpan in) {
                         return Apply(inner, body, in);
                       });
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

StatusOr<std::optional<Graph>> LowerLoops(const Graph& graph) {
  // Without bodies there are none.
  if (graph.body_depth() == 0) return std::nullopt;
  ENCORE_ASSIGN_OR_RETURN(const Graph lowered, RewriteGraph(graph, LowerNode));
  // What an inlined body read may be needed no more: the condition of a counted
  // scan, results that only folded away.
  return Simplify(lowered);
}

}  // namespace encore::opt
