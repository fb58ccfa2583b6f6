#include "encore/cache/session/standard_session.h"

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/eval/evaluator.h"
#include "encore/runtime/device/thread_pool.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

// Floats between -1 and 1 that differ by `salt`.
Literal Weights(std::vector<int64_t> dims, int salt) {
  Literal literal(DType::kF32, std::move(dims));
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    literal.SetDouble(i, std::sin(static_cast<double>(i * 7 + salt)));
  }
  return literal;
}

void ExpectNear(const Literal& actual, const Literal& expected) {
  ASSERT_EQ(actual.type(), expected.type());
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    ASSERT_NEAR(actual.AsDouble(i), expected.AsDouble(i), 1e-4) << i;
  }
}

// relu(batch_norm(conv(x))), with weights by `salt`.
Graph ConvModel(int salt) {
  GraphBuilder g("model");
  const Value x = g.Input("x", {DType::kF32, {1, 3, 9, 9}});
  const auto parameter = [&](const char* name, std::vector<int64_t> dims,
                             int offset) {
    const Literal data = Weights(std::move(dims), salt + offset);
    return g.Parameter(name + std::to_string(salt), data.type(), data);
  };
  ConvolutionAttrs attrs;
  attrs.padding_low = attrs.padding_high = {1, 1};
  const Value y = g.Convolution(x, parameter("w", {8, 3, 3, 3}, 0), attrs);
  Literal variance(DType::kF32, {8});
  for (int64_t i = 0; i < 8; ++i)
    variance.SetDouble(i, 0.5 + static_cast<double>(i));
  const Value z = g.BatchNorm(
      y, parameter("s", {8}, 1), parameter("b", {8}, 2), parameter("m", {8}, 3),
      g.Parameter("v" + std::to_string(salt), variance.type(), variance));
  return *g.Build({{"y", g.Relu(z)}});
}

class StandardSession : public testing::TestWithParam<const char*> {
 protected:
  StandardSession() : threads_(2) {
    options_.target = GetParam();
    options_.threads = 2;
  }
  std::string Folder(const char* name) {
    return std::string(std::getenv("TEST_TMPDIR")) + "/" + GetParam() + name;
  }
  backends::CompileOptions options_;
  runtime::ThreadPool threads_;
};

// Weights do not count: a second model of the same form is a hit, and both are
// right.
TEST_P(StandardSession, TwoSetsOfWeightsShareOneCompiledGraph) {
  Session session(StandardSessionOptions(options_, Folder("shared")),
                  &threads_);
  const Literal x = Weights({1, 3, 9, 9}, 99);
  for (const int salt : {10, 20}) {
    const Graph graph = ConvModel(salt);
    const auto actual = session.Run(graph, {&x, 1});
    ASSERT_TRUE(actual.ok()) << actual.status();
    ExpectNear((*actual)[0], (*Evaluate(graph, {&x, 1}))[0]);
  }
  EXPECT_EQ(session.statistics().misses, 1);
  EXPECT_EQ(session.statistics().memory_hits, 1);
}

TEST_P(StandardSession, AnotherSessionFindsItOnDisk) {
  const Literal x = Weights({1, 3, 9, 9}, 99);
  const Graph graph = ConvModel(10);
  std::vector<Literal> first;
  for (const bool second : {false, true}) {
    Session session(StandardSessionOptions(options_, Folder("disk")),
                    &threads_);
    const auto outputs = session.Run(graph, {&x, 1});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(session.statistics().disk_hits, second ? 1 : 0);
    if (second) EXPECT_EQ((*outputs)[0], first[0]);
    first = *outputs;
  }
}

// Weight data that a convolution's prologue and its epilogue both read.
TEST_P(StandardSession, WeightsMayBeReadBeforeAndAfterASum) {
  GraphBuilder g("residual");
  const Value x = g.Input("x", {DType::kF32, {1, 8, 24, 96}});
  const Literal z_data = Weights({1, 8, 24, 96}, 5),
                w_data = Weights({8, 8, 1, 1}, 6);
  const Value z = g.Parameter("z", z_data.type(), z_data);
  const Value w = g.Parameter("w", w_data.type(), w_data);
  const Graph graph =
      *g.Build({{"y", g.Add(g.Convolution(g.Add(x, z), w), z)}});
  Session session(StandardSessionOptions(options_, ""), &threads_);
  const Literal data = Weights({1, 8, 24, 96}, 7);
  const auto actual = session.Run(graph, {&data, 1});
  ASSERT_TRUE(actual.ok()) << actual.status();
  ExpectNear((*actual)[0], (*Evaluate(graph, {&data, 1}))[0]);
}

TEST(StandardSessionOptions, UnknownTargetsNameThoseThatAre) {
  runtime::ThreadPool threads(1);
  backends::CompileOptions options;
  options.target = "tpu";
  Session session(StandardSessionOptions(options, ""), &threads);
  const Literal x = Weights({1, 3, 9, 9}, 99);
  const auto outputs = session.Run(ConvModel(10), {&x, 1});
  ASSERT_FALSE(outputs.ok());
  EXPECT_NE(Message(outputs.status()).find("cpu"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Targets, StandardSession,
                         testing::Values("cpu", "ref"));

}  // namespace
}  // namespace encore::cache
