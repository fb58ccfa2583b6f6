#include "encore/cache/session/standard_session.h"

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/eval/evaluator.h"
#include "encore/ir/support/status_macros.h"
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

// A step of a decoder: a token enters a cache of [2, 16, 8], at a place that
// the call says or behind the others, and is attended with all of it.
Graph Decoder(bool is_updated) {
  GraphBuilder g("decoder");
  const Value past = g.Input("past", {DType::kF32, {2, 16, 8}});
  const Value token = g.Input("token", {DType::kF32, {2, 1, 8}});
  const Value at = g.Input("at", {DType::kI64, {3}});
  const Value present = is_updated
                            ? g.DynamicUpdateSlice(past, token, at)
                            : g.SliceAxis(g.Concat({past, token}, 1), 1, 1, 17);
  const Value scores = g.MatMul(token, g.Transpose(present, {0, 2, 1}));
  const Value y = g.MatMul(g.Softmax(scores), present);
  return *g.Build({{"present", present}, {"y", y}});
}

// Binds one buffer to past and present, and replays for three tokens.
Status ReplayInPlace(const Graph& graph, const Loaded& loaded) {
  ENCORE_ASSIGN_OR_RETURN(const auto replayer, loaded.NewReplayer());
  Literal expected = Weights({2, 16, 8}, 1);
  Literal cache = Weights({2, 16, 8}, 1), y(DType::kF32, {2, 1, 8});
  const std::span<std::byte> buffer = cache.mutable_bytes();
  for (int64_t i = 0; i < 3; ++i) {
    const Literal token = Weights({2, 1, 8}, 50 + static_cast<int>(i));
    const Literal at = Literal::FromValues<int64_t>({3}, {0, 5 + i, 0});
    const Literal* const given[] = {&token, &at};
    for (size_t k = 0; k < 2; ++k) {
      ENCORE_RETURN_IF_ERROR(
          replayer->BindInput(k + 1, given[k]->bytes().data(),
                              static_cast<int64_t>(given[k]->bytes().size())));
    }
    ENCORE_RETURN_IF_ERROR(
        replayer->BindInput(0, buffer.data(), buffer.size()));
    ENCORE_RETURN_IF_ERROR(
        replayer->BindOutput(0, buffer.data(), buffer.size()));
    ENCORE_RETURN_IF_ERROR(replayer->BindOutput(1, y.mutable_bytes().data(),
                                                y.mutable_bytes().size()));
    ENCORE_RETURN_IF_ERROR(loaded.Replay(*replayer));
    const Literal arguments[] = {expected, token, at};
    const auto outputs = Evaluate(graph, arguments);
    ENCORE_RETURN_IF_ERROR(outputs.status());
    expected = (*outputs)[0];
    EXPECT_EQ(cache, expected);
    ExpectNear(y, (*outputs)[1]);
  }
  return OkStatus();
}

TEST_P(StandardSession, ACacheIsUpdatedInPlace) {
  Session session(StandardSessionOptions(options_, ""), &threads_);
  for (const bool is_updated : {true, false}) {
    const Graph graph = Decoder(is_updated);
    const auto loaded = session.Load(graph);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const Status status = ReplayInPlace(graph, **loaded);
    // What is moved as a whole may be refused, but is never wrong.
    if (is_updated || status.ok()) {
      EXPECT_TRUE(status.ok()) << status;
      continue;
    }
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(Message(status).find("overlaps that of input 0"),
              std::string::npos)
        << status;
  }
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
