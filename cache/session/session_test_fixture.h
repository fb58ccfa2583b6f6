// What tests of sessions have in common: a small model, a compiler of exactly
// such models for the test device, and a folder for the store.
#ifndef ENCORE_CACHE_SESSION_SESSION_TEST_FIXTURE_H_
#define ENCORE_CACHE_SESSION_SESSION_TEST_FIXTURE_H_

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "encore/cache/session/session.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/parser.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::cache {

namespace fs = std::filesystem;
using runtime::CompiledGraph;
using runtime::SlotId;
using runtime::SlotRole;

inline Graph Parse(std::string_view text) {
  auto graph = ParseGraph(text);
  ENCORE_CHECK_OK(graph.status());
  return *std::move(graph);
}

// y = x + -w, with -w made by the prepare plan.
inline Graph Model(float w, int64_t size = 4, std::string_view name = "fc") {
  return Parse(StrCat("graph ", name, "(%x: f32[", size, "], %w: param f32[",
                      size, "] = f32[", size, "] ", w,
                      ") { %y = sub(%x, %w) @\"", name, "/sub\" return %y as ",
                      name, " }"));
}

// A compiler of exactly such graphs, for the test device.
class TestCompiler {
 public:
  Compiler compiler() {
    Compiler compiler;
    compiler.compile = [this](const Graph& graph, const auto&, auto* store,
                              auto*) { return Compile(graph, store); };
    compiler.devices = [this](const CompiledGraph& graph) {
      ++loads_;
      std::vector<std::shared_ptr<runtime::Device>> devices;
      for (size_t i = 0; i < graph.devices.size(); ++i) {
        devices.push_back(std::make_shared<runtime::TestDevice>());
      }
      return StatusOr<std::vector<std::shared_ptr<runtime::Device>>>(devices);
    };
    compiler.target = [](const auto&) -> StatusOr<Target> {
      return Target{{"test", "1"}};
    };
    return compiler;
  }

  int compiles() const { return compiles_; }
  int loads() const { return loads_; }
  std::atomic<bool> broken = false;
  std::atomic<bool> different = false;

 private:
  StatusOr<CompiledGraph> Compile(const Graph& graph,
                                  backends::ArtifactStore* store) {
    ++compiles_;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (broken) return InternalError("broken");
    // Names do not reach the compiler, nor do weights.
    ENCORE_CHECK(graph.arguments()[0].name == "a0");
    ENCORE_CHECK(!graph.arguments()[1].data.has_value());
    const NodeId node = graph.producer(graph.outputs()[0].value);
    const Shape shape = graph.shape(graph.outputs()[0].value);
    if (store != nullptr) {
      store->Put("kernel", "sub", std::as_bytes(std::span("code")));
    }
    runtime::TestGraph test;
    const SlotId x = test.Tensor(SlotRole::kInput, shape);
    const SlotId w = test.Tensor(SlotRole::kParameter, shape);
    const SlotId d = test.Tensor(SlotRole::kDerived, shape);
    const SlotId y = test.Tensor(SlotRole::kOutput, shape);
    test.graph.prepare = AddPlan(&test.graph, {});
    test.Launch("neg", {w}, {d}, {}, test.graph.prepare);
    test.Launch(different ? "mul" : "add", {x, d}, {y});
    test.graph.plans[test.run.value()].steps.back().origins = {
        *StencilNumber(graph.origin(node))};
    test.graph.run = test.run;
    test.graph.inputs = {x};
    test.graph.parameters = {w};
    test.graph.outputs = {y};
    return std::move(test.graph);
  }

  std::atomic<int> compiles_ = 0, loads_ = 0;
};

class SessionTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }

  std::shared_ptr<DiskStore> Disk() {
    auto disk = DiskStore::Open({.folder = folder_, .log = Logger()});
    ENCORE_CHECK_OK(disk.status());
    return *disk;
  }
  Log Logger() {
    return [this](std::string_view line) { log_.emplace_back(line); };
  }
  std::unique_ptr<Session> NewSession(bool disk = true, bool check = false) {
    SessionOptions options;
    options.compiler = compiler_.compiler();
    if (disk) options.disk = Disk();
    options.check = check;
    options.log = Logger();
    return std::make_unique<Session>(std::move(options), &threads_);
  }
  // The first element of the output for x = 10.
  static double First(Session& session, const Graph& graph) {
    const int64_t size =
        graph.shape(graph.arguments()[0].value)[0].is_constant()
            ? graph.shape(graph.arguments()[0].value)[0].constant()
            : 4;
    Literal x(DType::kF32, {size});
    for (int64_t i = 0; i < size; ++i) x.SetDouble(i, 10);
    const auto outputs = session.Run(graph, {&x, 1});
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() ? (*outputs)[0].AsDouble(0) : -1;
  }
  // As First, for a graph that was read after a prefetch.
  static double FirstAnticipated(Session& session, const Graph& graph) {
    LoadOptions options;
    options.source = "model.onnx";
    session.Anticipate(options.source);
    EXPECT_TRUE(session.Load(graph, options).ok());
    return First(session, graph);
  }
  std::string EntryPath(std::string_view kind) {
    for (const DiskStore::Entry& entry : Disk()->List()) {
      if (entry.kind == kind) return entry.path;
    }
    return "";
  }

  const std::string folder_ = StrCat(testing::TempDir(), "/session");
  runtime::ThreadPool threads_{2};
  TestCompiler compiler_;
  std::vector<std::string> log_;
};

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_SESSION_TEST_FIXTURE_H_
