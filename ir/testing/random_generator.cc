#include "encore/ir/testing/random_generator.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/testing/random_host_nodes.h"
#include "encore/ir/testing/random_tensor_nodes.h"

namespace encore::internal {

RandomGenerator::Values RandomGenerator::NewNode(Op op, DType dtype) {
  const OpInfo& info = Info(op);
  if (info.has(kBodies)) return Bodies(op, dtype);
  return info.has(kNonFlatValues) ? RandomHostNode(operands_, op, dtype)
                                  : RandomTensorNode(operands_, op, dtype);
}

RandomGenerator::Values RandomGenerator::Bodies(Op op, DType dtype) {
  Values operands = {operands_.Any(dtype, false)};
  while (operands.size() < 3 && operands_.Chance(50)) {
    operands.push_back(
        operands_.Any(operands_.RandomDType(Info(op).dtypes), false));
  }
  if (operands_.Chance(25))
    operands.push_back(operands_.SequenceOf(dtype, 2, std::nullopt));
  const uint64_t seed = operands_.Bits();
  if (op == Op::kIf) {
    const auto then = BodyOf(0, operands, seed);
    const auto otherwise = BodyOf(0, operands, seed + 1);
    return operands_.builder().If(operands_.Like(DType::kBool, Shape()),
                                  operands, then, otherwise);
  }
  const int64_t trips = operands_.Below(4);
  if (op == Op::kLoop) {
    const auto inner = BodyOf(2, operands, seed);
    const auto body = [&inner](GraphBuilder& g, std::span<const Value> in) {
      Values outputs = inner(g, in);
      outputs.insert(outputs.begin(), in[1]);
      outputs.push_back(g.Cast(in[0], DType::kI32));
      return outputs;
    };
    return operands_.builder().Loop(
        operands_.builder().Scalar(DType::kI64, trips),
        operands_.builder().Constant(Literal::Scalar(true)), operands, body,
        {.carried = static_cast<int64_t>(operands.size()), .trips = {trips}});
  }
  if (op == Op::kWhile) {
    operands.insert(operands.begin(),
                    operands_.builder().Scalar(DType::kI64, int64_t{0}));
    const auto condition = [trips](GraphBuilder& g, std::span<const Value> in) {
      return Values{g.Compare(in[0], trips, Comparison::kLt)};
    };
    const auto inner = BodyOf(1, std::span(operands).subspan(1), seed);
    const auto step = [&inner](GraphBuilder& g, std::span<const Value> in) {
      Values outputs = inner(g, in);
      outputs.insert(outputs.begin(), g.Add(in[0], 1));
      return outputs;
    };
    return operands_.builder().While(operands, condition, step);
  }
  // Scan: the first operand carried, a new one scanned, the others captured.
  const Value scanned = operands_.Any(dtype, false, 1);
  operands.insert(operands.begin() + 1, scanned);
  ScanAttrs attrs;
  attrs.carried = 1;
  attrs.captures = static_cast<int64_t>(operands.size()) - 2;
  attrs.scan_axes = {operands_.Axis(scanned), 0};
  attrs.directions = operands_.Each(2, 0, 1);
  const auto body = BodyOf(0, std::span(operands).first(2), seed);
  return operands_.builder().Scan(operands, body, std::move(attrs));
}

bool RandomGenerator::AddNode(Op op, DType dtype) {
  if (op == Op::kInput || op == Op::kParameter || op == Op::kCustom ||
      !Info(op).allows(dtype)) {
    return false;
  }
  const Values results = NewNode(op, dtype);
  ENCORE_CHECK_OK(operands_.builder().status());
  for (const Value& result : results) operands_.AddToPool(result);
  return true;
}

void RandomGenerator::AddNodes(int count) {
  while (count > 0) {
    const Op op =
        operands_.options().ops.empty()
            ? AllOps()[operands_.Below(AllOps().size())].op
            : operands_.options()
                  .ops[operands_.Below(operands_.options().ops.size())];
    // Bodies in bodies only sometimes.
    if (operands_.is_body() && Info(op).has(kBodies) && operands_.Chance(80))
      continue;
    if (AddNode(op, operands_.RandomDType(Info(op).dtypes))) --count;
  }
}

GraphBuilder::Body RandomGenerator::BodyOf(size_t first,
                                           std::span<const Value> like,
                                           uint64_t seed) {
  // Outputs are of the types of inputs first, first + 1, …
  const size_t count = like.size();
  return [this, first, count, seed](GraphBuilder& body,
                                    std::span<const Value> inputs) {
    RandomGenerator inner(body, seed, operands_.options(), /*is_body=*/true);
    for (const Value& input : inputs) inner.operands_.AddToPool(input);
    inner.AddNodes(2);
    Values outputs;
    for (size_t i = 0; i < count; ++i) {
      outputs.push_back(inner.operands_.SameType(inputs[first + i]));
    }
    return outputs;
  };
}

}  // namespace encore::internal
