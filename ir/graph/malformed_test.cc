// Nodes as a hostile file may state them: each op's well-formed random node
// with one thing changed. Inference must refuse it or evaluation must cope with
// it; nothing may crash, hang or take much memory.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/ops/infer.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/testing/random_graph.h"

namespace encore {
namespace {

constexpr int64_t kMax = INT64_MAX, kMin = INT64_MIN;
constexpr int64_t kHostile[] = {-1,      0,        1,    2,        33,
                                1 << 20, kMax / 2, kMax, kMin / 2, kMin};

// Every variant of a field with one thing changed.
std::vector<int64_t> Variants(int64_t) {
  return {std::begin(kHostile), std::end(kHostile)};
}

std::vector<double> Variants(double) {
  return {-1.0, 0.0, INFINITY, NAN, std::numeric_limits<double>::max()};
}

std::vector<bool> Variants(bool value) { return {!value}; }

std::vector<DType> Variants(DType) {
  return {AllDTypes().begin(), AllDTypes().end()};
}

std::vector<std::string> Variants(const std::string&) { return {""}; }

std::vector<Literal> Variants(const Literal&) {
  return {Literal(DType::kU4, {0, kMax / 16})};
}

template <typename T>
std::vector<std::vector<T>> Variants(const std::vector<T>& list) {
  std::vector<std::vector<T>> variants = {{}};
  variants.push_back(list);
  variants.back().push_back(T(1));
  if (list.empty()) return variants;
  variants.push_back(list);
  variants.back().pop_back();
  variants.push_back(list);
  variants.back().back() = list.front();
  variants.push_back(std::vector<T>(100, list.front()));
  for (size_t i = 0; i < list.size(); ++i) {
    for (const int64_t value : kHostile) {
      variants.push_back(list);
      variants.back()[i] = T(value);
    }
    if constexpr (std::is_same_v<T, Dim>) {
      variants.push_back(list);
      variants.back()[i] = Dim::OfSymbol(99);
      variants.push_back(list);
      variants.back()[i] = Dim::Invalid();
    }
  }
  return variants;
}

std::vector<AxisPairs> Variants(const AxisPairs& pairs) {
  std::vector<AxisPairs> variants;
  for (const Ints& lhs : Variants(pairs.lhs)) {
    variants.push_back({lhs, pairs.rhs});
  }
  for (const Ints& rhs : Variants(pairs.rhs)) {
    variants.push_back({pairs.lhs, rhs});
  }
  return variants;
}

template <typename T>
  requires std::is_enum_v<T>
std::vector<T> Variants(T) {
  std::vector<T> all;
  for (uint64_t i = 0; EnumFromInt<T>(i); ++i)
    all.push_back(*EnumFromInt<T>(i));
  return all;
}

// Every variant of the attributes with one field changed.
std::vector<Attributes> AttributeVariants(const Attributes& attributes) {
  std::vector<Attributes> variants;
  Attributes changed = attributes;
  VisitFields(changed, [&](std::string_view, auto& field, const auto&) {
    const auto before = field;
    for (const auto& variant : Variants(before)) {
      field = variant;
      variants.push_back(changed);
    }
    field = before;
  });
  return variants;
}

class MalformedTest : public testing::TestWithParam<OpInfo> {
 protected:
  void Try(Op op, const Attributes& attributes,
           const std::vector<Literal>& operands) {
    EvaluateOptions options;
    options.max_bytes = 1 << 16;
    const auto results = EvaluateNode(op, attributes, operands, options);
    if (results.ok()) return;
    if (op == Op::kAssertion &&
        Message(results.status()) == attributes.Get<AssertionAttrs>().message) {
      return;
    }
    const StatusCode code = results.status().code();
    EXPECT_TRUE(code == StatusCode::kInvalidArgument ||
                code == StatusCode::kResourceExhausted ||
                (code == StatusCode::kOutOfRange && MayFail(op, attributes)))
        << results.status();
    EXPECT_EQ(Message(results.status()).find(Mnemonic(op)), 0u)
        << results.status();
  }
};

// The node of the op in a graph of RandomNode, without bodies: its operands
// are arguments.
struct Sample {
  Attributes attributes;
  std::vector<Literal> operands;
};

std::optional<Sample> SampleOf(Op op, DType dtype, uint64_t seed) {
  const auto graph = RandomNode(op, dtype, seed);
  if (!graph) return std::nullopt;
  Sample sample;
  EvaluateOptions options;
  std::vector<Literal> values(graph->value_count());
  options.on_node = [&](NodeId node, std::span<const Literal> results) {
    for (size_t i = 0; i < results.size(); ++i) {
      values[graph->result(node, static_cast<int>(i)).value()] = results[i];
    }
    return OkStatus();
  };
  EXPECT_TRUE(Evaluate(*graph, RandomArguments(*graph, seed), options).ok());
  for (const NodeId node : Nodes(*graph)) {
    if (graph->op(node) != op) continue;
    sample.attributes = graph->attributes(node);
    for (const ValueId operand : graph->operands(node)) {
      sample.operands.push_back(values[operand.value()]);
    }
  }
  return sample;
}

TEST_P(MalformedTest, IsRefusedOrEvaluated) {
  const OpInfo& info = GetParam();
  if (info.bodies > 0) return;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const DType dtype = info.dtypes[seed % info.dtypes.size()];
    const auto sample = SampleOf(info.op, dtype, seed);
    if (!sample) return;
    for (const Attributes& attributes : AttributeVariants(sample->attributes)) {
      Try(info.op, attributes, sample->operands);
    }
    for (size_t i = 0; i < sample->operands.size(); ++i) {
      for (const auto& dims : std::vector<std::vector<int64_t>>{
               {}, {0}, {2}, {3, 0, 2}, {1, 1, 1, 1, 1}, {0, kMax / 64}}) {
        std::vector<Literal> operands = sample->operands;
        operands[i] = RandomLiteral(operands[i].dtype(), dims, seed);
        Try(info.op, sample->attributes, operands);
      }
    }
  }
}

TEST_P(MalformedTest, WrongOperandsAreRefused) {
  const OpInfo& info = GetParam();
  const auto graph = RandomNode(info.op, info.dtypes[0], 1);
  if (!graph) return;
  for (const NodeId node : Nodes(*graph)) {
    if (graph->op(node) != info.op) continue;
    std::vector<TensorType> operands;
    for (const ValueId operand : graph->operands(node)) {
      operands.push_back(graph->type(operand));
    }
    const auto infer = [&](std::vector<TensorType> types,
                           const Attributes& attributes) {
      return InferTypes({info.op, attributes, types, {}, graph->symbols()});
    };
    const Attributes& attributes = graph->attributes(node);
    if (info.signature().required_operands > 0) {
      EXPECT_FALSE(infer({}, attributes).ok());
    }
    if (!info.signature().variadic_operands) {
      auto more = operands;
      more.resize(10);
      EXPECT_FALSE(infer(more, attributes).ok());
    }
    const bool plain = attributes.index() == AttrsIndex::kNone;
    EXPECT_FALSE(infer(operands, plain ? Attributes(AxisAttrs())
                                       : Attributes(NoneAttrs()))
                     .ok());
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool any = info.signature().operand(static_cast<int>(i)).kind ==
                       TypeSlot::Kind::kAny;
      auto hosts = operands;
      hosts[i].kind = operands[i].kind != ValueKind::kTensor
                          ? ValueKind::kTensor
                      : any ? ValueKind::kOptional
                            : ValueKind::kSequence;
      EXPECT_FALSE(infer(hosts, attributes).ok()) << info.mnemonic;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllOps, MalformedTest,
                         testing::ValuesIn(AllOps().begin(), AllOps().end()),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace encore
