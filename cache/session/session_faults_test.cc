// Sessions where something is not what it says, changes or fails: plans of
// others, entries that cannot be loaded or were moved, compiles that end by an
// exception, other processes that do not end.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "encore/cache/session/named_entries.h"
#include "encore/cache/session/plan_file.h"
#include "encore/cache/session/session.h"
#include "encore/cache/session/session_test_fixture.h"
#include "encore/cache/store/container_writer.h"
#include "encore/cache/store/entry.h"
#include "encore/cache/store/trust.h"
#include "encore/cache/testing/flip_bits.h"
#include "encore/runtime/plan/compiled_graph_io.h"

namespace encore::cache {
namespace {

class SessionFaultsTest : public SessionTest {};

TEST_F(SessionFaultsTest, PlansInFilesAreCompiledAgainUnlessTrusted) {
  const std::string path = folder_ + "-plan.encore";
  ASSERT_TRUE(SavePlan(*NewSession(), path, Model(3)).ok());
  for (const CodeTrust trust : {CodeTrust::kRun, CodeTrust::kCompileInstead}) {
    fs::remove_all(folder_);
    log_.clear();
    const int before = compiler_.compiles();
    const auto session = NewSession();
    EXPECT_EQ(*LoadPlan(*session, path + ".none", Model(3), trust), false);
    EXPECT_EQ(*LoadPlan(*session, path, Model(3, 5), trust), false);
    EXPECT_EQ(log_.size(), 2u);
    EXPECT_EQ(*LoadPlan(*session, path, Model(3), trust), true);
    EXPECT_EQ(First(*session, Model(3)), 7);
    EXPECT_EQ(session->statistics().memory_hits, 1);
    EXPECT_EQ(compiler_.compiles() - before, trust != CodeTrust::kRun);
  }
  FlipBitOfFile(path, 800);
  for (const CodeTrust trust : {CodeTrust::kRun, CodeTrust::kCompileInstead}) {
    EXPECT_EQ(LoadPlan(*NewSession(), path, Model(3), trust).status().code(),
              StatusCode::kDataLoss);
  }
}

// A plan of another graph under this one's key, as nobody but a forger makes
// it: it computes x * -w.
TEST_F(SessionFaultsTest, ForeignCodeAndWhatItComputesStayInMemory) {
  const std::string path = folder_ + "-forged.encore";
  compiler_.different = true;
  ASSERT_TRUE(SavePlan(*NewSession(), path, Model(3)).ok());
  compiler_.different = false;
  fs::remove_all(folder_);
  {
    const auto session = NewSession();
    EXPECT_TRUE(*LoadPlan(*session, path, Model(3), CodeTrust::kRun));
    EXPECT_EQ(First(*session, Model(3)), -30);
    EXPECT_TRUE(Disk()->List().empty());
    ASSERT_TRUE(PutNamed(*session, "mine", Model(3)).ok());
  }
  EXPECT_EQ(EntryPath("graph"), "");
  EXPECT_EQ(First(*NewSession(), Model(3)), 7);
  // Without trust nothing of it runs, in this session or a later one.
  fs::remove_all(folder_);
  const auto session = NewSession();
  EXPECT_TRUE(*LoadPlan(*session, path, Model(3), CodeTrust::kCompileInstead));
  EXPECT_EQ(First(*session, Model(3)), 7);
  EXPECT_EQ(First(*NewSession(), Model(3)), 7);
}

// Entries whose checksums are right, and which are no entries all the same: one
// without its plan, and one with a plan that does not verify.
TEST_F(SessionFaultsTest, AnEntryThatIsNoneIsMadeAgain) {
  for (const bool has_plan : {false, true}) {
    fs::remove_all(folder_);
    EXPECT_EQ(First(*NewSession(), Model(3)), 7);
    const auto disk = Disk();
    const auto listed = disk->List();
    const auto entry =
        std::ranges::find(listed, "graph", &DiskStore::Entry::kind);
    ASSERT_NE(entry, listed.end());
    const auto container = disk->Get("graph", entry->key);
    ContainerWriter writer;
    writer.Add(SectionType::kHeadline,
               *container->Read(SectionType::kHeadline));
    auto graph = ReadEntry(container);
    ASSERT_TRUE(graph.ok()) << graph.status();
    graph->inputs.clear();
    const auto plan = runtime::SerializeCompiledGraph(*graph);
    if (has_plan) writer.Add(SectionType::kCompiledGraph, plan);
    ASSERT_TRUE(disk->Put("graph", entry->key, writer));
    log_.clear();
    EXPECT_EQ(First(*NewSession(), Model(3)), 7);
    ASSERT_EQ(log_.size(), 1u);
    EXPECT_EQ(disk->Bad().size(), 1u);
    const auto session = NewSession();
    EXPECT_EQ(First(*session, Model(3)), 7);
    EXPECT_EQ(session->statistics().misses, 0);
  }
}

// An entry that cannot be loaded now is as good as it was.
TEST_F(SessionFaultsTest, AnEntryThatCannotBeLoadedIsNotReplaced) {
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

TEST_F(SessionFaultsTest, AnEntryInAnotherOnesPlaceIsDamage) {
  EXPECT_EQ(First(*NewSession(), Model(3)), 7);
  const std::string three = EntryPath("weights");
  fs::rename(three, three + ".aside");
  EXPECT_EQ(First(*NewSession(), Model(4)), 6);
  fs::rename(EntryPath("weights"), three);
  EXPECT_EQ(First(*NewSession(), Model(3)), 7);
  EXPECT_EQ(Disk()->Bad().size(), 1u);
}

TEST_F(SessionFaultsTest, AnExceptionInACompileLeavesNobodyWaiting) {
  SessionOptions options;
  options.compiler = compiler_.compiler();
  options.compiler.compile =
      [&, compile = options.compiler.compile, first = true](
          const Graph& graph, const backends::CompileOptions& with,
          backends::ArtifactStore* store,
          opt::PassObserver* passes) mutable -> StatusOr<CompiledGraph> {
    if (std::exchange(first, false)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      throw std::bad_alloc();
    }
    return compile(graph, with, store, passes);
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

TEST_F(SessionFaultsTest, TheWaitForAnotherProcessEnds) {
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

}  // namespace
}  // namespace encore::cache
