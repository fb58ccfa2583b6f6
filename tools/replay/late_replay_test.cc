// Recordings of devices that do everything as late as they may: made by a
// session, then read by each verb, with the file's own code on such devices.
#include <fstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "encore/backends/conformance/late_backends.h"
#include "encore/backends/options.h"
#include "encore/cache/package/package.h"
#include "encore/cache/package/package_loader.h"
#include "encore/cache/session/export.h"
#include "encore/cache/session/standard_session.h"
#include "encore/ir/build/builder.h"
#include "encore/ir/eval/evaluator.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/tools/command.h"
#include "encore/tools/replay/replay_host.h"
#include "encore/tools/replay/replay_main.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::tools {
namespace {

using backends::Ports;
using ::testing::HasSubstr;
using Values = std::vector<Value>;

// A branch and a loop over weights that are prepared.
StatusOr<Graph> Model() {
  GraphBuilder g;
  const Value choice = g.Input("choice", {DType::kBool, {}});
  const Value trips = g.Input("trips", {DType::kI64, {}});
  const Value x = g.Input("x", {DType::kF32, {2, 3}});
  const Value w = g.Parameter(
      "w", {DType::kF32, {3, 3}},
      Literal::FromValues<float>({3, 3}, {1, 2, 0, 0, 1, -1, 1, 0, 2}));
  const Value operands[] = {x, w};
  const Values y = g.If(
      choice, operands,
      [](GraphBuilder& body, std::span<const Value> in) {
        return Values{body.MatMul(in[0], body.Mul(in[1], 0.5))};
      },
      [](GraphBuilder& body, std::span<const Value> in) {
        return Values{body.Add(in[0], body.Sum(in[1], {0}))};
      });
  const Value state[] = {y[0], w};
  const Values z =
      g.Loop(trips, g.Constant(Literal::Scalar(true)), state,
             [](GraphBuilder& body, std::span<const Value> in) {
               return Values{in[1], body.Mul(body.MatMul(in[2], in[3]), 0.25)};
             },
             {.carried = 1});
  return g.Build({{"y", y[0]}, {"z", z[0]}});
}

struct Outcome {
  int code;
  std::string out, err;
};

Outcome Replay(std::vector<std::string> arguments) {
  const ReplayHost host{
      "replay",
      [](const auto& file, const auto&, runtime::ThreadPool* threads) {
        return cache::LoadPackage(
            file.package,
            cache::CompilerOf(backends::BackendsUnderTest()).devices, threads);
      },
      [](const std::string& path) {
        return StatusOr<Literal>(NotFoundError(path));
      }};
  arguments.insert(arguments.begin(), "replay");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = ReplayMain(static_cast<int>(argv.size()), argv.data(), host);
  return {code, testing::internal::GetCapturedStdout(),
          testing::internal::GetCapturedStderr()};
}

class LateReplay
    : public testing::TestWithParam<std::tuple<const char*, Ports>> {
 protected:
  // Records calls whose outputs are the evaluator's.
  void Record() {
    const auto graph = Model();
    ASSERT_TRUE(graph.ok()) << graph.status();
    std::vector<cache::Package::Call> calls;
    for (const bool choice : {true, false}) {
      const std::vector<Literal> inputs = {
          Literal::Scalar(choice), Literal::Scalar<int64_t>(choice ? 3 : 0),
          Literal::FromValues<float>({2, 3}, {1, -2, 3, 0, 5, 8})};
      std::vector<Literal> arguments = inputs;
      for (const Graph::Argument& argument : graph->arguments()) {
        if (argument.is_parameter) arguments.push_back(*argument.data);
      }
      const auto outputs = Evaluate(*graph, arguments);
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      calls.push_back({inputs, *outputs});
    }
    backends::CompileOptions options;
    options.threads = 2;
    std::tie(options.target, options.ports) = GetParam();
    cache::SessionOptions late = cache::StandardSessionOptions(options, "");
    late.compiler = cache::CompilerOf(backends::BackendsUnderTest());
    runtime::ThreadPool threads(2);
    cache::Session session(std::move(late), &threads);
    const Status recorded = cache::Record(session, path_, *graph, calls);
    ASSERT_TRUE(recorded.ok()) << recorded;
  }

  const std::string path_ = testing::TempDir() + "/late.encore";
};

TEST_P(LateReplay, EveryVerbReadsARecording) {
  Record();
  if (HasFatalFailure()) return;
  const Outcome run = Replay({"run", path_, "--trust"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  EXPECT_THAT(run.out, HasSubstr("as expected"));
  const Outcome profile = Replay({"profile", path_, "--trust"});
  EXPECT_EQ(profile.code, kExitOk) << profile.err;
  EXPECT_THAT(profile.out, HasSubstr("launch"));
  const Outcome bench = Replay({"bench", path_, "--trust"});
  EXPECT_EQ(bench.code, kExitOk) << bench.err;
  for (const char* verb : {"info", "verify", "dump"}) {
    const Outcome done = Replay({verb, path_});
    EXPECT_EQ(done.code, kExitOk) << verb << ": " << done.err;
  }
}

// Written out as text and assembled again, it still gives what was recorded.
TEST_P(LateReplay, AnAssembledPlanGivesTheSame) {
  Record();
  if (HasFatalFailure()) return;
  const std::string plan = path_ + ".plan", again = path_ + ".again";
  std::ofstream(plan) << Replay({"dump", path_}).out;
  const Outcome assembled =
      Replay({"assemble", plan, "--blobs", path_, "-o", again});
  ASSERT_EQ(assembled.code, kExitOk) << assembled.err;
  const Outcome run = Replay({"run", again, "--trust"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  EXPECT_THAT(run.out, HasSubstr("as expected"));
}

INSTANTIATE_TEST_SUITE_P(
    Targets, LateReplay,
    testing::Combine(testing::Values("late_cpu", "late_ref"),
                     testing::Values(Ports::kHost, Ports::kDevice)));

}  // namespace
}  // namespace encore::tools
