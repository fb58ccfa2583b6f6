#include "encore/cache/session/checked_rules.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/artifact_store.h"
#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/options.h"
#include "encore/cache/session/session.h"
#include "encore/cache/session/session_options.h"
#include "encore/cache/session/session_request.h"
#include "encore/cache/session/standard_session.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/opt/passes/pipeline.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph_io.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

// Counts what is put.
class Store : public backends::ArtifactStore {
 public:
  std::optional<std::vector<std::byte>> Get(std::string_view kind,
                                            std::string_view key) override {
    const auto it = kept.find({std::string(kind), std::string(key)});
    if (it == kept.end()) return std::nullopt;
    return it->second;
  }
  void Put(std::string_view kind, std::string_view key,
           std::span<const std::byte> bytes) override {
    if (kind == kRuleVerdictKind) ++puts;
    kept[{std::string(kind), std::string(key)}] = {bytes.begin(), bytes.end()};
  }

  int puts = 0;
  std::map<std::pair<std::string, std::string>, std::vector<std::byte>> kept;
};

constexpr std::string_view kRight = R"(// sin(-x) = -sin(x)
rule sine_of_negated exact { neg(sin(neg(%x))) -> sin(%x) }
// atan(-x) = -atan(x)
rule arc_of_negated exact { neg(atan(neg(%x))) -> atan(%x) }
)";
constexpr std::string_view kWrong = R"(// cos(-x) = -cos(x)
rule cosine_of_negated exact { neg(cos(neg(%x))) -> cos(%x) }
)";

TEST(CheckedRulesTest, RememberWhatIsRight) {
  Store store;
  const auto first = CheckedRules(kRight, &store);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->size(), 2u);
  EXPECT_EQ(store.puts, 2);
  ASSERT_TRUE(CheckedRules(kRight, &store).ok());
  EXPECT_EQ(store.puts, 2);
  // What is no verdict is made again.
  for (auto& [key, bytes] : store.kept) bytes = {std::byte{7}};
  ASSERT_TRUE(CheckedRules(kRight, &store).ok());
  EXPECT_EQ(store.puts, 4);
  EXPECT_TRUE(CheckedRules(kRight, nullptr).ok());
}

TEST(CheckedRulesTest, RefuseWhatIsWrongWithTheSmallestInstance) {
  Store store;
  const auto rules = CheckedRules(StrCat(kRight, kWrong), &store);
  EXPECT_EQ(rules.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(Message(rules.status())
                .find("rule cosine_of_negated (exact) is wrong: "
                      "element 0 of output 0 is 1, expected -1\n"
                      "%x = f32[] 0\n"),
            std::string::npos)
      << rules.status();
  EXPECT_EQ(store.puts, 2);  // of the others
}

TEST(CheckedRulesTest, ACompileUsesThem) {
  const Graph graph = ParsedGraph(
      "graph g(%x: f32[1000]) -> f32[1000] {\n"
      "  %0 = neg(%x)\n  %1 = sin(%0)\n  %y = neg(%1)\n  return %y\n}\n");
  const Compiler compiler = StandardCompiler();
  backends::CompileOptions options;
  options.target = "ref";
  options.fuse = false;
  const auto steps = [&](Store* store) {
    const auto compiled = compiler.compile(graph, options, store, nullptr);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    return compiled->plan(compiled->run).steps.size();
  };
  Store store;
  const size_t plain = steps(&store);
  EXPECT_EQ(store.puts, 0);
  options.user_rules = kRight;
  EXPECT_LT(steps(&store), plain);
  EXPECT_EQ(store.puts, 2);
  EXPECT_LT(steps(&store), plain);
  EXPECT_EQ(store.puts, 2);
  options.user_rules = kWrong;
  EXPECT_EQ(compiler.compile(graph, options, &store, nullptr).status().code(),
            StatusCode::kInvalidArgument);
}

// A rule that no check has found wrong, on a model where it is: the user is
// told which, and where in the model.
TEST(CheckedRulesTest, ARuleThatIsWrongOnAModelIsNamedWithItsPlace) {
  const Graph graph = ParsedGraph(
      "graph g(%x: f32[1000]) -> f32[1000] {\n"
      "  %0 = tanh(%x) @\"before\"\n  %1 = sin(%0) @\"layer 7\"\n"
      "  %y = exp(%1) @\"behind\"\n  return %y\n}\n");
  SessionOptions options;
  options.compile.target = "ref";
  options.compiler = StandardCompiler();
  options.compiler.compile =
      [](const Graph& canonical, const backends::CompileOptions& compile,
         backends::ArtifactStore* store, opt::PassObserver* passes) {
        return backends::Compile(canonical, compile, backends::AllBackends(),
                                 store, passes);
      };
  std::vector<std::string> log;
  options.log = [&](std::string_view line) { log.emplace_back(line); };
  runtime::ThreadPool threads(1);
  const auto plan_of = [&](std::string_view rules) {
    options.compile.user_rules = rules;
    log.clear();
    Session session(options, &threads);
    const auto request = MakeSessionRequest(graph, session.options(), {});
    EXPECT_TRUE(request.ok()) << request.status();
    const auto plan = session.graphs().PlanOf(*request);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return runtime::SerializeCompiledGraph(*plan->graph);
  };
  const auto plain = plan_of("");
  EXPECT_TRUE(log.empty());
  for (const auto& [contract, made] :
       {std::pair("[0]x[0]", "f32[]"),
        std::pair("[0]x[1]", "an ill-typed node")}) {
    EXPECT_EQ(plan_of(StrCat("// a\nrule sum_of_sines exact {\n  sin(%x) -> "
                             "dot_general(%x, %x) {contract = ",
                             contract, "}\n}\n")),
              plain);
    ASSERT_EQ(log.size(), 1u);
    EXPECT_EQ(log[0],
              StrCat("the rule sum_of_sines made ", made,
                     " of f32[1000] at \"layer 7\": that rule is wrong, and "
                     "what rules would have made better there stays as it "
                     "was"));
  }
}

}  // namespace
}  // namespace encore::cache
