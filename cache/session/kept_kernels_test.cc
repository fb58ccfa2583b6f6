// Kernels that a disk store keeps for the cpu backend: what is found, what is
// made again, and what never reaches a compiled graph.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "encore/backends/options.h"
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

// Products of those widths, each with a tanh.
Graph Layers(const std::vector<int>& widths) {
  std::string arguments = StrCat("%x0: f32[8,", widths[0], "]"), body;
  for (size_t i = 1; i < widths.size(); ++i) {
    StrAppend(&arguments, ", %w", i, ": param f32[", widths[i - 1], ",",
              widths[i], "]");
    StrAppend(&body, "  %p", i, " = dot_general(%x", i - 1, ", %w", i,
              ") {contract = [1]x[0]}\n  %x", i, " = tanh(%p", i, ")\n");
  }
  return ParsedGraph(StrCat("graph g(", arguments, ") -> f32[8,", widths.back(),
                            "] {\n", body, "  return %x", widths.size() - 1,
                            "\n}"));
}

class KeptKernels : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }

  std::unique_ptr<Session> NewSession(bool check = false) {
    backends::CompileOptions options;
    options.threads = 2;
    options.cpu_kernels = backends::CpuKernels::kGenerated;
    SessionOptions session = StandardSessionOptions(options, folder_);
    session.check = check;
    session.log = [](std::string_view) {};
    return std::make_unique<Session>(std::move(session), &threads_);
  }
  // The bytes of the compiled graph.
  std::string Plan(Session& session, const Graph& graph) {
    const auto request = MakeSessionRequest(graph, session.options(), {});
    EXPECT_TRUE(request.ok()) << request.status();
    const auto plan = session.graphs().PlanOf(*request);
    EXPECT_TRUE(plan.ok()) << plan.status();
    const auto bytes = runtime::SerializeCompiledGraph(*plan->graph);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::vector<DiskStore::Entry> Entries(std::string_view kind) {
    auto disk = DiskStore::Open({.folder = folder_});
    EXPECT_TRUE(disk.ok());
    std::vector<DiskStore::Entry> entries = (*disk)->List();
    std::erase_if(entries, [&](const auto& e) { return e.kind != kind; });
    return entries;
  }
  void ForgetGraphs() { fs::remove_all(folder_ + "/v1/graph"); }
  // Compiles in a new session; how many kernels were found and made.
  void Expect(const Graph& graph, int found, int made) {
    const auto session = NewSession();
    Plan(*session, graph);
    EXPECT_EQ(session->statistics().kernels_found, found);
    EXPECT_EQ(session->statistics().kernels_made, made);
  }

  const std::string folder_ = StrCat(testing::TempDir(), "/kept_kernels");
  runtime::ThreadPool threads_{2};
};

TEST_F(KeptKernels, AnotherModelGeneratesWhatIsNew) {
  Expect(Layers({16, 32, 48}), 0, 2);
  Expect(Layers({16, 32, 48, 64}), 2, 1);
  Expect(Layers({16, 32, 40, 64}), 1, 2);
  // A hit asks for none.
  Expect(Layers({16, 32, 48}), 0, 0);
  ForgetGraphs();
  Expect(Layers({16, 32, 48}), 2, 0);
}

TEST_F(KeptKernels, WhatIsDamagedIsMadeAgain) {
  const Graph graph = Layers({16, 32, 48});
  const std::string plan = Plan(*NewSession(), graph);
  const std::string path = Entries("kernel").at(0).path;
  const auto size = static_cast<int64_t>(fs::file_size(path));
  for (int64_t at = 0; at < size; at += 1 + size / 40) {
    ForgetGraphs();
    FlipBitOfFile(path, at * 8 + 2);
    EXPECT_EQ(Plan(*NewSession(), graph), plan) << at;
    ForgetGraphs();
    Expect(graph, 2, 0);
  }
  for (const int64_t left : {size / 2, int64_t{0}}) {
    ForgetGraphs();
    fs::resize_file(path, left);
    EXPECT_EQ(Plan(*NewSession(), graph), plan) << left;
  }
}

// Whole entries, in each other's places.
TEST_F(KeptKernels, AKernelInAnothersPlaceIsNotUsed) {
  const Graph graph = Layers({16, 32, 16, 32});
  const std::string plan = Plan(*NewSession(), graph);
  const auto entries = Entries("kernel");
  ASSERT_EQ(entries.size(), 2u);
  fs::rename(entries[0].path, folder_ + "/aside");
  fs::rename(entries[1].path, entries[0].path);
  fs::rename(folder_ + "/aside", entries[1].path);
  ForgetGraphs();
  const auto session = NewSession();
  EXPECT_EQ(Plan(*session, graph), plan);
  EXPECT_EQ(session->statistics().kernels_made, 2);
}

// Code runs from a store that is the user's alone.
TEST_F(KeptKernels, WhatOthersMayWriteIsNotUsed) {
  const Graph graph = Layers({16, 32, 48});
  const std::string plan = Plan(*NewSession(), graph);
  const auto entries = Entries("kernel");
  for (const DiskStore::Entry& entry : entries) {
    fs::permissions(entry.path, fs::perms::group_write, fs::perm_options::add);
  }
  ForgetGraphs();
  const auto session = NewSession();
  EXPECT_EQ(Plan(*session, graph), plan);
  EXPECT_EQ(session->statistics().kernels_found, 0);
  EXPECT_EQ(session->statistics().kernels_made, 2);
}

// Check mode compares with what is compiled from nothing.
TEST_F(KeptKernels, CheckModeGeneratesThemAgain) {
  const Graph graph = Layers({16, 32, 48});
  const std::string plan = Plan(*NewSession(), graph);
  for (const DiskStore::Entry& entry : Entries("kernel")) {
    fs::remove(entry.path);
  }
  const auto session = NewSession(/*check=*/true);
  EXPECT_TRUE(session->graphs()
                  .Check(*MakeSessionRequest(graph, session->options(), {}),
                         **session->graphs().GetOrCompile(*MakeSessionRequest(
                             graph, session->options(), {})))
                  .ok());
  EXPECT_TRUE(Entries("kernel").empty());
}

// Two stores over one folder, as two processes have them, while entries go.
TEST_F(KeptKernels, SeveralAtOnceWhileEntriesAreCollected) {
  std::vector<Graph> graphs;
  graphs.push_back(Layers({16, 32, 48}));
  graphs.push_back(Layers({16, 32, 48, 64}));
  graphs.push_back(Layers({16, 32, 40, 64}));
  std::vector<std::string> plans;
  for (const Graph& graph : graphs) plans.push_back(Plan(*NewSession(), graph));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 4; ++round) {
        const size_t g = (t + round) % graphs.size();
        EXPECT_EQ(Plan(*NewSession(), graphs[g]), plans[g]);
        const auto disk = DiskStore::Open({.folder = folder_});
        if (disk.ok() && round % 2 == 0) (*disk)->Collect(4096);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace encore::cache
