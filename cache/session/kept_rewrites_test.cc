// What rules led to, kept on disk: other machines price it anew and saturate
// nothing, and what is compiled is to the byte what it is without.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/measurement.h"
#include "encore/backends/options.h"
#include "encore/backends/plan_forms.h"
#include "encore/cache/session/compiled_graphs.h"
#include "encore/cache/session/session.h"
#include "encore/cache/session/session_request.h"
#include "encore/cache/session/standard_session.h"
#include "encore/cache/store/disk_store.h"
#include "encore/cache/testing/flip_bits.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph_io.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

namespace fs = std::filesystem;

// Products of one operand, which could be one product.
Graph Layers(int layers) {
  std::string arguments = "%x0: f32[64,64]", body;
  for (int i = 0; i < layers; ++i) {
    StrAppend(&arguments, ", %v", i, ": param f32[64,64], %w", i,
              ": param f32[64,64]");
    StrAppend(&body, "  %a", i, " = dot_general(%x", i, ", %v", i,
              ") {contract = [1]x[0]}\n  %b", i, " = dot_general(%x", i, ", %w",
              i, ") {contract = [1]x[0]}\n  %c", i, "_0 = add(%a", i, ", %b", i,
              ")\n");
    for (int j = 0; j < 14; ++j) {
      StrAppend(&body, "  %c", i, "_", j + 1, " = tanh(%c", i, "_", j, ")\n");
    }
    StrAppend(&body, "  %x", i + 1, " = add(%c", i, "_14, %x", i, ")\n");
  }
  return ParsedGraph(StrCat("graph g(", arguments, ") -> f32[64,64] {\n", body,
                            "  return %x", layers, "\n}"));
}

// More products than any limit allows orders of.
Graph ManyProducts() {
  std::string arguments = "%x: f32[8,8]", body;
  for (int i = 0; i < 60; ++i) {
    StrAppend(&arguments, ", %w", i, ": f32[8,8]");
    StrAppend(&body, "  %p", i, " = dot_general(",
              i == 0 ? "%x" : StrCat("%p", i - 1), ", %w", i,
              ") {contract = [1]x[0]}\n");
  }
  return ParsedGraph(StrCat("graph g(", arguments, ") -> f32[8,8] {\n", body,
                            "  return %p59\n}"));
}

class KeptRewrites : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }

  std::unique_ptr<Session> NewSession(std::string_view target = "cpu",
                                      int threads = 2, bool on_disk = true) {
    backends::CompileOptions options;
    options.target = target;
    options.threads = threads;
    log_.clear();
    SessionOptions session =
        StandardSessionOptions(options, on_disk ? folder_ : "");
    session.log = [this](std::string_view line) {
      StrAppend(&log_, line, "\n");
    };
    return std::make_unique<Session>(std::move(session), &threads_);
  }
  // The bytes of the compiled graph.
  static std::string Plan(Session& session, const Graph& graph) {
    const auto request = MakeSessionRequest(graph, session.options(), {});
    EXPECT_TRUE(request.ok()) << request.status();
    const auto plan = session.graphs().PlanOf(*request);
    EXPECT_TRUE(plan.ok()) << plan.status();
    const auto bytes = runtime::SerializeCompiledGraph(*plan->graph);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::string PlanFromNothing(const Graph& graph,
                              std::string_view target = "cpu",
                              int threads = 2) {
    return Plan(*NewSession(target, threads, /*on_disk=*/false), graph);
  }
  std::vector<DiskStore::Entry> Entries() {
    auto disk = DiskStore::Open({.folder = folder_});
    EXPECT_TRUE(disk.ok());
    return (*disk)->ListKind("rewrite");
  }
  void ForgetGraphs() { fs::remove_all(folder_ + "/v1/graph"); }

  const std::string folder_ = StrCat(testing::TempDir(), "/kept_rewrites");
  runtime::ThreadPool threads_{2};
  std::string log_;
};

TEST_F(KeptRewrites, OtherMachinesSaturateNothing) {
  const Graph graph = Layers(2);
  auto session = NewSession();
  EXPECT_EQ(Plan(*session, graph), PlanFromNothing(graph));
  EXPECT_EQ(session->statistics().rewrites_found, 0);
  const int64_t made = session->statistics().rewrites_made;
  EXPECT_GT(made, 0);
  EXPECT_EQ(Entries().size(), static_cast<size_t>(made));
  for (const std::string_view target : {"cpu:avx2", "cpu:avx512"}) {
    for (const int threads : {1, 16}) {
      session = NewSession(target, threads);
      EXPECT_EQ(Plan(*session, graph), PlanFromNothing(graph, target, threads));
      EXPECT_EQ(session->statistics().rewrites_made, 0) << target << threads;
    }
  }
  // A hit asks for none; a graph that is lost for all of them.
  session = NewSession();
  Plan(*session, graph);
  EXPECT_EQ(session->statistics().rewrites_found, 0);
  ForgetGraphs();
  session = NewSession();
  EXPECT_EQ(Plan(*session, graph), PlanFromNothing(graph));
  EXPECT_EQ(session->statistics().rewrites_found, made);
  EXPECT_EQ(session->statistics().rewrites_made, 0);
}

TEST_F(KeptRewrites, OtherRulesSaturateAgain) {
  const Graph graph = Layers(1);
  Plan(*NewSession(), graph);
  backends::CompileOptions options;
  options.threads = 2;
  options.rewrites = backends::Rewrites::kExact;
  Session session(StandardSessionOptions(options, folder_), &threads_);
  Plan(session, graph);
  EXPECT_EQ(session.statistics().rewrites_found, 0);
  EXPECT_GT(session.statistics().rewrites_made, 0);
}

TEST_F(KeptRewrites, WhatIsDamagedIsMadeAgain) {
  const Graph graph = Layers(1);
  const std::string plan = Plan(*NewSession(), graph);
  const std::string path = Entries().at(0).path;
  const auto size = static_cast<int64_t>(fs::file_size(path));
  for (int64_t at = 0; at < size; at += 1 + size / 10) {
    ForgetGraphs();
    FlipBitOfFile(path, at * 8 + 2);
    EXPECT_EQ(Plan(*NewSession(), graph), plan) << at;
    ForgetGraphs();
    const auto session = NewSession();
    EXPECT_EQ(Plan(*session, graph), plan) << at;
    EXPECT_EQ(session->statistics().rewrites_made, 0) << at;
  }
  ForgetGraphs();
  fs::resize_file(path, static_cast<uintmax_t>(size / 2));
  EXPECT_EQ(Plan(*NewSession(), graph), plan);
}

// A whole entry, in another's place.
TEST_F(KeptRewrites, OneInAnothersPlaceIsNotUsed) {
  Plan(*NewSession(), Layers(1));
  const std::string first = Entries().at(0).path;
  Plan(*NewSession(), Layers(2));
  const std::string plan = PlanFromNothing(Layers(2));
  for (const DiskStore::Entry& entry : Entries()) {
    if (entry.path == first) continue;
    fs::copy_file(first, entry.path, fs::copy_options::overwrite_existing);
  }
  ForgetGraphs();
  const auto session = NewSession();
  EXPECT_EQ(Plan(*session, Layers(2)), plan);
  EXPECT_GT(session->statistics().rewrites_made, 0);
}

// Check mode compares with what is compiled from nothing.
TEST_F(KeptRewrites, CheckModeSaturatesAgain) {
  const Graph graph = Layers(2);
  Plan(*NewSession(), graph);
  ForgetGraphs();
  auto session = NewSession();
  Plan(*session, graph);
  ASSERT_GT(session->statistics().rewrites_found, 0);
  session = NewSession();
  const auto request = MakeSessionRequest(graph, session->options(), {});
  const auto found = session->graphs().GetOrCompile(*request);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(session->statistics().disk_hits, 1);
  EXPECT_TRUE(session->graphs().Check(*request, **found).ok());
}

// What the clock ended is neither found nor made.
TEST_F(KeptRewrites, ASearchThatWasCutShortFindsNothing) {
  backends::CompileOptions options;
  options.threads = 2;
  options.max_seconds = 1e-9;
  Session session(StandardSessionOptions(options, folder_), &threads_);
  Plan(session, Layers(1));
  EXPECT_EQ(session.statistics().misses, 1);
  EXPECT_EQ(session.statistics().rewrites_found, 0);
  EXPECT_EQ(session.statistics().rewrites_made, 0);
  EXPECT_TRUE(Entries().empty());
}

// Of the plan that is taken: the one that was measured to take least, here as
// it was written, has no limit.
TEST_F(KeptRewrites, TheLogSaysNoLimitOfAPlanThatIsNotTaken) {
  for (const backends::PlanForm& form : backends::PlanForms()) {
    fs::remove_all(folder_);
    SessionOptions options = NewSession()->options();
    options.compiler.compile = [&, compile = options.compiler.compile](
                                   const Graph& graph, const auto& how,
                                   auto* store, auto* passes) {
      auto compiled = compile(graph, how, store, passes);
      const std::string measured = backends::EncodeMeasurement(
          {{{std::string(backends::PlanForms()[0].name), 2, 0},
            {std::string(form.name), 1, 0}}});
      store->Put(backends::kPlanMeasurementKind, "this graph",
                 std::as_bytes(std::span(measured)));
      return compiled;
    };
    Session session(options, &threads_);
    Plan(session, ManyProducts());
    EXPECT_EQ(log_.find("rewriting ended at a limit") != std::string::npos,
              form.rewritten)
        << form.name;
  }
}

// Whether it ran or was kept.
TEST_F(KeptRewrites, TheLogSaysWhichLimitEndedRewriting) {
  Plan(*NewSession(), Layers(1));
  EXPECT_EQ(log_, "");
  Plan(*NewSession(), ManyProducts());
  const std::string log = log_;
  EXPECT_TRUE(
      log.starts_with("rewriting ended at a limit on work in 1 of 1 "
                      "e-graphs ("))
      << log;
  Plan(*NewSession(), ManyProducts());
  EXPECT_EQ(log_, "");
  ForgetGraphs();
  Plan(*NewSession(), ManyProducts());
  EXPECT_EQ(log_, log);
}

}  // namespace
}  // namespace encore::cache
