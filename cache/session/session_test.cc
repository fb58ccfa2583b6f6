#include "encore/cache/session/session.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/cache/session/explain_miss.h"
#include "encore/cache/session/export.h"
#include "encore/cache/session/named_entries.h"
#include "encore/cache/session/session_test_fixture.h"
#include "encore/cache/testing/flip_bits.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/testing/test_device.h"

namespace encore::cache {
namespace {

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
  EXPECT_EQ(compiler_.loads(),
            2);  // the prefetch was right, and all of the work
  // Another graph in the same file: the prefetch is dropped, and learned anew.
  EXPECT_EQ(FirstAnticipated(*NewSession(), Model(3, 5)), 7);
  session = NewSession();
  const int before = compiler_.loads();
  EXPECT_EQ(FirstAnticipated(*session, Model(3, 5)), 7);
  EXPECT_EQ(compiler_.loads(), before + 1);
  EXPECT_EQ(compiler_.compiles(), 2);
  EXPECT_EQ(session->statistics().disk_hits, 1);
}

// However the path is written; the same elsewhere is another file's.
TEST_F(SessionTest, AnticipatesByTheWholePath) {
  const fs::path here = fs::current_path();
  const auto anticipate = [&](const std::string& source) {
    const auto session = NewSession();
    session->Anticipate(source);
    LoadOptions options;
    options.source = source;
    EXPECT_TRUE(session->Load(Model(3), options).ok());
    int prefetches = 0;
    for (const DiskStore::Entry& entry : Disk()->List()) {
      prefetches += entry.kind == "prefetch";
    }
    return prefetches;
  };
  for (const std::string& source :
       {std::string("model.onnx"), std::string("./x/../model.onnx"),
        (here / "model.onnx").string()}) {
    EXPECT_EQ(anticipate(source), 1) << source;
  }
  fs::current_path(fs::path(folder_).parent_path());
  EXPECT_EQ(anticipate("model.onnx"), 2);
  fs::current_path(here);
}

// The test device, with something to say of each kernel.
class NotedDevice : public runtime::TestDevice {
 public:
  StatusOr<std::vector<std::unique_ptr<runtime::Kernel>>> Load(
      std::span<const runtime::LoadRequest> requests,
      runtime::ThreadPool* threads) override {
    auto kernels = TestDevice::Load(requests, threads);
    if (!kernels.ok()) return kernels;
    for (auto& kernel : *kernels) {
      kernel = std::make_unique<NotedKernel>(std::move(kernel));
    }
    return kernels;
  }

 private:
  class NotedKernel : public runtime::Kernel {
   public:
    explicit NotedKernel(std::unique_ptr<runtime::Kernel> kernel)
        : kernel_(std::move(kernel)) {}
    Status Launch(const runtime::LaunchContext& context) const override {
      return kernel_->Launch(context);
    }
    std::string_view note() const override { return "noted"; }

   private:
    const std::unique_ptr<runtime::Kernel> kernel_;
  };
};

TEST_F(SessionTest, NotesAreOfPlansThatAreUsed) {
  SessionOptions options;
  options.compiler = compiler_.compiler();
  options.compiler.devices = [](const CompiledGraph&) {
    return StatusOr<std::vector<std::shared_ptr<runtime::Device>>>(
        {std::make_shared<NotedDevice>()});
  };
  options.disk = Disk();
  options.log = Logger();
  const auto lines = [&](const Graph& graph) {
    log_.clear();
    // Waits for a prefetch under way where it ends.
    FirstAnticipated(*std::make_unique<Session>(options, &threads_), graph);
    return log_;
  };
  const std::vector<std::string> once = {"2 of 2 kernels: noted"};
  EXPECT_EQ(lines(Model(3)), once);     // compiled
  EXPECT_EQ(lines(Model(3)), once);     // recalled ahead
  EXPECT_EQ(lines(Model(3, 5)), once);  // another one was recalled ahead
  options.log = nullptr;
  EXPECT_TRUE(lines(Model(3, 5)).empty());
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
  for (const std::string_view kind : {"graph", "weights", "memo", "prefetch"}) {
    EXPECT_EQ(FirstAnticipated(*NewSession(), Model(3)), 7);
    const std::string path = EntryPath(kind);
    if (path.empty()) continue;  // weights changed a moment ago: no memo
    const int64_t size = static_cast<int64_t>(fs::file_size(path));
    for (int64_t at = 0; at < size; at += std::max<int64_t>(1, size / 40)) {
      EXPECT_EQ(FirstAnticipated(*NewSession(), Model(3)), 7);
      FlipBitOfFile(path, at * 8);
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
  EXPECT_FALSE(ContainsNamed(*session, "mine"));
  const auto key = PutNamed(*session, "mine", Model(3));
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(GetNamed(*session, "mine"), *key);
  EXPECT_TRUE(ContainsNamed(*NewSession(), "mine"));
  Disk()->Collect(0);
  EXPECT_FALSE(ContainsNamed(*NewSession(), "mine"));
}

TEST_F(SessionTest, RecordsCalls) {
  const std::string path = folder_ + "-recording.encore";
  const auto session = NewSession();
  const std::vector<Package::Call> calls = {
      {{Literal::FromValues<float>({4}, {1, 2, 3, 4})}, {}}};
  ASSERT_TRUE(Record(*session, path, Model(3), calls).ok());
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

TEST_F(SessionTest, WhatWasLoadedIsExportedAsItIs) {
  SessionOptions options;  // without a cache, which would give them again
  options.compiler = compiler_.compiler();
  Session session(std::move(options), &threads_);
  const auto loaded = session.Load(Model(3));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const auto again = Export(session, Model(3), {});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(session.statistics().weights_prepared, 2);
  const auto package = Export(session, Model(3), **loaded, {});
  ASSERT_TRUE(package.ok()) << package.status();
  EXPECT_EQ(session.statistics().weights_prepared, 2);
  EXPECT_EQ(package->key(), again->key());
  ASSERT_EQ(package->derived.size(), 1u);
  EXPECT_EQ(package->derived[0].bytes.data(),
            (*loaded)->weights()->DerivedBytes(0)->bytes.data());
}

// Whose plan, constants or prepared weights would be packed beside another's.
TEST_F(SessionTest, WhatWasLoadedForAnotherGraphIsNotExported) {
  const auto session = NewSession();
  const auto loaded = session->Load(Model(3));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  // Names are the caller's.
  EXPECT_TRUE(Export(*session, Model(3, 4, "other"), **loaded, {}).ok());

  const Status larger = Export(*session, Model(3, 8), **loaded, {}).status();
  EXPECT_EQ(larger.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(Message(larger).find("of another graph"), std::string::npos)
      << larger;
  EXPECT_NE(Message(larger).find("f32[8]"), std::string::npos) << larger;

  const Status heavier = Export(*session, Model(4), **loaded, {}).status();
  EXPECT_EQ(heavier.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(Message(heavier).find("other weights"), std::string::npos)
      << heavier;

  SessionOptions options;
  options.compiler = compiler_.compiler();
  options.compiler.target = [](const auto&) -> StatusOr<Target> {
    return Target{{"test", "2"}};
  };
  Session elsewhere(std::move(options), &threads_);
  const std::string path = folder_ + "-none.encore";
  const Status foreign = Record(elsewhere, path, Model(3), **loaded, {});
  EXPECT_EQ(foreign.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(Message(foreign).find("\"1\" and \"2\""), std::string::npos)
      << foreign;
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(SessionTest, RecordsSeveralCallsAndKeepsGivenOutputs) {
  const std::string path = folder_ + "-calls.encore";
  const auto x = [](float value) {
    return Literal::FromValues<float>({4}, {value, value, value, value});
  };
  // The second call's outputs are given, and wrong: what is given is kept.
  const std::vector<Package::Call> calls = {
      {{x(1)}, {}}, {{x(2)}, {x(100)}}, {{x(3)}, {}}};
  ASSERT_TRUE(Record(*NewSession(), path, Model(3), calls).ok());
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
  const auto package = Export(session, Model(3), {});
  ASSERT_TRUE(package.ok()) << package.status();
  EXPECT_TRUE(package->derived.empty());
  EXPECT_EQ(package->graph->slots.size(), 4u);
  const std::vector<Package::Call> calls = {{{Literal(DType::kF32, {4})}, {}}};
  EXPECT_EQ(Export(session, Model(3), calls).status().code(),
            StatusCode::kFailedPrecondition);
}

TEST_F(SessionTest, PackagesOutliveTheirSession) {
  auto session = NewSession();
  const auto package = Export(*session, Model(3), {});
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
  EXPECT_EQ(*ExplainMiss(*session, Model(3)), std::nullopt);
  EXPECT_EQ(First(*session, Model(3)), 7);
  EXPECT_EQ(*ExplainMiss(*session, Model(5)), std::nullopt);
  const auto why = *ExplainMiss(*session, Model(3, 6));
  ASSERT_TRUE(why.has_value());
  EXPECT_NE(why->find("types differ"), std::string::npos) << *why;
  // After it was compiled, by the others.
  EXPECT_EQ(*ExplainCompiled(*session, Model(3)), std::nullopt);
  First(*session, Model(3, 6));
  EXPECT_EQ(*ExplainMiss(*session, Model(3, 6)), std::nullopt);
  EXPECT_EQ(*ExplainCompiled(*session, Model(3, 6)), why);
}

// One of the same graph, however many options differ; of these the one with the
// fewest.
TEST_F(SessionTest, ExplainsAMissByTheNearestEntry) {
  const auto with = [&](backends::Rewrites rewrites, bool fuse) {
    SessionOptions options;
    options.compiler = compiler_.compiler();
    options.disk = Disk();
    options.log = Logger();
    options.compile.rewrites = rewrites;
    options.compile.fuse = fuse;
    return std::make_unique<Session>(std::move(options), &threads_);
  };
  const auto plain = with(backends::Rewrites::kReassociate, true);
  First(*plain, Model(3, 6));
  First(*with(backends::Rewrites::kExact, false), Model(3));
  EXPECT_NE((*ExplainMiss(*plain, Model(3)))->find("rewrites"),
            std::string::npos);
  First(*with(backends::Rewrites::kReassociate, false), Model(3));
  EXPECT_NE((*ExplainMiss(*plain, Model(3)))->find("fuse"), std::string::npos);
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
