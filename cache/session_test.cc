#include "encore/cache/session.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <thread>
#include <utility>

#include "encore/ir/stencil.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/parser.h"
#include "encore/runtime/test_device.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

namespace fs = std::filesystem;
using runtime::CompiledGraph;
using runtime::SlotId;
using runtime::SlotRole;

Graph Parse(std::string_view text) {
  auto graph = ParseGraph(text);
  ENCORE_CHECK_OK(graph.status());
  return *std::move(graph);
}

// y = x + -w, with -w made by the prepare plan.
Graph Model(float w, int64_t size = 4, std::string_view name = "fc") {
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
    compiler.compile = [this](const Graph& graph, const auto&, auto* store) {
      return Compile(graph, store);
    };
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
  // As First, for a graph that was read after a guess.
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
  static void Flip(const std::string& path, int64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(at);
    file.put(byte);
  }

  const std::string folder_ = StrCat(testing::TempDir(), "/session");
  runtime::ThreadPool threads_{2};
  TestCompiler compiler_;
  std::vector<std::string> log_;
};

TEST_F(SessionTest, OneCompiledGraphServesEveryNameAndEveryWeights) {
  const auto session = NewSession();
  EXPECT_EQ(First(*session, Model(1)), 9);
  EXPECT_EQ(First(*session, Model(2, 4, "other")), 8);
  EXPECT_EQ(compiler_.compiles(), 1);
  EXPECT_EQ(session->statistics().misses, 1);
  EXPECT_EQ(session->statistics().memory_hits, 1);
  EXPECT_EQ(First(*session, Model(1, 5)), 9);
  EXPECT_EQ(compiler_.compiles(), 2);
}

TEST_F(SessionTest, NamesAreTheCallersOwn) {
  const auto session = NewSession();
  const auto a = session->Load(Model(1)), b = session->Load(Model(1, 4, "b"));
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ((*a)->names().outputs[0], "fc");
  EXPECT_EQ((*b)->names().outputs[0], "b");
  const uint32_t origin =
      (*b)->graph().plan((*b)->graph().run).steps.back().origins[0];
  EXPECT_EQ((*b)->names().origins[origin], "b/sub");
  EXPECT_EQ((*a)->names().origins[origin], "fc/sub");
}

TEST_F(SessionTest, AnotherProcessRecallsPlanAndWeights) {
  EXPECT_EQ(First(*NewSession(), Model(3)), 7);
  const auto session = NewSession();
  EXPECT_EQ(First(*session, Model(3)), 7);
  EXPECT_EQ(compiler_.compiles(), 1);
  EXPECT_EQ(session->statistics().disk_hits, 1);
  EXPECT_EQ(session->statistics().weights_restored, 1);
  EXPECT_EQ(First(*session, Model(4)), 6);
  EXPECT_EQ(session->statistics().weights_prepared, 1);
}

TEST_F(SessionTest, AnticipatesWhatTheFilesGaveLast) {
  EXPECT_EQ(FirstAnticipated(*NewSession(), Model(3)), 7);
  EXPECT_EQ(compiler_.loads(), 1);
  auto session = NewSession();
  EXPECT_EQ(FirstAnticipated(*session, Model(3)), 7);
  EXPECT_EQ(session->statistics().disk_hits, 1);
  EXPECT_EQ(compiler_.loads(), 2);  // the guess was right, and all of the work
  // Another graph in the same file: the guess is dropped, and learned anew.
  EXPECT_EQ(FirstAnticipated(*NewSession(), Model(3, 5)), 7);
  session = NewSession();
  const int before = compiler_.loads();
  EXPECT_EQ(FirstAnticipated(*session, Model(3, 5)), 7);
  EXPECT_EQ(compiler_.loads(), before + 1);
  EXPECT_EQ(compiler_.compiles(), 2);
  EXPECT_EQ(session->statistics().disk_hits, 1);
}

TEST_F(SessionTest, AGuessChangesNothing) {
  EXPECT_EQ(FirstAnticipated(*NewSession(), Model(3)), 7);
  // Nobody takes it; the session ends while it is under way.
  NewSession()->Anticipate("model.onnx");
  // Twice; for other files; with no folder.
  auto session = NewSession();
  session->Anticipate("model.onnx");
  session->Anticipate("other.onnx");
  EXPECT_EQ(FirstAnticipated(*session, Model(3)), 7);
  EXPECT_EQ(session->statistics().disk_hits, 1);
  EXPECT_EQ(FirstAnticipated(*NewSession(/*disk=*/false), Model(3)), 7);
  // What it names is gone.
  fs::remove(EntryPath("graph"));
  EXPECT_EQ(FirstAnticipated(*NewSession(), Model(3)), 7);
  EXPECT_EQ(compiler_.compiles(), 3);
}

// Whatever bit of an entry flips, the answer is right.
TEST_F(SessionTest, DamagedEntriesAreNoticedAndMadeAgain) {
  for (const std::string_view kind : {"graph", "weights", "memo", "guess"}) {
    EXPECT_EQ(FirstAnticipated(*NewSession(), Model(3)), 7);
    const std::string path = EntryPath(kind);
    if (path.empty()) continue;  // weights changed a moment ago: no memo
    const int64_t size = static_cast<int64_t>(fs::file_size(path));
    for (int64_t at = 0; at < size; at += std::max<int64_t>(1, size / 40)) {
      EXPECT_EQ(FirstAnticipated(*NewSession(), Model(3)), 7);
      Flip(path, at);
      EXPECT_EQ(FirstAnticipated(*NewSession(), Model(3)), 7)
          << kind << " " << at;
    }
    fs::resize_file(path, size / 2);
    EXPECT_EQ(FirstAnticipated(*NewSession(), Model(3)), 7);
    fs::resize_file(path, 0);
    EXPECT_EQ(FirstAnticipated(*NewSession(), Model(3)), 7);
  }
}

TEST_F(SessionTest, AStoreThatFailsBreaksNothing) {
  const auto session = NewSession();
  for (const char* kind : {"graph", "weights", "memo"}) {
    std::ofstream(StrCat(folder_, "/v1/", kind)) << "in the way";
  }
  EXPECT_EQ(First(*session, Model(3)), 7);
  EXPECT_EQ(First(*NewSession(/*disk=*/false), Model(3)), 7);
}

TEST_F(SessionTest, ThreadsCompileAKeyOnce) {
  const auto session = NewSession();
  const Graph graph = Model(3);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(First(*session, graph), 7); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiler_.compiles(), 1);
}

TEST_F(SessionTest, AFailedCompileIsAnErrorAndNotKept) {
  const auto session = NewSession();
  compiler_.broken = true;
  EXPECT_EQ(Message(session->Load(Model(3)).status()), "broken");
  compiler_.broken = false;
  EXPECT_EQ(First(*session, Model(3)), 7);
}

TEST_F(SessionTest, SessionsOfOneFolderCompileAKeyOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(First(*NewSession(), Model(3)), 7); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiler_.compiles(), 1);
}

TEST_F(SessionTest, SymbolsAreSpecializedToTheInputs) {
  const auto session = NewSession();
  const Graph graph = Parse(
      "symbols N in [1, 8] graph g(%x: f32[N], %w: param f32[4] = f32[4] 1) {"
      "  %v = reshape(%x) {shape = [4]} %y = sub(%v, %w) return %y }");
  Literal x(DType::kF32, {9});
  EXPECT_FALSE(session->Run(graph, {&x, 1}).ok()) << "out of bounds";
  x = Literal(DType::kF32, {5});
  EXPECT_FALSE(session->Run(graph, {&x, 1}).ok()) << "does not fit the reshape";
  EXPECT_EQ(First(*session, graph), 9);
  EXPECT_EQ(First(*session, graph), 9);
  EXPECT_EQ(compiler_.compiles(), 1);
}

TEST_F(SessionTest, CheckModeComparesOnAHit) {
  EXPECT_EQ(First(*NewSession(), Model(3)), 7);
  EXPECT_TRUE(NewSession(true, /*check=*/true)->Load(Model(3)).ok());
  compiler_.different = true;
  const auto loaded = NewSession(true, /*check=*/true)->Load(Model(3));
  EXPECT_EQ(loaded.status().code(), StatusCode::kInternal);
}

TEST_F(SessionTest, NamedEntries) {
  const auto session = NewSession();
  EXPECT_FALSE(session->Contains("mine"));
  const auto key = session->Put("mine", Model(3));
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(session->Get("mine"), *key);
  EXPECT_TRUE(NewSession()->Contains("mine"));
  Disk()->Collect(0);
  EXPECT_FALSE(NewSession()->Contains("mine"));
}

TEST_F(SessionTest, PlansInFilesAreCompiledAgainUnlessTrusted) {
  const std::string path = folder_ + "-plan.encore";
  ASSERT_TRUE(NewSession()->SavePlan(path, Model(3)).ok());
  for (const CodeTrust trust : {CodeTrust::kRun, CodeTrust::kCompileInstead}) {
    fs::remove_all(folder_);
    log_.clear();
    const int before = compiler_.compiles();
    const auto session = NewSession();
    EXPECT_EQ(*session->LoadPlan(path + ".none", Model(3), trust), false);
    EXPECT_EQ(*session->LoadPlan(path, Model(3, 5), trust), false);
    EXPECT_EQ(log_.size(), 2u);
    EXPECT_EQ(*session->LoadPlan(path, Model(3), trust), true);
    EXPECT_EQ(First(*session, Model(3)), 7);
    EXPECT_EQ(session->statistics().memory_hits, 1);
    EXPECT_EQ(compiler_.compiles() - before, trust != CodeTrust::kRun);
  }
  Flip(path, 100);
  for (const CodeTrust trust : {CodeTrust::kRun, CodeTrust::kCompileInstead}) {
    EXPECT_EQ(NewSession()->LoadPlan(path, Model(3), trust).status().code(),
              StatusCode::kDataLoss);
  }
}

// A plan of another graph under this one's key, as nobody but a forger makes
// it: it computes x * -w.
TEST_F(SessionTest, ForeignCodeAndWhatItComputesStayInMemory) {
  const std::string path = folder_ + "-forged.encore";
  compiler_.different = true;
  ASSERT_TRUE(NewSession()->SavePlan(path, Model(3)).ok());
  compiler_.different = false;
  fs::remove_all(folder_);
  {
    const auto session = NewSession();
    EXPECT_TRUE(*session->LoadPlan(path, Model(3), CodeTrust::kRun));
    EXPECT_EQ(First(*session, Model(3)), -30);
    EXPECT_TRUE(Disk()->List().empty());
    ASSERT_TRUE(session->Put("mine", Model(3)).ok());
  }
  EXPECT_EQ(EntryPath("graph"), "");
  EXPECT_EQ(First(*NewSession(), Model(3)), 7);
  // Without trust nothing of it runs, in this session or a later one.
  fs::remove_all(folder_);
  const auto session = NewSession();
  EXPECT_TRUE(*session->LoadPlan(path, Model(3), CodeTrust::kCompileInstead));
  EXPECT_EQ(First(*session, Model(3)), 7);
  EXPECT_EQ(First(*NewSession(), Model(3)), 7);
}

// An entry that cannot be loaded now is as good as it was.
TEST_F(SessionTest, AnEntryThatCannotBeLoadedIsNotReplaced) {
  EXPECT_EQ(First(*NewSession(), Model(3)), 7);
  const std::string path = EntryPath("graph");
  const auto written = fs::last_write_time(path);
  for (const Status& status :
       {ResourceExhaustedError("no memory"),
        FailedPreconditionError("a library does not load")}) {
    SessionOptions options;
    options.compiler = compiler_.compiler();
    options.compiler.devices = [&, devices = options.compiler.devices,
                                first =
                                    true](const CompiledGraph& graph) mutable
        -> StatusOr<std::vector<std::shared_ptr<runtime::Device>>> {
      if (std::exchange(first, false)) return status;
      return devices(graph);
    };
    options.disk = Disk();
    options.log = Logger();
    log_.clear();
    Session session(std::move(options), &threads_);
    EXPECT_EQ(First(session, Model(3)), 7);
    EXPECT_EQ(session.statistics().misses, 1);
    ASSERT_EQ(log_.size(), 1u);
    EXPECT_NE(log_[0].find(Message(status)), std::string::npos) << log_[0];
  }
  EXPECT_EQ(fs::last_write_time(path), written);
  EXPECT_TRUE(Disk()->Bad().empty());
}

TEST_F(SessionTest, AnEntryInAnotherOnesPlaceIsDamage) {
  EXPECT_EQ(First(*NewSession(), Model(3)), 7);
  const std::string three = EntryPath("weights");
  fs::rename(three, three + ".aside");
  EXPECT_EQ(First(*NewSession(), Model(4)), 6);
  fs::rename(EntryPath("weights"), three);
  EXPECT_EQ(First(*NewSession(), Model(3)), 7);
  EXPECT_EQ(Disk()->Bad().size(), 1u);
}

TEST_F(SessionTest, AnExceptionInACompileLeavesNobodyWaiting) {
  SessionOptions options;
  options.compiler = compiler_.compiler();
  options.compiler.compile =
      [&, compile = options.compiler.compile, first = true](
          const Graph& graph, const backends::CompileOptions& with,
          backends::ArtifactStore* store) mutable -> StatusOr<CompiledGraph> {
    if (std::exchange(first, false)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      throw std::bad_alloc();
    }
    return compile(graph, with, store);
  };
  options.log = Logger();
  Session session(std::move(options), &threads_);
  std::atomic<int> thrown = 0, refused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      try {
        refused += !session.Load(Model(3)).ok();
      } catch (const std::bad_alloc&) {
        ++thrown;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(thrown, 1);
  EXPECT_LE(refused, 2);
  EXPECT_EQ(First(session, Model(3)), 7);
}

TEST_F(SessionTest, TheWaitForAnotherProcessEnds) {
  const auto disk = Disk();
  SessionOptions options;
  options.compiler = compiler_.compiler();
  options.disk = disk;
  options.log = Logger();
  options.max_wait = std::chrono::milliseconds(2500);
  Session session(std::move(options), &threads_);
  // What would be compiled, by another session.
  const Digest key =
      (*NewSession(/*disk=*/false)->Load(Model(3)))->compiled().key;
  const auto lock = Disk()->LockKey(key, std::chrono::milliseconds(0));
  ASSERT_NE(lock, nullptr);
  log_.clear();
  EXPECT_EQ(First(session, Model(3)), 7);
  ASSERT_EQ(log_.size(), 2u);
  EXPECT_NE(log_[0].find("waiting for it"), std::string::npos) << log_[0];
  EXPECT_NE(log_[1].find("not waiting any longer"), std::string::npos);
}

TEST_F(SessionTest, RecordsCalls) {
  const std::string path = folder_ + "-recording.encore";
  const auto session = NewSession();
  const std::vector<Package::Call> calls = {
      {{Literal::FromValues<float>({4}, {1, 2, 3, 4})}, {}}};
  ASSERT_TRUE(session->Record(path, Model(3), calls).ok());
  const auto package = ReadPackage(path);
  ASSERT_TRUE(package.ok()) << package.status();
  EXPECT_EQ(package->key(), session->Load(Model(3)).value()->compiled().key);
  EXPECT_EQ(package->names.parameters, std::vector<std::string>{"w"});
  EXPECT_EQ(package->parameters[0].AsDouble(0), 3);
  EXPECT_EQ(package->derived.size(), 1u);
  ASSERT_EQ(package->calls.size(), 1u);
  EXPECT_EQ(package->calls[0].outputs[0],
            Literal::FromValues<float>({4}, {-2, -1, 0, 1}));
}

TEST_F(SessionTest, RecordsSeveralCallsAndKeepsGivenOutputs) {
  const std::string path = folder_ + "-calls.encore";
  const auto x = [](float value) {
    return Literal::FromValues<float>({4}, {value, value, value, value});
  };
  // The second call's outputs are given, and wrong: what is given is kept.
  const std::vector<Package::Call> calls = {
      {{x(1)}, {}}, {{x(2)}, {x(100)}}, {{x(3)}, {}}};
  ASSERT_TRUE(NewSession()->Record(path, Model(3), calls).ok());
  const auto package = ReadPackage(path);
  ASSERT_TRUE(package.ok()) << package.status();
  ASSERT_EQ(package->calls.size(), 3u);
  EXPECT_EQ(package->calls[0].outputs, std::vector<Literal>{x(-2)});
  EXPECT_EQ(package->calls[1].outputs, std::vector<Literal>{x(100)});
  EXPECT_EQ(package->calls[2].inputs, std::vector<Literal>{x(3)});
  EXPECT_EQ(package->calls[2].outputs, std::vector<Literal>{x(0)});
}

TEST_F(SessionTest, PlansForAnotherMachineAreExportedAndNotRun) {
  Compiler compiler = compiler_.compiler();
  compiler.devices = [](const CompiledGraph&)
      -> StatusOr<std::vector<std::shared_ptr<runtime::Device>>> {
    return FailedPreconditionError("no such machine");
  };
  SessionOptions options;
  options.compiler = compiler;
  options.log = Logger();
  Session session(std::move(options), &threads_);
  EXPECT_FALSE(session.Load(Model(3)).ok());
  const auto package = session.Export(Model(3), {});
  ASSERT_TRUE(package.ok()) << package.status();
  EXPECT_TRUE(package->derived.empty());
  EXPECT_EQ(package->graph->slots.size(), 4u);
  const std::vector<Package::Call> calls = {{{Literal(DType::kF32, {4})}, {}}};
  EXPECT_EQ(session.Export(Model(3), calls).status().code(),
            StatusCode::kFailedPrecondition);
}

TEST_F(SessionTest, PackagesOutliveTheirSession) {
  auto session = NewSession();
  const auto package = session->Export(Model(3), {});
  ASSERT_TRUE(package.ok()) << package.status();
  session.reset();
  ASSERT_EQ(package->derived.size(), 1u);
  float first = 0;
  ASSERT_EQ(package->derived[0].bytes.size(), 4 * sizeof(first));
  std::memcpy(&first, package->derived[0].bytes.data(), sizeof(first));
  EXPECT_EQ(first, -3);
}

TEST_F(SessionTest, ExplainsAMiss) {
  const auto session = NewSession();
  EXPECT_EQ(*session->ExplainMiss(Model(3)), std::nullopt);
  EXPECT_EQ(First(*session, Model(3)), 7);
  EXPECT_EQ(*session->ExplainMiss(Model(5)), std::nullopt);
  const auto why = *session->ExplainMiss(Model(3, 6));
  ASSERT_TRUE(why.has_value());
  EXPECT_NE(why->find("types differ"), std::string::npos) << *why;
}

TEST_F(SessionTest, ErrorsNameTheInputOrParameter) {
  const auto session = NewSession();
  Graph graph = Model(1);
  const Literal wrong(DType::kI32, {4});
  EXPECT_NE(Message(session->Run(graph, {&wrong, 1}).status()).find("input x"),
            std::string::npos);
  EXPECT_NE(Message(session->Run(graph, {}).status()).find("input x"),
            std::string::npos);
  graph.set_parameter_data(1, std::nullopt);
  EXPECT_NE(Message(session->Load(graph).status()).find("parameter w"),
            std::string::npos);
}

}  // namespace
}  // namespace encore::cache
