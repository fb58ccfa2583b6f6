// Derivatives against central differences in f64.
#include "encore/ir/transform/grad.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/eval/evaluator.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/random_graph.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

using Values = std::vector<Value>;
using Function = std::function<Value(GraphBuilder&, const Values&)>;

constexpr double kStep = 1e-5;

// The elements of an input, away from 0, 1 and each other.
Literal Sample(const Shape& shape, int which) {
  Literal literal(DType::kF64, shape.ConstantDims());
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    literal.SetDouble(
        i, 0.3 + 0.017 * static_cast<double>((i * 7) % 31) + 0.005 * which);
  }
  return literal;
}

double SumOf(const Graph& graph, const std::vector<Literal>& inputs) {
  const auto outputs = Evaluate(graph, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  double sum = 0;
  for (int64_t i = 0; i < (*outputs)[0].element_count(); ++i) {
    sum += (*outputs)[0].AsDouble(i);
  }
  return sum;
}

void ExpectDerivatives(const std::vector<Shape>& shapes,
                       const Function& function) {
  GraphBuilder value, slope;
  Values xs, ys;
  std::vector<Literal> inputs;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const TensorType type{DType::kF64, shapes[i], ValueKind::kTensor};
    xs.push_back(value.Input(StrCat("x", i), type));
    ys.push_back(slope.Input(StrCat("x", i), type));
    inputs.push_back(Sample(shapes[i], static_cast<int>(i)));
  }
  const auto graph = value.Build({{"y", function(value, xs)}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto gradients = Gradients(slope, function(slope, ys), ys, ys);
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  std::vector<std::pair<std::string, Value>> named;
  for (const Value& gradient : *gradients) {
    named.emplace_back(StrCat("d", named.size()), gradient);
  }
  const auto derivative = slope.Build(named);
  ASSERT_TRUE(derivative.ok()) << derivative.status();
  const auto actual = Evaluate(*derivative, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  for (size_t i = 0; i < shapes.size(); ++i) {
    ASSERT_EQ((*actual)[i].dims(), inputs[i].dims());
    for (int64_t k = 0; k < inputs[i].element_count(); ++k) {
      const auto moved = [&](double by) {
        std::vector<Literal> all = inputs;
        all[i] = Sample(shapes[i], static_cast<int>(i));
        all[i].SetDouble(k, all[i].AsDouble(k) + by);
        return SumOf(*graph, all);
      };
      const double expected = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      EXPECT_NEAR((*actual)[i].AsDouble(k), expected,
                  1e-6 * (1 + std::abs(expected)))
          << "x" << i << " element " << k;
    }
  }
}

TEST(Gradients, OfEveryElementwiseOperator) {
  for (const OpInfo& info : AllOps()) {
    const bool one = info.signature().operands.size() == 1;
    if (!info.has(kElementwise) || !info.allows(DType::kF64) ||
        info.attributes != AttrsIndex::kNone || !one || info.op == Op::kAcosh ||
        info.signature_text != "(T) -> T") {
      continue;
    }
    SCOPED_TRACE(info.mnemonic);
    ExpectDerivatives({{2, 3}}, [&](GraphBuilder& g, const Values& x) {
      return g.Unary(info.op, x[0]);
    });
  }
  for (const Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kPow,
                      Op::kMax, Op::kMin, Op::kAtan2}) {
    SCOPED_TRACE(Mnemonic(op));
    ExpectDerivatives({{2, 3}, {3}}, [&](GraphBuilder& g, const Values& x) {
      return g.Binary(op, x[0], x[1]);
    });
  }
  ExpectDerivatives({{3}}, [](GraphBuilder& g, const Values& x) {
    return g.Acosh(g.Add(x[0], 1.0));
  });
}

TEST(Gradients, OfMovementAndReductions) {
  ExpectDerivatives({{2, 3}, {3, 1}}, [](GraphBuilder& g, const Values& x) {
    const Value moved = g.Transpose(g.Reverse(x[0], {1}), {1, 0});
    const Value joined = g.Concat({moved, x[1]}, 1);
    const Value part = g.Slice(joined, {0, 1}, {3, 3}, {2, 1});
    return g.Mul(part, g.Reshape(g.Sin(part), {2, 2}));
  });
  ExpectDerivatives({{2, 5}}, [](GraphBuilder& g, const Values& x) {
    const Value most = g.Reduce(x[0], Combiner::kMax, {1}, true);
    const Value sum = g.Sum(g.Exp(g.Sub(x[0], most)), {1});
    return g.Mul(sum, g.Mean(x[0], {1}));
  });
  ExpectDerivatives({{2, 4}}, [](GraphBuilder& g, const Values& x) {
    return g.Mul(g.Softmax(x[0]), x[0]);
  });
}

TEST(Gradients, OfProducts) {
  ExpectDerivatives({{2, 3}, {3, 4}}, [](GraphBuilder& g, const Values& x) {
    return g.Tanh(g.MatMul(x[0], x[1]));
  });
  ExpectDerivatives(
      {{2, 3, 5, 2}, {5, 3, 2, 4}}, [](GraphBuilder& g, const Values& x) {
        return g.Sin(g.DotGeneral(x[0], x[1], {{3, 2}, {2, 0}}, {{1}, {1}}));
      });
}

// A value that is used twice, one that does not matter, and another point.
TEST(Gradients, AtAnotherPoint) {
  GraphBuilder g;
  const TensorType scalar{DType::kF32, Shape(), ValueKind::kTensor};
  const Value x = g.Input("x", scalar), at = g.Input("at", scalar);
  const Value z = g.Input("z", scalar), same = g.Input("same", scalar);
  const Value y = g.Add(g.Mul(x, x), g.Neg(x));
  const Value xs[] = {x, z}, points[] = {at, same};
  const auto gradients = Gradients(g, y, xs, points);
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  const auto graph =
      g.Build({{"dx", (*gradients)[0]}, {"dz", (*gradients)[1]}});
  const auto results = Evaluate(
      *graph, std::vector<Literal>{Literal::Scalar(1.f), Literal::Scalar(5.f),
                                   Literal::Scalar(2.f), Literal::Scalar(3.f)});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].AsDouble(0), 9);
  EXPECT_EQ((*results)[1].AsDouble(0), 0);
}

TEST(Gradients, NameAnOperatorWithoutRule) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kF32, {3}});
  const auto origin = g.Origin("total");
  const Value y = g.Cumulative(x, {Combiner::kSum, 0, false, false});
  const Value xs[] = {x};
  const auto gradients = Gradients(g, y, xs, xs);
  EXPECT_EQ(gradients.status().code(), StatusCode::kUnimplemented);
  EXPECT_NE(Message(gradients.status()).find("cumulative of total"),
            std::string::npos)
      << gradients.status();
}

}  // namespace
}  // namespace encore
