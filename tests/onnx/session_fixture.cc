#include "encore/tests/onnx/session_fixture.h"

#include <cmath>
#include <utility>

#include "encore/backends/conformance/late_backends.h"
#include "encore/backends/options.h"
#include "encore/cache/session/session.h"
#include "encore/cache/session/standard_session.h"
#include "encore/ir/eval/evaluator.h"

namespace encore::tests {
namespace {

void ExpectNear(const Literal& actual, const Literal& expected) {
  ASSERT_EQ(actual.type().ToString(), expected.type().ToString());
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    const double want = expected.AsDouble(i);
    ASSERT_NEAR(actual.AsDouble(i), want, 1e-5 + 1e-5 * std::fabs(want)) << i;
  }
}

}  // namespace

void SessionFixture::Expect(const Graph& graph,
                            const std::vector<SessionCall>& calls) {
  backends::CompileOptions options;
  options.target = GetParam();
  options.threads = 2;
  for (const auto found : {cache::FoundIn::kCompiled, cache::FoundIn::kDisk}) {
    cache::SessionOptions standard =
        cache::StandardSessionOptions(options, folder_.string());
    standard.compiler = cache::CompilerOf(backends::BackendsUnderTest());
    cache::Session session(std::move(standard), &threads_);
    const auto loaded = session.Load(graph);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ((*loaded)->found_in(), found);
    for (const SessionCall& call : calls) {
      const auto actual = (*loaded)->Run(call.arguments);
      ASSERT_EQ(actual.ok(), !call.outputs.empty()) << actual.status();
      for (size_t i = 0; i < call.outputs.size(); ++i) {
        ExpectNear((*actual)[i], call.outputs[i]);
      }
    }
  }
}

std::vector<SessionCall> SessionFixture::Evaluated(
    const Graph& graph, const std::vector<std::vector<Literal>>& arguments) {
  std::vector<SessionCall> calls;
  for (const std::vector<Literal>& call : arguments) {
    StatusOr<std::vector<Literal>> outputs = Evaluate(graph, call);
    calls.push_back(
        {call, outputs.ok() ? *std::move(outputs) : std::vector<Literal>()});
  }
  return calls;
}

}  // namespace encore::tests
